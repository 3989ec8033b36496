"""10.cache_append: new keys and values, written into room that was taken once."""

import numpy as np

from attnkit.numpy import KVCache

from ..draw import normal, readable
from ..model import Case, Contents, Exercise, Law, Mistake, Part
from ..surface import Call


def cache_append(key_room, value_room, length, key, value):
    """Write by the library's cache; where it refuses, everything stays."""
    batch, n_heads, capacity, d_head = key_room.shape
    cache = KVCache(batch, n_heads, capacity, d_head, dtype=key_room.dtype)
    cache.append(key_room[:, :, :length], value_room[:, :, :length])
    if length + key.shape[2] <= capacity:
        cache.append(key, value)
    rooms = key_room.copy(), value_room.copy()
    for room, stored in zip(rooms, (cache.key, cache.value), strict=True):
        room[:, :, : cache.length] = stored
    return *rooms, cache.length


def _request(draw, random, batch, n_heads, capacity, d_head, length, n_new, dtype=np.float64):
    """Room that holds `length` rows and, behind them, what an earlier text has left."""
    rooms = draw(random, 2, batch, n_heads, capacity, d_head).astype(dtype)
    rows = draw(random, 2, batch, n_heads, n_new, d_head)
    return Call(
        {
            "key_room": rooms[0],
            "value_room": rooms[1],
            "length": length,
            "key": rows[0],
            "value": rows[1],
        }
    )


def cases(random):
    return [
        Case("an empty cache and one new row", _request(readable, random, 1, 1, 3, 2, 0, 1)),
        Case("two rows stored and one new row", _request(readable, random, 1, 1, 4, 2, 2, 1)),
        Case(
            "two sequences, three heads, two new rows", _request(normal, random, 2, 3, 6, 4, 1, 2)
        ),
        Case("as many rows stored as heads", _request(normal, random, 2, 2, 7, 3, 2, 3)),
        Case("one new row for the last place", _request(normal, random, 2, 1, 5, 3, 4, 1), "full"),
        Case("three new rows that just fit", _request(normal, random, 1, 2, 5, 3, 2, 3), "full"),
        Case("a full cache and one new row", _request(normal, random, 2, 1, 4, 3, 4, 1), "full"),
        Case("three new rows, room for two", _request(normal, random, 1, 2, 5, 3, 3, 3), "full"),
        Case("no new rows", _request(normal, random, 1, 2, 4, 3, 2, 0), "full"),
        Case(
            "room in float32, new rows in float64",
            _request(normal, random, 2, 2, 5, 3, 1, 2, np.float32),
            "full",
        ),
    ]


def _one_by_one(random):
    """Three rows at once; and the last of them, after the first two are stored."""
    whole = _request(normal, random, 2, 3, 8, 4, 2, 3)
    given = whole.arguments
    first = {name: given[name][:, :, :2] for name in ("key", "value")}
    last = {name: given[name][:, :, 2:] for name in ("key", "value")}
    key_room, value_room, length = cache_append(**{**given, **first})
    rooms = {"key_room": key_room, "value_room": value_room, "length": length}
    return [whole, Call({**given, **rooms, **last})]


def _broken_one_by_one(requests, values):
    for name, one, other in zip(EXERCISE.returns, *values, strict=True):
        if not np.array_equal(one, other):
            return f"the last of three rows alone, after the first two, gave another {name}."
    return None


def joined_behind(key_room, value_room, length, key, value):
    key_room = np.concatenate([key_room, key], axis=2)
    value_room = np.concatenate([value_room, value], axis=2)
    return key_room, value_room, length + key.shape[2]


def joined_behind_the_stored(key_room, value_room, length, key, value):
    key_room = np.concatenate([key_room[:, :, :length], key], axis=2)
    value_room = np.concatenate([value_room[:, :, :length], value], axis=2)
    return key_room, value_room, key_room.shape[2]


def always_at_the_front(key_room, value_room, length, key, value):
    m = key.shape[2]
    if length + m > key_room.shape[2]:
        return key_room, value_room, length
    key_room[:, :, :m], value_room[:, :, :m] = key, value
    return key_room, value_room, length + m


def at_the_back(key_room, value_room, length, key, value):
    capacity, m = key_room.shape[2], key.shape[2]
    if length + m > capacity:
        return key_room, value_room, length
    key_room[:, :, capacity - m :], value_room[:, :, capacity - m :] = key, value
    return key_room, value_room, length + m


