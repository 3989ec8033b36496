"""Recurrent steps: against torch's cells and plain loops, the laws of attention, and the messages."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from tests.attnkit.backends import NUMPY, TORCH, normal
from tests.tolerances import assert_close

B, N, D_IN, H, D, D_A, A = 3, 5, 4, 6, 7, 8, 2


def gates(seed, d_in, n_gates):
    """Parameters of a unit with so many gates."""
    wide = n_gates * H
    return {
        "w_input": normal(seed, d_in, wide) / 2,
        "w_state": normal(seed + 1, H, wide) / 2,
        "b_input": normal(seed + 2, wide),
        "b_state": normal(seed + 3, wide),
    }


ADDITIVE = {
    "w_query": normal(31, H, D_A),
    "w_key": normal(32, D, D_A),
    "v": normal(33, D_A),
    **gates(34, D_IN + D, 3),
}
LUONG = {
    "w_general": normal(41, H, D),
    "w_combine": normal(42, D + H, A),
    **gates(43, D_IN + A, 3),
}


@dataclass(frozen=True)
class Step:
    """A step function, widths of its vectors, and its parameters."""

    name: str
    widths: dict
    parameters: dict
    attends: bool = False

    def __str__(self):
        return self.name

    def arrays(self, *lead):
        """Vectors with these leading axes, and encoder states if the step looks at some."""
        arrays = {
            name: normal(seed, *lead, width)
            for seed, (name, width) in enumerate(self.widths.items(), start=1)
        }
        if self.attends:
            arrays["encoder_states"] = normal(9, *lead, N, D)
        return arrays

    def run(self, backend, arrays, dtype="float64", key_mask=None, parameters=None):
        """Call the step; the result is always a tuple."""
        keywords = {name: backend.array(values, dtype) for name, values in arrays.items()}
        keywords["parameters"] = {
            name: backend.array(values, dtype)
            for name, values in (parameters or self.parameters).items()
        }
        if key_mask is not None:
            keywords["key_mask"] = backend.array(key_mask)
        result = getattr(backend.functions, self.name)(**keywords)
        return result if isinstance(result, tuple) else (result,)

    def run_numpy(self, arrays, **keywords):
        """Call the reference on float64."""
        return self.run(NUMPY, arrays, **keywords)


RNN = Step("rnn_step", {"x": D_IN, "state": H}, gates(10, D_IN, 1))
GRU = Step("gru_step", {"x": D_IN, "state": H}, gates(10, D_IN, 3))
LSTM = Step("lstm_step", {"x": D_IN, "state": H, "cell": H}, gates(20, D_IN, 4))
BAHDANAU = Step("additive_step", {"embedded": D_IN, "state": H}, ADDITIVE, attends=True)
LUONGS = Step("luong_step", {"embedded": D_IN, "state": H, "attentional": A}, LUONG, attends=True)
STEPS = (RNN, GRU, LSTM, BAHDANAU, LUONGS)
ATTENDING = (BAHDANAU, LUONGS)
MASK = np.array([[True] * 5, [True, True, False, False, False], [False] * 5])

each_step = pytest.mark.parametrize("step", STEPS, ids=str)
each_attending = pytest.mark.parametrize("step", ATTENDING, ids=str)


# --- against what others compute ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "cell"),
    [(RNN, torch.nn.RNNCell), (GRU, torch.nn.GRUCell), (LSTM, torch.nn.LSTMCell)],
    ids=str,
)
def test_equals_the_cell_of_torch(step, cell, backend):
    cell = cell(D_IN, H).double()
    names = {"weight_ih": "w_input", "weight_hh": "w_state", "bias_ih": "b_input"}
    names["bias_hh"] = "b_state"
    with torch.no_grad():
        for theirs, ours in names.items():  # nn stores the transpose
            getattr(cell, theirs).copy_(torch.from_numpy(step.parameters[ours].T))
        x, *state = (torch.from_numpy(values) for values in step.arrays(B).values())
        expected = cell(x, tuple(state) if len(state) > 1 else state[0])
    expected = expected if isinstance(expected, tuple) else (expected,)
    for ours, theirs in zip(step.run(backend, step.arrays(B)), expected, strict=True):
        assert_close(backend.numpy(ours), theirs.numpy(), "output")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru_by_hand(x, state, p):
    """The three gates, one number at a time."""
    new = np.empty(H)
    for unit in range(H):
        columns = (unit, H + unit, 2 * H + unit)
        seen = [sum(x[i] * p["w_input"][i, c] for i in range(len(x))) for c in columns]
        kept = [sum(state[i] * p["w_state"][i, c] for i in range(H)) for c in columns]
        seen = [value + p["b_input"][c] for value, c in zip(seen, columns, strict=True)]
        kept = [value + p["b_state"][c] for value, c in zip(kept, columns, strict=True)]
        reset, update = sigmoid(seen[0] + kept[0]), sigmoid(seen[1] + kept[1])
        candidate = np.tanh(seen[2] + reset * kept[2])
        new[unit] = (1 - update) * candidate + update * state[unit]
    return new


def look_by_hand(scores, rows, allowed):
    """Softmax over the allowed scores, then the weighted sum, by loops."""
    exponentials = [np.exp(s) if may else 0.0 for s, may in zip(scores, allowed, strict=True)]
    total = sum(exponentials)
    weights = np.array([e / total if total else 0.0 for e in exponentials])
    return sum(w * row for w, row in zip(weights, rows, strict=True)), weights


def test_bahdanau_equals_loops(backend):
    arrays, p = BAHDANAU.arrays(B), ADDITIVE
    found = [backend.numpy(part) for part in BAHDANAU.run(backend, arrays, key_mask=MASK)]
    for b in range(B):
        embedded, state, rows = (arrays[name][b] for name in arrays)
        scores = [np.tanh(state @ p["w_query"] + row @ p["w_key"]) @ p["v"] for row in rows]
        context, weights = look_by_hand(scores, rows, MASK[b])
        state = gru_by_hand(np.concatenate([embedded, context]), state, p)
        for ours, by_hand in zip(found, (state, context, weights), strict=True):
            assert_close(ours[b], by_hand, "output")


def test_luong_equals_loops(backend):
    arrays, p = LUONGS.arrays(B), LUONG
    found = [backend.numpy(part) for part in LUONGS.run(backend, arrays, key_mask=MASK)]
    for b in range(B):
        embedded, state, attentional, rows = (arrays[name][b] for name in arrays)
        state = gru_by_hand(np.concatenate([embedded, attentional]), state, p)
        context, weights = look_by_hand(
            [state @ p["w_general"] @ row for row in rows], rows, MASK[b]
        )
        attentional = np.tanh(np.concatenate([context, state]) @ p["w_combine"])
        for ours, by_hand in zip(found, (state, attentional, weights), strict=True):
            assert_close(ours[b], by_hand, "output")


# --- shapes, types, memory ------------------------------------------------------------------------


@each_step
@pytest.mark.parametrize("lead", [(), (B,), (2, B), (2, 1, B)], ids=str)
def test_any_leading_axes(step, lead, backend):
    """A batch is the same as its members one by one."""
    arrays = step.arrays(*lead)
    found = step.run(backend, arrays)
    for index in np.ndindex(*lead):
        alone = step.run_numpy({name: values[index] for name, values in arrays.items()})
        for whole, one in zip(found, alone, strict=True):
            assert_close(backend.numpy(whole)[index], one, "output")


@each_step
def test_leading_axes_broadcast(step, backend):
    """A state without batch axis serves the whole batch."""
    arrays = step.arrays(B)
    arrays["state"] = arrays["state"][0]
    spread = arrays | {"state": np.broadcast_to(arrays["state"], (B, H))}
    for one, other in zip(step.run(backend, arrays), step.run(backend, spread), strict=True):
        assert_close(backend.numpy(one), backend.numpy(other), "output")


@each_step
def test_no_batch_at_all(step, backend):
    for part, expected in zip(
        step.run(backend, step.arrays(0)), step.run_numpy(step.arrays(1)), strict=True
    ):
        assert part.shape == (0, *expected.shape[1:])


@each_attending
def test_no_source_at_all(step, backend):
    """Without a source position the context is zero and the state still moves."""
    arrays = step.arrays(B)
    arrays["encoder_states"] = arrays["encoder_states"][:, :0]
    nothing = step.arrays(B) | {"encoder_states": np.zeros((B, 1, D))}
    state, context, weights = step.run(backend, arrays)
    same_state, same_context, _ = step.run(backend, nothing)
    assert weights.shape == (B, 0)
    assert_close(backend.numpy(state), backend.numpy(same_state), "output")
    assert_close(backend.numpy(context), backend.numpy(same_context), "output")


@each_step
def test_dtype_in_is_dtype_out(step, backend):
    exact = step.run_numpy(step.arrays(B))
    for dtype in backend.dtypes:
        for part, expected in zip(step.run(backend, step.arrays(B), dtype), exact, strict=True):
            assert backend.dtype_name(part) == dtype
            assert np.isfinite(backend.numpy(part)).all()
            if dtype in ("float64", "float32"):
                # A gate is as exact as its argument, here a sum of some dozen numbers near one.
                assert_close(backend.numpy(part), expected, "gradient", dtype)


@each_step
def test_whole_numbers_count_as_floats_and_the_widest_type_wins(step, backend):
    whole = {name: np.ones(values.shape, int) for name, values in step.arrays(B).items()}
    ones = {name: np.ones(values.shape, int) for name, values in step.parameters.items()}
    for part in step.run(backend, whole, dtype=None, parameters=ones):
        assert backend.dtype_name(part) == backend.default
    call = {name: backend.array(values, "float32") for name, values in step.arrays(B).items()}
    call["state"] = backend.array(step.arrays(B)["state"], "float64")
    call["parameters"] = {
        name: backend.array(values, "float32") for name, values in step.parameters.items()
    }
    result = getattr(backend.functions, step.name)(**call)
    result = result if isinstance(result, tuple) else (result,)
    assert {backend.dtype_name(part) for part in result} == {"float64"}


@each_step
def test_awkward_memory_and_untouched_inputs(step):
    """Views with strides of their own, read-only ones, give the same and stay as they were."""
    plain = step.arrays(B)
    strided = {}
    for name, values in plain.items():
        room = np.zeros((*values.shape[:-1], 2 * values.shape[-1]))
        room[..., ::2] = values
        strided[name] = room[..., ::2][..., ::-1][..., ::-1]
        strided[name].flags.writeable = False
    parameters = {name: np.asfortranarray(values) for name, values in step.parameters.items()}
    before = {name: values.copy() for name, values in strided.items()}
    found = getattr(NUMPY.functions, step.name)(**strided, parameters=parameters)
    found = found if isinstance(found, tuple) else (found,)
    for ours, expected in zip(found, step.run_numpy(plain), strict=True):
        assert_close(ours, expected, "output")
    for name, values in strided.items():
        np.testing.assert_array_equal(values, before[name])


@pytest.mark.parametrize("size", [30.0, 1e3, 1e6])
def test_large_inputs_saturate_without_a_warning(size, backend):
    for step in (RNN, GRU, LSTM):
        arrays = {name: size * values for name, values in step.arrays(B).items()}
        for part in step.run(backend, arrays):
            assert np.isfinite(backend.numpy(part)).all()


# --- laws of the steps that attend ----------------------------------------------------------------


@each_attending
def test_weights_sum_to_one_or_are_all_zero(step, backend):
    *_, weights = step.run(backend, step.arrays(B), key_mask=MASK)
    weights = backend.numpy(weights)
    np.testing.assert_allclose(weights.sum(-1), [1, 1, 0], rtol=1e-14)
    assert not weights[~MASK].any()


@each_attending
def test_padding_has_no_influence(step, backend):
    """Not even NaN: what stands at masked positions is never seen."""
    arrays = step.arrays(B)
    poisoned = arrays | {
        "encoder_states": np.where(MASK[..., None], arrays["encoder_states"], np.nan)
    }
    for one, other in zip(
        step.run(backend, arrays, key_mask=MASK),
        step.run(backend, poisoned, key_mask=MASK),
        strict=True,
    ):
        assert_close(backend.numpy(other), backend.numpy(one), "output")
    cut = {name: values[1] for name, values in arrays.items()}
    cut["encoder_states"] = cut["encoder_states"][:2]
    state, vector, weights = step.run(backend, cut)
    whole = step.run(backend, arrays, key_mask=MASK)
    assert_close(backend.numpy(whole[0])[1], backend.numpy(state), "output")
    assert_close(backend.numpy(whole[1])[1], backend.numpy(vector), "output")
    assert_close(backend.numpy(whole[2])[1, :2], backend.numpy(weights), "output")


@each_attending
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_padding_has_no_influence_on_gradients(step, bad):
    """A weight of 0 alone would not keep a NaN from the gradients of the scores' parameters."""
    arrays = step.arrays(B)
    gradients = []
    for fill in (0.0, bad):
        states = np.where(MASK[..., None], arrays["encoder_states"], fill)
        given = {
            name: TORCH.array(values, "float64").requires_grad_()
            for name, values in (arrays | {"encoder_states": states}).items()
        }
        parameters = {
            name: TORCH.array(values, "float64").requires_grad_()
            for name, values in step.parameters.items()
        }
        results = getattr(TORCH.functions, step.name)(
            **given, parameters=parameters, key_mask=TORCH.array(MASK)
        )
        sum(result.sum() for result in results).backward()
        gradients.append([x.grad.numpy() for x in (*given.values(), *parameters.values())])
    for one, other in zip(*gradients, strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("attention", ["additive", "luong"])
def test_padding_of_a_decoder_has_no_influence_on_gradients(attention):
    decoder = TORCH.functions.Translator(
        5, 4, attention=attention, d_embedding=D_IN, d_state=H, bidirectional=False
    ).decoder
    target, summary = torch.tensor([[1, 2], [3, 0], [1, 1]]), torch.ones(B, H)
    mask = torch.as_tensor(MASK)
    gradients = []
    for fill in (0.0, torch.nan):
        states = torch.ones(*MASK.shape, H).masked_fill(~mask[..., None], fill).requires_grad_()
        logits, _ = decoder(target, states, summary, mask)
        given = [states, *decoder.parameters()]
        gradients.append(torch.autograd.grad(logits.logsumexp(-1).sum(), given))
    for one, other in zip(*gradients, strict=True):
        assert one.isfinite().all()
        assert torch.equal(one, other)


@each_attending
def test_the_order_of_the_source_is_not_seen(step, backend):
    """Shuffle the source positions: the weights are shuffled alike, nothing else changes."""
    arrays, order = step.arrays(B), np.array([3, 0, 4, 1, 2])
    shuffled = arrays | {"encoder_states": arrays["encoder_states"][:, order]}
    state, vector, weights = step.run(backend, arrays)
    other_state, other_vector, other_weights = step.run(backend, shuffled)
    assert_close(backend.numpy(other_state), backend.numpy(state), "output")
    assert_close(backend.numpy(other_vector), backend.numpy(vector), "output")
    assert_close(backend.numpy(other_weights), backend.numpy(weights)[:, order], "output")


def test_which_state_asks(backend):
    """Bahdanau's weights do not depend on the token just read, Luong's do."""
    for step, depends in ((BAHDANAU, False), (LUONGS, True)):
        arrays = step.arrays(B)
        *_, weights = step.run(backend, arrays)
        *_, other = step.run(backend, arrays | {"embedded": -arrays["embedded"]})
        weights, other = backend.numpy(weights), backend.numpy(other)
        assert np.array_equal(weights, other) is not depends


def test_input_feeding_reaches_the_state(backend):
    arrays = LUONGS.arrays(B)
    state, *_ = LUONGS.run(backend, arrays)
    other, *_ = LUONGS.run(backend, arrays | {"attentional": -arrays["attentional"]})
    assert not np.allclose(backend.numpy(state), backend.numpy(other))


# --- derivatives ----------------------------------------------------------------------------------


@each_step
def test_first_derivatives(step):
    """With an empty row among the masks where there are masks."""
    names = [*step.arrays(B), *step.parameters]
    tensors = [
        torch.from_numpy(values).requires_grad_()
        for values in (*step.arrays(B).values(), *step.parameters.values())
    ]
    masks = {"key_mask": torch.from_numpy(MASK)} if step.attends else {}

    def call(*given):
        given = dict(zip(names, given, strict=True))
        parameters = {name: given.pop(name) for name in step.parameters}
        return getattr(TORCH.functions, step.name)(**given, parameters=parameters, **masks)

    # The last row of MASK is empty: there the encoder states have no slope at all.
    assert gradcheck(call, tensors)
    result = call(*tensors)
    sum(part.sum() for part in (result if isinstance(result, tuple) else (result,))).backward()
    if step.attends:
        rows = dict(zip(names, tensors, strict=True))["encoder_states"].grad
        assert not rows[torch.from_numpy(~MASK)].any()


# --- errors that teach ----------------------------------------------------------------------------


@each_step
def test_a_missing_parameter_is_named(step, backend):
    for name in step.parameters:
        rest = {other: values for other, values in step.parameters.items() if other != name}
        with pytest.raises(ValueError, match=rf"{step.name}.*{name}"):
            step.run(backend, step.arrays(B), parameters=rest)


@each_step
def test_a_transposed_or_narrow_parameter_is_named_with_both_shapes(step, backend):
    for name, values in step.parameters.items():
        wrong = step.parameters | {name: values[..., :-1]}
        with pytest.raises(
            ValueError, match=r"has shape .*(here; .*x @|needs the shape)"
        ) as caught:
            step.run(backend, step.arrays(B), parameters=wrong)
        if name != "v":  # a narrow v is told by the matrices that meet it
            assert str(caught.value).startswith(name)
    wrong = step.parameters | {"w_state": step.parameters["w_input"].T}
    with pytest.raises(ValueError, match="w_state"):
        step.run(backend, step.arrays(B), parameters=wrong)


@each_step
def test_complex_numbers_and_parameters_without_names_are_refused(step, backend):
    with pytest.raises(TypeError, match=r"state must be real but is .*complex128"):
        step.run(backend, step.arrays(B) | {"state": np.zeros((B, H), complex)}, dtype=None)
    arrays = {name: backend.array(values) for name, values in step.arrays(B).items()}
    with pytest.raises(
        TypeError,
        match="parameters must be a mapping but is list; weights and biases go in by name",
    ):
        getattr(backend.functions, step.name)(**arrays, parameters=[1, 2])


@each_step
def test_batches_that_do_not_fit_are_refused(step, backend):
    arrays = step.arrays(B)
    with pytest.raises(ValueError, match=r"leading axes of .*state \(4,\).* do not broadcast"):
        step.run(backend, arrays | {"state": normal(1, B + 1, H)})


def test_more_messages(backend):
    with pytest.raises(ValueError, match="cell has width 5 but state has width 6; an LSTM"):
        LSTM.run(backend, LSTM.arrays(B) | {"cell": normal(1, B, H - 1)})
    with pytest.raises(
        ValueError, match=r"state needs at least 1 axis, \(\.\.\., width\), but has shape \(\)"
    ):
        GRU.run(backend, GRU.arrays(B) | {"state": np.array(1.0)})
    with pytest.raises(ValueError, match=r"encoder_states needs at least 2 axes, \(\.\.\., n, d\)"):
        BAHDANAU.run(backend, BAHDANAU.arrays() | {"encoder_states": normal(1, D)})
    with pytest.raises(
        ValueError, match=r"key_mask has shape \(3, 4\) but encoder_states has 5 source"
    ):
        BAHDANAU.run(backend, BAHDANAU.arrays(B), key_mask=MASK[:, :4])
    with pytest.raises(TypeError, match="key_mask must be bool"):
        BAHDANAU.run(backend, BAHDANAU.arrays(B), key_mask=MASK.astype(float))
    with pytest.raises(
        ValueError, match=r"w_query needs the shape \(d_q, d_a\) but has shape \(6,\)"
    ):
        BAHDANAU.run(backend, BAHDANAU.arrays(B), parameters=ADDITIVE | {"w_query": normal(1, H)})


def test_arrays_handed_to_torch_are_refused():
    with pytest.raises(TypeError, match=r"torch\.Tensor"):
        TORCH.functions.gru_step(**GRU.arrays(B), parameters=GRU.parameters)
