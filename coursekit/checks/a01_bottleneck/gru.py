"""01.gru_step: one step of a gated recurrent unit, as torch computes it."""

import numpy as np

from attnkit.numpy import gru_step

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def _request(draw, random, lead, d_in, h, **options):
    return Call(
        {
            "x": draw(random, *lead, d_in, **options),
            "state": draw(random, *lead, h, **options),
            "parameters": {
                "w_input": draw(random, d_in, 3 * h, **options),
                "w_state": draw(random, h, 3 * h, **options),
                "b_input": draw(random, 3 * h, **options),
                "b_state": draw(random, 3 * h, **options),
            },
        }
    )


def cases(random):
    large = _request(normal, random, (2,), 3, 4)
    large.arguments["x"][0] *= 3000
    return [
        Case("two sentences, inputs and states of width 2", _request(readable, random, (2,), 2, 2)),
        Case("three sentences, all widths 3", _request(normal, random, (3,), 3, 3)),
        Case("two sentences, d_in = 5 and h = 4", _request(normal, random, (2,), 5, 4)),
        Case("very large inputs", large, "care"),
        Case("one sentence without a batch axis", _request(normal, random, (), 4, 2), "care"),
        Case("leading axes (2, 3)", _request(normal, random, (2, 3), 3, 5), "care"),
        Case("float32 numbers", _request(normal, random, (4,), 2, 3, dtype=np.float32), "care"),
    ]


def _sentences_turned_round(random):
    request = _request(normal, random, (3,), 4, 2)
    turned = {name: request.arguments[name][::-1] for name in ("x", "state")}
    return [request, Call({**request.arguments, **turned})]


def gates_exchanged(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[..., : 2 * h] + b[..., : 2 * h]) / 2)) / 2
    update, reset = gates[..., :h], gates[..., h:]
    candidate = np.tanh(a[..., 2 * h :] + reset * b[..., 2 * h :])
    return (1 - update) * candidate + update * state


def update_the_other_way(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[..., : 2 * h] + b[..., : 2 * h]) / 2)) / 2
    reset, update = gates[..., :h], gates[..., h:]
    candidate = np.tanh(a[..., 2 * h :] + reset * b[..., 2 * h :])
    return update * candidate + (1 - update) * state


def reset_ignored(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[..., : 2 * h] + b[..., : 2 * h]) / 2)) / 2
    update = gates[..., h:]
    candidate = np.tanh(a[..., 2 * h :] + b[..., 2 * h :])
    return (1 - update) * candidate + update * state


def reset_on_the_input_too(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[..., : 2 * h] + b[..., : 2 * h]) / 2)) / 2
    reset, update = gates[..., :h], gates[..., h:]
    candidate = np.tanh(reset * (a[..., 2 * h :] + b[..., 2 * h :]))
    return (1 - update) * candidate + update * state


def reset_before_the_matrix(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[..., : 2 * h] + b[..., : 2 * h]) / 2)) / 2
    reset, update = gates[..., :h], gates[..., h:]
    old = (reset * state) @ parameters["w_state"][:, 2 * h :] + parameters["b_state"][2 * h :]
    candidate = np.tanh(a[..., 2 * h :] + old)
    return (1 - update) * candidate + update * state


def bias_outside_the_reset(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[..., : 2 * h] + b[..., : 2 * h]) / 2)) / 2
    reset, update = gates[..., :h], gates[..., h:]
    old = state @ parameters["w_state"][:, 2 * h :]
    biases = parameters["b_input"] + parameters["b_state"]
    new = x @ parameters["w_input"][:, 2 * h :] + biases[2 * h :]
    candidate = np.tanh(new + reset * old)
    return (1 - update) * candidate + update * state


def state_bias_forgotten(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"]
    gates = (1 + np.tanh((a[..., : 2 * h] + b[..., : 2 * h]) / 2)) / 2
    reset, update = gates[..., :h], gates[..., h:]
    candidate = np.tanh(a[..., 2 * h :] + reset * b[..., 2 * h :])
    return (1 - update) * candidate + update * state


def candidate_only(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[..., : 2 * h] + b[..., : 2 * h]) / 2)) / 2
    reset = gates[..., :h]
    candidate = np.tanh(a[..., 2 * h :] + reset * b[..., 2 * h :])
    return candidate


def tanh_forgotten(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[..., : 2 * h] + b[..., : 2 * h]) / 2)) / 2
    reset, update = gates[..., :h], gates[..., h:]
    candidate = a[..., 2 * h :] + reset * b[..., 2 * h :]
    return (1 - update) * candidate + update * state


def tanh_for_gates(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = np.tanh(a[..., : 2 * h] + b[..., : 2 * h])
    reset, update = gates[..., :h], gates[..., h:]
    candidate = np.tanh(a[..., 2 * h :] + reset * b[..., 2 * h :])
    return (1 - update) * candidate + update * state


def reset_as_update(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[..., : 2 * h] + b[..., : 2 * h]) / 2)) / 2
    reset = gates[..., :h]
    candidate = np.tanh(a[..., 2 * h :] + reset * b[..., 2 * h :])
    return (1 - reset) * candidate + reset * state


def blocks_in_another_order(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[..., h:] + b[..., h:]) / 2)) / 2
    reset, update = gates[..., :h], gates[..., h:]
    candidate = np.tanh(a[..., :h] + reset * b[..., :h])
    return (1 - update) * candidate + update * state


