"""The surface alone: plain data in, plain data out, nothing callable across."""

import dataclasses

import numpy as np
import pytest

from coursekit.checks import exercises
from coursekit.checks.seeds import PUBLIC_SEED, generator
from coursekit.checks.surface import Call, Forward, Outcome, run

PLAIN = (str, int, float, bool, type(None), np.ndarray, np.integer, np.floating)


def plain(value):
    if isinstance(value, dict):
        return all(isinstance(k, str) and plain(v) for k, v in value.items())
    if isinstance(value, tuple | list):
        return all(map(plain, value))
    return isinstance(value, PLAIN) and not callable(value)


@pytest.mark.parametrize("exercise", exercises(), ids=lambda entry: entry.identifier)
def test_nothing_but_plain_data_crosses(exercise):
    cases = exercise.cases(generator(PUBLIC_SEED, exercise.identifier, "cases"))
    requests = [case.request for case in cases]
    for law in exercise.laws:
        requests += law.requests(generator(PUBLIC_SEED, exercise.identifier, law.statement))
    for request in requests:
        assert plain({f.name: getattr(request, f.name) for f in dataclasses.fields(request)})
        outcome = run(exercise.reference, request)
        assert outcome.kind == "value"
        assert plain({f.name: getattr(outcome, f.name) for f in dataclasses.fields(outcome)})
        assert all(type(array) is np.ndarray for array in outcome.value)


def test_results_are_copies():
    kept = np.ones(3)
    outcome = run(lambda: kept, Call())
    kept[:] = 7
    assert outcome.value[0].tolist() == [1, 1, 1]


def test_odd_layouts_are_rebuilt_in_order():
    outcome = run(lambda: np.arange(6.0).reshape(2, 3).T[::-1], Call())
    assert outcome.value[0].tolist() == [[2, 5], [1, 4], [0, 3]]
    assert outcome.value[0].flags.c_contiguous


@pytest.mark.parametrize("number", [2, 2.5, True, np.float32(2), np.int8(2), np.bool_(True)])
def test_numbers_are_numbers(number):
    outcome = run(lambda: number, Call())
    assert outcome.form == "number"
    assert outcome.value[0].shape == ()


def test_the_line_that_failed_is_the_learners_own():
    namespace = {"np": np}
    source = "def answer(x):\n    y = x + 1\n    return np.linalg.inv(y)\n"
    import linecache

    linecache.cache["<cell answer>"] = (len(source), None, source.splitlines(True), "<cell answer>")
    exec(compile(source, "<cell answer>", "exec"), namespace)
    outcome = run(namespace["answer"], Call({"x": np.zeros(3)}))
    assert outcome.error == "LinAlgError"
    assert outcome.line == "return np.linalg.inv(y)"


def test_vector_jacobian_products_are_those_of_numpy():
    import torch

    class Product(torch.nn.Module):
        def __init__(self, n):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(n))  # float32, until it is loaded

        def forward(self, x, chosen):
            return x * self.weight * chosen

    x, weight, g = np.array([1.0, 2.0]), np.array([1 / 3, 4.0]), np.array([10.0, 100.0])
    request = Forward({"n": 2}, {"weight": weight}, {"x": x, "chosen": np.array([True, False])}, g)
    outcome = run(Product, request)
    output, to_x, to_weight = outcome.value
    assert output.tolist() == [1 / 3, 0]  # float64, unrounded
    assert to_x.tolist() == pytest.approx([10 / 3, 0], rel=1e-15)
    assert to_weight.tolist() == [10, 0]
    forward_only = run(Product, dataclasses.replace(request, cotangent=None))
    assert [array.tolist() for array in forward_only.value] == [[1 / 3, 0]]


def test_no_gradient_is_a_gradient_of_zero():
    import torch

    class Constant(torch.nn.Module):
        def forward(self, x):
            return torch.ones_like(x)

    outcome = run(Constant, Forward({}, {}, {"x": np.ones(2)}, np.ones(2)))
    assert [array.tolist() for array in outcome.value] == [[1, 1], [0, 0]]


def test_inputs_changed_by_a_module_are_noticed():
    import torch

    class Rude(torch.nn.Module):
        def forward(self, x):
            with torch.no_grad():
                x += 1
            return x * 2

    outcome = run(Rude, Forward({}, {}, {"x": np.ones(2)}, None))
    assert outcome.changed == ("x",)


def in_pieces(forward):
    """The outcome of a module that counts its calls, given 1 to 6 in pieces of 2, 1 and 3."""
    import torch

    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.tensor(0))

        def forward(self, x):
            self.calls += 1
            return forward(x, self.calls)

    x = np.arange(1.0, 7.0).reshape(1, 6, 1)
    return run(Counting, Forward({}, {"calls": np.array(0)}, {"x": x}, pieces=(2, 1, 3)))


def test_a_module_that_keeps_something_is_called_piece_by_piece():
    outcome = in_pieces(lambda x, calls: 10 * calls + x)
    assert outcome.form == "array"
    assert outcome.value[0].ravel().tolist() == [11, 12, 23, 34, 35, 36]


@pytest.mark.parametrize(
    "forward",
    [
        lambda x, calls: x[..., : int(calls)].expand(1, -1, int(calls)),
        lambda x, calls: x[0, 0, 0],
        lambda x, calls: x if calls < 3 else (x, x),
        lambda x, calls: None,
        lambda x, calls: 1 / (3 - int(calls)),
    ],
    ids=["widths", "no axes", "a pair at last", "nothing", "an error at last"],
)
def test_pieces_that_do_not_fit_together_are_an_outcome_too(forward):
    outcome = in_pieces(forward)
    assert (outcome.kind, outcome.form) != ("value", "array") or outcome.value[0].shape != (1, 6, 1)
    if outcome.kind == "raised":
        assert outcome.error == "ZeroDivisionError"
        assert outcome.line == "lambda x, calls: 1 / (3 - int(calls)),"


def test_bfloat16_comes_back_as_numbers():
    import torch

    class Half(torch.nn.Module):
        def forward(self, x):
            return x.to(torch.bfloat16)

    assert run(Half, Forward({}, {}, {"x": np.ones(2)}, None)).value[0].tolist() == [1, 1]


def test_an_outcome_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Outcome("value").kind = "nothing"
