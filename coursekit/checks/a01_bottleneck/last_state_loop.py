"""01.last_state_loop: a sentence is read word by word, and its last state is all that is left."""

import numpy as np

from attnkit.numpy import rnn_step as library_step

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .given import rnn_step


def last_state_loop(x, parameters):
    """The last state, by the library's step."""
    state = np.zeros(parameters["w_state"].shape[0])
    for word in x:
        state = library_step(word, state, parameters)
    return state


def parameters(draw, random, d_in, h, **options):
    """Parameters of `rnn_step`, small enough that tanh does not saturate."""
    return {
        "w_input": draw(random, d_in, h, **options) / 2,
        "w_state": draw(random, h, h, **options) / 2,
        "b_input": draw(random, h, **options) / 4,
        "b_state": draw(random, h, **options) / 4,
    }


def _request(draw, random, length, d_in, h):
    return Call({"x": draw(random, length, d_in), "parameters": parameters(draw, random, d_in, h)})


def cases(random):
    return [
        Case("three words of width 2, a state of width 2", _request(readable, random, 3, 2, 2)),
        Case("four words, all sizes 4", _request(normal, random, 4, 4, 4)),
        Case("five words of width 3, a state of width 4", _request(normal, random, 5, 3, 4)),
        Case("a single word", _request(readable, random, 1, 2, 3), "care"),
        Case("no words at all", _request(readable, random, 0, 2, 3), "care"),
    ]


def _read_on(random):
    """Reading a sentence whose first words have no weight is reading the rest."""
    request = _request(normal, random, 4, 3, 2)
    silent = {**request.arguments["parameters"], "b_input": np.zeros(2), "b_state": np.zeros(2)}
    x = request.arguments["x"]
    return [
        Call({"x": x, "parameters": silent}),
        Call({"x": np.concatenate([np.zeros((2, 3)), x]), "parameters": silent}),
    ]


def all_states(x, parameters):
    state, states = np.zeros(len(parameters["w_state"])), []
    for word in x:
        state = rnn_step(word, state, parameters)
        states.append(state)
    return np.array(states)


def state_never_handed_on(x, parameters):
    state = start = np.zeros(len(parameters["w_state"]))
    for word in x:
        state = rnn_step(word, start, parameters)
    return state


def read_backwards(x, parameters):
    state = np.zeros(len(parameters["w_state"]))
    for word in x[::-1]:
        state = rnn_step(word, state, parameters)
    return state


def first_word_skipped(x, parameters):
    state = np.zeros(len(parameters["w_state"]))
    for t in range(1, len(x)):
        state = rnn_step(x[t], state, parameters)
    return state


def last_word_skipped(x, parameters):
    state = np.zeros(len(parameters["w_state"]))
    for t in range(len(x) - 1):
        state = rnn_step(x[t], state, parameters)
    return state


def returned_too_early(x, parameters):
    state = np.zeros(len(parameters["w_state"]))
    for word in x:
        state = rnn_step(word, state, parameters)
        return state


def mean_of_the_states(x, parameters):
    state, total = np.zeros(len(parameters["w_state"])), np.zeros(len(parameters["w_state"]))
    for word in x:
        state = rnn_step(word, state, parameters)
        total += state
    return total / len(x)


def states_added(x, parameters):
    state = np.zeros(len(parameters["w_state"]))
    for word in x:
        state = state + rnn_step(word, state, parameters)
    return state


def begun_with_ones(x, parameters):
    state = np.ones(len(parameters["w_state"]))
    for word in x:
        state = rnn_step(word, state, parameters)
    return state


def begun_with_the_first_word(x, parameters):
    state = rnn_step(x[0], np.zeros(len(parameters["w_state"])), parameters)
    for word in x:
        state = rnn_step(word, state, parameters)
    return state


def width_of_the_words(x, parameters):
    state = np.zeros(x.shape[-1])
    for word in x:
        state = rnn_step(word, state, parameters)
    return state


MISTAKES = (
    Mistake(
        "all states returned",
        all_states,
        "You return the state after every word. The decoder of this chapter gets the last one alone; "
        "that is the bottleneck.",
    ),
    Mistake(
        "the state never handed on",
        state_never_handed_on,
        "Every step begins again with zeros, so the result knows the last word only. What a step "
        "returns is what the next step begins with.",
    ),
    Mistake(
        "read backwards",
        read_backwards,
        "You read from the end. (Sutskever, Vinyals and Le did so in 2014 to bring the first words "
        "nearer to the decoder; here the sentence is read from its beginning.)",
    ),
    Mistake(
        "the first word skipped",
        first_word_skipped,
        "The first word is never read. Python counts from 0: range(1, n) leaves it out.",
    ),
    Mistake(
        "the last word skipped",
        last_word_skipped,
        "The last word is never read: range(n - 1) ends one step early.",
    ),
    Mistake(
        "returned too early",
        returned_too_early,
        "The return stands inside the loop, so the function ends after one word; move it to the "
        "left.",
    ),
    Mistake(
        "the mean of the states",
        mean_of_the_states,
        "You average the states. That is another encoder, a fair one; asked for is the last state.",
    ),
    Mistake(
        "states added",
        states_added,
        "The new state is added to the old one. A step returns the whole new state: replace the "
        "old one.",
    ),
    Mistake(
        "begun with ones",
        begun_with_ones,
        "The state begins with zeros: before the first word nothing has been read.",
    ),
    Mistake(
        "the first word read twice",
        begun_with_the_first_word,
        "The first word is read before the loop and once more inside it.",
    ),
    Mistake(
        "a state as wide as a word",
        width_of_the_words,
        "The width of the state is that of w_state, h. It happens to work where words have the same "
        "width.",
    ),
)

EXERCISE = Exercise(
    identifier="01.last_state_loop",
    assignment="01_bottleneck",
    title="Encode a sentence, by a loop",
    kind="loop",
    answer="last_state_loop",
    points=2,
    difficulty=1,
    minutes=8,
    hints=(
        "What goes into a step, and where does what comes out of it go?",
        "Begin with a state of zeros, as wide as `w_state` has rows. Read the words in order; each "
        "step takes the word and the state, and gives the next state.",
        "`for word in x:` visits the rows of `x`. In it, call `rnn_step` with the word, the state and "
        "the parameters, and give the result the name of the state. Return after the loop.",
    ),
    returns=("state",),
    cases=cases,
    laws=(
        same(
            "Without biases, words of zeros at the beginning change nothing",
            _read_on,
            "with two words of zeros put in front (and no biases), another state came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.75),
        Part("care", "those with one word or none", 0.25),
    ),
    helpers=("imports", "rnn-step"),
    contents=lambda: Contents(last_state_loop, MISTAKES),
)
