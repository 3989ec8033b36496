"""The dates task: alignment by hand and by meaning, splits without overlap, vocabularies, messages."""

import builtins
import datetime

import numpy as np
import pytest

from attnkit.tasks import dates as dates_module
from attnkit.tasks.dates import Vocabulary, date_pair, join, load_dates

WEEKDAYS = dict(
    zip(
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        "一二三四五六日",
        strict=True,
    )
)
MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]


@pytest.fixture(scope="module")
def task():
    return load_dates((1, 2, 3, 4), n_train=60, n_test=30)


def test_the_example_by_hand():
    pair = date_pair([datetime.date(1966, 9, 19), datetime.date(2024, 7, 26)])
    assert pair.english == "Monday, September 19, 1966 and Friday, July 26, 2024"
    assert pair.chinese == "1966年9月19日星期一和2024年7月26日星期五"
    assert pair.source == (
        *("Monday", ",", "September", "19", ",", "1966", "and"),
        *("Friday", ",", "July", "26", ",", "2024"),
    )
    assert pair.target == (
        *("1966", "年", "9", "月", "19", "日", "星期一", "和"),
        *("2024", "年", "7", "月", "26", "日", "星期五"),
    )
    assert pair.alignment == (5, -1, 2, -1, 3, -1, 0, -1, 12, -1, 9, -1, 10, -1, 7)


def test_equal_numbers_are_told_apart():
    """The tenth of October: day and month are one token in Chinese, two different ones in English."""
    pair = date_pair([datetime.date(2010, 10, 10), datetime.date(1910, 10, 10)])
    months = [i for i, token in enumerate(pair.target) if token == "10"]
    assert [pair.source[pair.alignment[i]] for i in months] == ["October", "10"] * 2
    assert [pair.alignment[i] for i in months] == [2, 3, 9, 10]


def test_aligned_tokens_mean_the_same(task):
    for split in (*task.train.values(), *task.test.values()):
        for pair in split.pairs:
            assert len(pair.alignment) == len(pair.target)
            partners = [place for place in pair.alignment if place >= 0]
            assert len(set(partners)) == len(partners) == 4 * pair.target.count("年")
            for token, place in zip(pair.target, pair.alignment, strict=True):
                if place < 0:
                    assert token in "年月日和、"
                    continue
                word = pair.source[place]
                if token.startswith("星期"):
                    assert token == "星期" + WEEKDAYS[word]
                elif word in MONTHS:
                    assert int(token) == MONTHS.index(word) + 1
                else:
                    assert token == word


def test_arrays_say_what_the_pairs_say(task):
    for n, split in task.train.items():
        assert split.source.shape == split.source_mask.shape == (60, len(split.pairs[0].source))
        assert split.target.shape == split.alignment.shape == split.target_mask.shape
        assert split.source_mask.all()
        assert split.target_mask.all()
        for row, pair in enumerate(split.pairs):
            assert task.source_vocabulary.decode(split.source[row]) == list(pair.source)
            assert task.target_vocabulary.decode(split.target[row]) == list(pair.target)
            assert split.target[row, -1] == task.target_vocabulary.end
            np.testing.assert_array_equal(split.alignment[row], [*pair.alignment, -1])
            assert pair.target.count("年") == n


def days_of(split):
    """Every day that occurs in a split, as (weekday, month, day, year)."""
    numbers = [pair.source for pair in split.pairs]
    words = [[w for w in source if w not in (",", "and")] for source in numbers]
    return {tuple(w[i : i + 4]) for w in words for i in range(0, len(w), 4)}


def test_training_and_test_share_no_day(task):
    train = set().union(*(days_of(split) for split in task.train.values()))
    test = set().union(*(days_of(split) for split in task.test.values()))
    assert len(train) > 300
    assert len(test) > 150
    assert not train & test


def test_no_list_is_drawn_twice():
    task = load_dates((1, 2), n_train=3000, n_test=500)
    for split in (*task.train.values(), *task.test.values()):
        assert len({pair.english for pair in split.pairs}) == len(split)


def test_the_same_seed_the_same_lists():
    one, other = load_dates((2,), n_train=20, n_test=10), load_dates((2,), n_train=20, n_test=10)
    assert one.train[2].pairs == other.train[2].pairs
    assert one.test[2].pairs == other.test[2].pairs
    different = load_dates((2,), n_train=20, n_test=10, seed=1)
    assert different.train[2].pairs != one.train[2].pairs