def exponentials_that_overflow(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = np.exp(a[..., : 2 * h] + b[..., : 2 * h])
    gates = gates / (1 + gates)
    reset, update = gates[..., :h], gates[..., h:]
    candidate = np.tanh(a[..., 2 * h :] + reset * b[..., 2 * h :])
    return (1 - update) * candidate + update * state


def split_along_the_first_axis(x, state, parameters):
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    reset_a, update_a, candidate_a = np.split(a, 3)
    reset_b, update_b, candidate_b = np.split(b, 3)
    reset = (1 + np.tanh((reset_a + reset_b) / 2)) / 2
    update = (1 + np.tanh((update_a + update_b) / 2)) / 2
    candidate = np.tanh(candidate_a + reset * candidate_b)
    return (1 - update) * candidate + update * state


def state_overwritten(x, state, parameters):
    h = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[..., : 2 * h] + b[..., : 2 * h]) / 2)) / 2
    reset, update = gates[..., :h], gates[..., h:]
    state *= update
    state += (1 - update) * np.tanh(a[..., 2 * h :] + reset * b[..., 2 * h :])
    return state


MISTAKES = (
    Mistake(
        "the gates exchanged",
        gates_exchanged,
        "Reset and update gate are exchanged. The columns of the parameters come in three blocks: "
        "reset, update, candidate.",
    ),
    Mistake(
        "the update gate the other way round",
        update_the_other_way,
        "The update gate says how much of the *old* state stays: update * state, and 1 - update for "
        "the candidate. (Papers differ; this is torch's way. It matters when parameters are loaded.)",
    ),
    Mistake(
        "the reset gate never used",
        reset_ignored,
        "The candidate is computed without the reset gate, so the unit can never look at the input "
        "alone. Multiply what comes from the old state by it.",
    ),
    Mistake(
        "the reset gate on the input too",
        reset_on_the_input_too,
        "You reset everything. The gate acts on what comes from the old state; the input passes.",
    ),
    Mistake(
        "the reset before the matrix",
        reset_before_the_matrix,
        "You multiply the state by the reset gate *before* it meets w_state. So says the first "
        "paper. torch, and this course, multiply after: the transformed state, its bias included.",
    ),
    Mistake(
        "a bias outside the reset",
        bias_outside_the_reset,
        "The bias of the candidate's state part, the last block of b_state, belongs inside: the "
        "reset gate multiplies it too.",
    ),
    Mistake(
        "the bias of the state forgotten",
        state_bias_forgotten,
        "There are two biases, b_input and b_state. Because of the reset gate they are not the same "
        "as one: b_state is missing.",
    ),
    Mistake(
        "the candidate alone",
        candidate_only,
        "You return the candidate. The new state is a mixture of candidate and old state; the part "
        "that is kept is what lets a unit remember.",
    ),
    Mistake(
        "the tanh forgotten",
        tanh_forgotten,
        "The candidate goes through tanh. Without it the state can grow from step to step without "
        "limit.",
    ),
    Mistake(
        "tanh for the gates",
        tanh_for_gates,
        "The gates went through tanh, which lies between -1 and 1. A gate lies between 0 and 1: the "
        "logistic function, 1 / (1 + exp(-z)).",
    ),
    Mistake(
        "one gate for both",
        reset_as_update,
        "The reset gate also decides how much is kept. That is the update gate's work.",
    ),
    Mistake(
        "blocks in another order",
        blocks_in_another_order,
        "You read the blocks as candidate, reset, update. The order is reset, update, candidate.",
    ),
    Mistake(
        "split along the first axis",
        split_along_the_first_axis,
        "np.split cuts along the first axis unless it is told otherwise, and that is the batch. The "
        "three blocks lie along the last one: axis=-1.",
    ),
    Mistake(
        "exponentials that overflow",
        exponentials_that_overflow,
        "exp(z) / (1 + exp(z)) is infinity by infinity for a large z. 1 / (1 + exp(-z)) is the same "
        "function and safe: an infinity below the line gives 0, as it should.",
    ),
    Mistake(
        "the state overwritten",
        state_overwritten,
        "The new state is right, but *= and += write into the caller's own array, who still needs "
        "the old one.",
    ),
)

EXERCISE = Exercise(
    identifier="01.gru_step",
    assignment="01_bottleneck",
    title="One step of a gated recurrent unit",
    kind="function",
    answer="gru_step",
    points=4,
    difficulty=2,
    minutes=20,
    hints=(
        "Input and state are each multiplied once, with all three blocks at the same time. What is "
        "done with the blocks afterwards?",
        "`x @ w_input + b_input` and `state @ w_state + b_state` are both `(..., 3h)`. Cut both into "
        "three parts of width `h`. The first parts, added, give the reset gate, the second the "
        "update gate; the third parts meet in the candidate.",
        "`np.split(…, 3, axis=-1)` cuts. A gate is `1 / (1 + np.exp(-z))` of its two parts added. "
        "The candidate is the `tanh` of the input's third part plus reset times the state's third "
        "part. Then mix it with the old state by the update gate.",
    ),
    returns=("state",),
    cases=cases,
    laws=(
        same(
            "Sentences do not influence each other",
            _sentences_turned_round,
            "with the sentences in reverse order, the states were not just reversed.",
            undo=lambda state: state[::-1],
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.75),
        Part("care", "those with large inputs, other axes or float32", 0.25),
    ),
    contents=lambda: Contents(gru_step, MISTAKES),
)