def length_not_moved(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end <= key_room.shape[2]:
        key_room[:, :, length:end], value_room[:, :, length:end] = key, value
    return key_room, value_room, length


def one_row_at_a_call(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end > key_room.shape[2]:
        return key_room, value_room, length
    key_room[:, :, length:end], value_room[:, :, length:end] = key, value
    return key_room, value_room, length + 1


def keys_in_both(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end > key_room.shape[2]:
        return key_room, value_room, length
    key_room[:, :, length:end], value_room[:, :, length:end] = key, key
    return key_room, value_room, end


def one_place_too_late(key_room, value_room, length, key, value):
    end = length + key.shape[2] + 1
    if end > key_room.shape[2]:
        return key_room, value_room, length
    key_room[:, :, length + 1 : end], value_room[:, :, length + 1 : end] = key, value
    return key_room, value_room, end - 1


def one_place_left_free(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end >= key_room.shape[2]:
        return key_room, value_room, length
    key_room[:, :, length:end], value_room[:, :, length:end] = key, value
    return key_room, value_room, end


def overflow_not_asked(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    key_room[:, :, length:end], value_room[:, :, length:end] = key, value
    return key_room, value_room, end


def what_fits_stored(key_room, value_room, length, key, value):
    end = min(length + key.shape[2], key_room.shape[2])
    key_room[:, :, length:end] = key[:, :, : end - length]
    value_room[:, :, length:end] = value[:, :, : end - length]
    return key_room, value_room, end


def round_and_round(key_room, value_room, length, key, value):
    capacity, m = key_room.shape[2], key.shape[2]
    places = (length + np.arange(m)) % capacity
    key_room[:, :, places], value_room[:, :, places] = key, value
    return key_room, value_room, min(length + m, capacity)


def oldest_pushed_out(key_room, value_room, length, key, value):
    capacity, m = key_room.shape[2], key.shape[2]
    over = max(length + m - capacity, 0)
    if over:
        key_room[:, :, : length - over] = key_room[:, :, over:length].copy()
        value_room[:, :, : length - over] = value_room[:, :, over:length].copy()
    start = length - over
    key_room[:, :, start : start + m], value_room[:, :, start : start + m] = key, value
    return key_room, value_room, start + m


def along_the_heads(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end > key_room.shape[2]:
        return key_room, value_room, length
    key_room[:, length:end], value_room[:, length:end] = key, value
    return key_room, value_room, end


def cut_to_what_is_stored(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end > key_room.shape[2]:
        return key_room[:, :, :length], value_room[:, :, :length], length
    key_room[:, :, length:end], value_room[:, :, length:end] = key, value
    return key_room[:, :, :end], value_room[:, :, :end], end


def rest_cleared(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end > key_room.shape[2]:
        return key_room, value_room, length
    rooms = np.zeros_like(key_room), np.zeros_like(value_room)
    for room, old, new in zip(rooms, (key_room, value_room), (key, value), strict=True):
        room[:, :, :length], room[:, :, length:end] = old[:, :, :length], new
    return *rooms, end


def length_left_out(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end <= key_room.shape[2]:
        key_room[:, :, length:end], value_room[:, :, length:end] = key, value
    return key_room, value_room


def values_not_written(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end > key_room.shape[2]:
        return key_room, value_room, length
    key_room[:, :, length:end] = key
    return key_room, value_room, end


def number_of_new_rows(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end > key_room.shape[2]:
        return key_room, value_room, length
    key_room[:, :, length:end], value_room[:, :, length:end] = key, value
    return key_room, value_room, key.shape[2]


def rooms_exchanged(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end > key_room.shape[2]:
        return value_room, key_room, length
    key_room[:, :, length:end], value_room[:, :, length:end] = key, value
    return value_room, key_room, end


def first_new_row_alone(key_room, value_room, length, key, value):
    key_room[:, :, length], value_room[:, :, length] = key[:, :, 0], value[:, :, 0]
    return key_room, value_room, length + 1


MISTAKES = (
    Mistake(
        "joined behind the room",
        joined_behind,
        "The new rows came behind the whole room, which grew. The room has its size from the start; "
        "the new rows go to the first free place in it, at length.",
    ),
    Mistake(
        "joined behind what is stored",
        joined_behind_the_stored,
        "np.concatenate makes a new array at every step and copies everything stored so far into "
        "it: what the room was meant to save. Write into the room, which keeps its size.",
    ),
    Mistake(
        "always at the front",
        always_at_the_front,
        "The new rows stand at the front, over the oldest ones. The first free place is at length.",
    ),
    Mistake(
        "at the back of the room",
        at_the_back,
        "The new rows stand at the end of the room, with a gap before them. Whoever reads the first "
        "length rows will not find them: they go to the first free place.",
    ),
    Mistake(
        "the length not moved",
        length_not_moved,
        "The rows are written, but the length that comes back is the old one, so the next call will "
        "write over them.",
    ),
    Mistake(
        "one row at a call",
        one_row_at_a_call,
        "The length went up by 1, whatever came. A prompt brings many rows in one call: it goes up "
        "by the number of new rows, key.shape[2].",
    ),
    Mistake(
        "keys in both rooms",
        keys_in_both,
        "The room of the values holds the new keys, perhaps by a line that was copied and changed by half.",
    ),
    Mistake(
        "one place too late",
        one_place_too_late,
        "You left a gap of one row. length counts the rows stored, and counting starts at 0, so the "
        "first free place is length itself.",
    ),
    Mistake(
        "one place left free",
        one_place_left_free,
        "Rows that just fit were turned away. They fit if the new length is at most the capacity, "
        "and may be equal to it.",
    ),
    Mistake(
        "overflow not noticed",
        overflow_not_asked,
        "Nobody asked whether the rows fit. With three rows too many NumPy complains. With *one* "
        "row and a full cache it does not: the slice is empty, nothing is written, and yet the "
        "length goes up. Compare the new length with the capacity first.",
    ),
    Mistake(
        "what fits stored",
        what_fits_stored,
        "You stored as many rows as there was room for and dropped the others in silence. Half a "
        "text is worse than none: store all or nothing, so that the caller can tell.",
    ),
    Mistake(
        "round and round",
        round_and_round,
        "When the room was full you began again at the front, over the oldest rows. (Some real "
        "models do this on purpose and forget their beginning.) Here nothing must be lost.",
    ),
    Mistake(
        "the oldest pushed out",
        oldest_pushed_out,
        "You made room by forgetting the oldest rows. Here nothing must be lost: where the new rows "
        "do not fit, everything stays as it was.",
    ),
    Mistake(
        "along the heads",
        along_the_heads,
        "The new rows were written along axis 1, which counts heads. Positions are axis 2: "
        "room[:, :, …].",
    ),
    Mistake(
        "cut to what is stored",
        cut_to_what_is_stored,
        "You returned only what is stored. Asked for are the rooms as a whole, for the next call "
        "has to write behind it.",
    ),
    Mistake(
        "the rest cleared",
        rest_cleared,
        "The stored rows are right, but behind them there are zeros where other numbers stood. A new "
        "room was made and filled: write into the old one, and nothing else changes.",
    ),
    Mistake(
        "the length left out",
        length_left_out,
        "Without the length nobody knows where the stored rows end. Return it as the third result.",
    ),
    Mistake(
        "the values not written",
        values_not_written,
        "The keys are stored and the values are not: both rooms take their new rows.",
    ),
    Mistake(
        "the number of new rows",
        number_of_new_rows,
        "The third result is how many rows are stored *now*, the old ones included: length plus "
        "the number of new rows.",
    ),
    Mistake(
        "the rooms exchanged",
        rooms_exchanged,
        "You return the values first. Asked for is (key_room, value_room, new_length).",
    ),
    Mistake(
        "the first new row alone",
        first_new_row_alone,
        "You store one row. A prompt brings many at once: they go to the places length, length + "
        "1, and so on, a slice of axis 2.",
    ),
)

EXERCISE = Exercise(
    identifier="10.cache_append",
    assignment="10_decoding",
    title="Append to the cache",
    kind="function",
    answer="cache_append",
    points=3,
    difficulty=1,
    minutes=12,
    hints=(
        "At which place of the room does the first new row go, and at which place does the first row "
        "after them go?",
        "Work out the new length first. If it is more than the capacity, `key_room.shape[2]`, return "
        "what came in. If not, assign to a slice of axis 2 in both rooms.",
        "`end = length + key.shape[2]`. A slice `length:end` of axis 2, the same in both rooms, takes "
        "the new rows: `room[:, :, …] = …`. Return both rooms and `end`.",
    ),
    returns=("key room", "value room", "new length"),
    cases=cases,
    laws=(
        Law(
            "Rows one after the other are stored as rows all at once",
            _one_by_one,
            _broken_one_by_one,
        ),
    ),
    parts=(
        Part("plain", "the cases with room to spare", 2 / 3),
        Part("full", "those with hardly any room, no new rows or another dtype", 1 / 3),
    ),
    contents=lambda: Contents(cache_append, MISTAKES),
    writes=("key_room", "value_room"),
)
