"""01.last_state: a batch of padded sentences is read at once, and padding is not read."""

import numpy as np

from attnkit.numpy import rnn_step as library_step

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .given import rnn_step
from .last_state_loop import parameters as drawn_parameters


def last_state(x, keep, parameters):
    """The state after the last word of each sentence, by the library's step."""
    state = np.zeros((len(x), parameters["w_state"].shape[0]), dtype=x.dtype)
    for t in range(x.shape[1]):
        state = np.where(keep[:, t, None], library_step(x[:, t], state, parameters), state)
    return state


def _request(draw, random, keep, d_in, h, **options):
    keep = np.array(keep, bool)
    return Call(
        {
            "x": draw(random, *keep.shape, d_in, **options),
            "keep": keep,
            "parameters": drawn_parameters(draw, random, d_in, h, **options),
        }
    )


def cases(random):
    unknown = _request(normal, random, [[1, 1, 0], [1, 0, 0]], 2, 3)
    unknown.arguments["x"][~unknown.arguments["keep"]] = np.nan
    return [
        Case(
            "two sentences of three words",
            _request(readable, random, [[1, 1, 1], [1, 1, 1]], 2, 3),
        ),
        Case(
            "two sentences of three and of one word",
            _request(readable, random, [[1, 1, 1], [1, 0, 0]], 2, 3),
        ),
        Case(
            "four sentences of unequal length, a state of width 4",
            _request(normal, random, np.tri(4, 5, 1), 3, 4),
        ),
        Case(
            "padding at the beginning and in between",
            _request(normal, random, [[0, 1, 1, 0, 1], [1, 0, 1, 1, 0]], 2, 3),
            "care",
        ),
        Case(
            "a sentence without any words",
            _request(normal, random, [[1, 1, 0], [0, 0, 0]], 3, 2),
            "care",
        ),
        Case("NaN in the padding", unknown, "care"),
        Case(
            "float32 numbers",
            _request(normal, random, [[1, 1, 1, 0], [1, 1, 0, 0]], 4, 3, dtype=np.float32),
            "care",
        ),
    ]


def _padding_exchanged(random):
    request = _request(normal, random, [[1, 1, 1, 0], [1, 0, 0, 0]], 3, 2)
    x, keep = request.arguments["x"], request.arguments["keep"]
    other = np.where(keep[:, :, None], x, normal(random, *x.shape))
    return [request, Call({**request.arguments, "x": other})]


def padding_read(x, keep, parameters):
    state = np.zeros((len(x), len(parameters["w_state"])))
    for t in range(x.shape[1]):
        state = rnn_step(x[:, t], state, parameters)
    return state


def state_zeroed_in_the_padding(x, keep, parameters):
    state = np.zeros((len(x), len(parameters["w_state"])))
    for t in range(x.shape[1]):
        state = np.where(keep[:, t, None], rnn_step(x[:, t], state, parameters), 0.0)
    return state


def words_of_zeros_read(x, keep, parameters):
    x = np.where(keep[:, :, None], x, 0.0)
    state = np.zeros((len(x), len(parameters["w_state"])))
    for t in range(x.shape[1]):
        state = rnn_step(x[:, t], state, parameters)
    return state


def multiplied_by_keep(x, keep, parameters):
    state = np.zeros((len(x), len(parameters["w_state"])))
    for t in range(x.shape[1]):
        stays = keep[:, t, None]
        state = stays * rnn_step(x[:, t], state, parameters) + (1 - stays) * state
    return state


def state_at_the_length(x, keep, parameters):
    state, states = np.zeros((len(x), len(parameters["w_state"]))), []
    for t in range(x.shape[1]):
        state = rnn_step(x[:, t], state, parameters)
        states.append(state)
    lengths = keep.sum(axis=1)
    return np.array(states)[lengths - 1, np.arange(len(x))]


def stops_with_the_shortest(x, keep, parameters):
    state = np.zeros((len(x), len(parameters["w_state"])))
    for t in range(x.shape[1]):
        if not keep[:, t].all():
            break
        state = rnn_step(x[:, t], state, parameters)
    return state


def keep_without_an_axis(x, keep, parameters):
    state = np.zeros((len(x), len(parameters["w_state"])))
    for t in range(x.shape[1]):
        state = np.where(keep[:, t], rnn_step(x[:, t], state, parameters), state)
    return state