def test_lists_of_one_length_do_not_depend_on_the_others(task):
    assert load_dates((3,), n_train=60, n_test=30).train[3].pairs == task.train[3].pairs


def test_vocabularies_are_closed_and_do_not_depend_on_what_is_drawn(task):
    small = load_dates((1,), n_train=1, n_test=0)
    assert small.source_vocabulary == task.source_vocabulary
    assert small.target_vocabulary == task.target_vocabulary
    assert len(task.source_vocabulary) == 1 + 2 + 7 + 12 + 31 + 150
    # The months' numbers are numbers of days too: 31 numbers, 150 years, 3 + 2 signs, 7 weekdays.
    assert len(task.target_vocabulary) == 3 + 3 + 2 + 7 + 31 + 150
    every_day = [dates_module.FIRST_DAY + datetime.timedelta(days=n) for n in range(0, 54_787, 37)]
    for day in (*every_day, dates_module.LAST_DAY):
        pair = date_pair([day])
        task.source_vocabulary.encode(pair.source)
        task.target_vocabulary.encode(pair.target)


def test_special_tokens(task):
    vocabulary = task.target_vocabulary
    assert [vocabulary.tokens[i] for i in (vocabulary.pad, vocabulary.start, vocabulary.end)] == [
        "<pad>",
        "<start>",
        "<end>",
    ]
    assert vocabulary.pad == task.source_vocabulary.pad == 0
    written = [
        vocabulary.start,
        *vocabulary.encode(["和"]),
        vocabulary.end,
        *vocabulary.encode(["年"]),
    ]
    assert vocabulary.decode(written) == ["和"]


def test_join_pads_on_the_right(task):
    both = join([task.train[1], task.train[3]])
    assert len(both) == 120
    assert both.source.shape == (120, 21)
    assert both.target.shape == (120, 24)
    np.testing.assert_array_equal(both.source_mask.sum(1), [6] * 60 + [21] * 60)
    np.testing.assert_array_equal(both.target_mask.sum(1), [8] * 60 + [24] * 60)
    np.testing.assert_array_equal(both.source[:60, :6], task.train[1].source)
    np.testing.assert_array_equal(both.target[60:], task.train[3].target)
    assert not both.source[~both.source_mask].any()
    assert (both.alignment[~both.target_mask] == -1).all()


def test_nothing_asked_for(task):
    empty = load_dates((2,), n_train=0, n_test=0)
    assert len(empty.train[2]) == 0
    assert empty.train[2].source.shape[0] == 0
    assert load_dates(()).train == {}


def test_bad_arguments():
    with pytest.raises(ValueError, match="n_dates must be at least 1, got 0"):
        load_dates((0,))
    with pytest.raises(ValueError, match="name each number once"):
        load_dates((1, 1))
    with pytest.raises(TypeError, match=r"n_dates must be a whole number, got 1\.5"):
        load_dates((1.5,))
    with pytest.raises(ValueError, match="n_train must be at least 0"):
        load_dates(n_train=-1)
    with pytest.raises(TypeError, match="n_test must be a whole number"):
        load_dates(n_test="many")
    with pytest.raises(ValueError, match=r"n_test must be at most 5478, got 6000.*day of its own"):
        load_dates((1,), n_train=0, n_test=6000)
    with pytest.raises(ValueError, match="days must hold at least one date"):
        date_pair([])
    with pytest.raises(ValueError, match="splits must hold at least one"):
        join([])


def test_a_token_outside_the_vocabulary(task):
    with pytest.raises(ValueError, match=r"'1899' is not in this vocabulary.*1900 to 2049"):
        task.source_vocabulary.encode(date_pair([datetime.date(1899, 1, 1)]).source)
    with pytest.raises(ValueError, match="'Maye' is not in this vocabulary of 2 tokens"):
        Vocabulary(("<pad>", "May")).encode(["Maye"])


def test_without_babel_the_remedy_is_named(monkeypatch):
    real_import = builtins.__import__

    def without_babel(name, *arguments, **keywords):
        if name.startswith("babel"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real_import(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_babel)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'attnkit\[data\]'"):
        date_pair([datetime.date(2024, 1, 1)])