def keep_turned_round(x, keep, parameters):
    state = np.zeros((len(x), len(parameters["w_state"])))
    for t in range(x.shape[1]):
        state = np.where(keep[:, t, None], state, rnn_step(x[:, t], state, parameters))
    return state


def all_states(x, keep, parameters):
    state, states = np.zeros((len(x), len(parameters["w_state"]))), []
    for t in range(x.shape[1]):
        state = np.where(keep[:, t, None], rnn_step(x[:, t], state, parameters), state)
        states.append(state)
    return np.stack(states, axis=1)


def sentences_for_words(x, keep, parameters):
    state = np.zeros((x.shape[1], len(parameters["w_state"])))
    for b in range(len(x)):
        state = np.where(keep[b, :, None], rnn_step(x[b], state, parameters), state)
    return state


def one_state_for_all(x, keep, parameters):
    state = np.zeros(len(parameters["w_state"]))
    states = []
    for b in range(len(x)):
        for t in range(x.shape[1]):
            if keep[b, t]:
                state = rnn_step(x[b, t], state, parameters)
        states.append(state)
    return np.array(states)


MISTAKES = (
    Mistake(
        "padding read",
        padding_read,
        "The padding is read like words, so a short sentence gets a state that depends on how far it "
        "was padded. Where there is no word, the state stays what it was.",
    ),
    Mistake(
        "the state emptied in the padding",
        state_zeroed_in_the_padding,
        "In the padding the state becomes zero, so short sentences end with nothing. It should stay "
        "what it was after the last word.",
    ),
    Mistake(
        "words of zeros read",
        words_of_zeros_read,
        "Setting the padding to zeros does not silence it: a step with an input of zeros still moves "
        "the state, through w_state and the biases.",
    ),
    Mistake(
        "multiplied by keep",
        multiplied_by_keep,
        "Right for ordinary numbers. But 0 times NaN is NaN: what stands in the padding gets in "
        "after all. np.where chooses without multiplying.",
    ),
    Mistake(
        "the state at the length",
        state_at_the_length,
        "You count the words and take the state at that position. That is right if padding stands at "
        "the end only, and if there is a word at all: with none, position -1 is the last.",
    ),
    Mistake(
        "stopping with the shortest",
        stops_with_the_shortest,
        "Reading stops when the *first* sentence has ended; the others need their turn.",
    ),
    Mistake(
        "keep without an axis",
        keep_without_an_axis,
        "keep[:, t] is (B,) and the state is (B, h): NumPy lines the sentences up with the state's "
        "width. It needs an axis of size 1 behind it.",
    ),
    Mistake(
        "keep turned round",
        keep_turned_round,
        "Words are skipped and padding is read. True marks words.",
    ),
    Mistake(
        "all states returned",
        all_states,
        "You return the state after every position, (B, T, h). The last one alone is asked for.",
    ),
    Mistake(
        "sentences taken for words",
        sentences_for_words,
        "Your loop runs over the sentences and reads each as one step. The steps are the positions, "
        "axis 1; all sentences take a step together.",
    ),
    Mistake(
        "one state for all sentences",
        one_state_for_all,
        "The second sentence begins with the last state of the first. Each begins with zeros.",
    ),
)

EXERCISE = Exercise(
    identifier="01.last_state",
    assignment="01_bottleneck",
    title="Encode a padded batch",
    kind="vectorised",
    answer="last_state",
    points=3,
    difficulty=2,
    minutes=15,
    hints=(
        "All sentences take a step together. What should happen to the state of a sentence that has "
        "no word at this position?",
        "Compute the next state of every sentence, then choose, sentence by sentence: the next state "
        "where there is a word, the old one where there is none.",
        "One loop over `t in range(x.shape[1])`; `x[:, t]` is `(B, d_in)`. `np.where` chooses, with "
        "`keep[:, t, None]` of shape `(B, 1)`.",
    ),
    returns=("state",),
    cases=cases,
    laws=(
        same(
            "What stands in the padding does not matter",
            _padding_exchanged,
            "with other numbers in the padding, other states came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 2 / 3),
        Part("care", "those with scattered padding, no words, NaN or float32", 1 / 3),
    ),
    helpers=("imports", "rnn-step"),
    contents=lambda: Contents(last_state, MISTAKES),
)
