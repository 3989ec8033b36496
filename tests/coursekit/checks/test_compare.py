"""When two results count as the same."""

import numpy as np
import pytest

from coursekit.checks.compare import (
    TOLERANCE,
    largest_difference,
    same_outcome,
    same_values,
    tolerance,
)
from coursekit.checks.seeds import generator
from coursekit.checks.surface import Call, run


def test_the_narrowest_type_decides():
    assert tolerance(np.float64, np.float32, np.float16) == TOLERANCE["float16"]
    assert tolerance() == TOLERANCE["float64"]


def test_single_precision_is_told_from_double():
    exact = np.array([1 / 3, 2 / 3])
    assert not same_values(exact, exact.astype(np.float32), tolerance(np.float64))
    assert same_values(exact, exact.astype(np.float32), tolerance(np.float32))
    assert same_values(exact, np.array([1 / 3, 2 / 3 + 1e-15]), tolerance(np.float64))


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ([np.inf, 1], [np.inf, 1], True),
        ([np.nan, 1], [np.nan, 1], True),
        ([np.inf, 1], [-np.inf, 1], False),
        ([1, 1], [np.nan, 1], False),
        ([0, 0], [0, 0], True),
        ([0, 0], [1e-3, 0], False),
        ([1e-12, 0], [0, 0], False),
        ([], [], True),
    ],
)
def test_odd_numbers(expected, got, same):
    assert same_values(np.array(expected, float), np.array(got, float), 1e-9) is same


def test_the_place_of_the_largest_difference():
    assert largest_difference(np.zeros((2, 2)), np.array([[0, 1], [-3, 0]])) == (3.0, (1, 0))
    assert largest_difference(np.zeros(0), np.zeros(0)) == (0.0, ())
    size, place = largest_difference(np.zeros(2), np.array([1, np.nan]))
    assert (size, place) == (np.inf, (1,))


def outcome(function, **arguments):
    return run(function, Call(arguments))


def test_outcomes_are_the_same_for_the_same_reason_only():
    def fails(error):
        def function():
            raise error

        return outcome(function)

    assert same_outcome(fails(ValueError("a")), fails(ValueError("b")), 1e-9)
    assert not same_outcome(fails(ValueError()), fails(TypeError()), 1e-9)
    assert same_outcome(outcome(lambda: None), outcome(lambda: None), 1e-9)
    assert not same_outcome(outcome(lambda: None), outcome(lambda: 1.0), 1e-9)
    assert same_outcome(outcome(lambda: 1.0), outcome(lambda: np.array(1.0)), 1e-9)
    assert not same_outcome(outcome(lambda: (1.0,)), outcome(lambda: 1.0), 1e-9)
    assert not same_outcome(outcome(lambda: (1.0, 2.0)), outcome(lambda: (1.0,)), 1e-9)
    assert not same_outcome(outcome(lambda: np.ones(2)), outcome(lambda: np.ones((1, 2))), 1e-9)
    assert not same_outcome(outcome(lambda: np.ones(2)), outcome(lambda: np.ones(2, int)), 1e-9)
    assert same_outcome(outcome(lambda: np.ones(2, np.float32)), outcome(lambda: np.ones(2)), 1e-9)
    assert not same_outcome(outcome(lambda: [1]), outcome(lambda: [1, 2]), 1e-9)


def test_whole_numbers_are_floats_where_nobody_asks():
    whole, floats = outcome(lambda: np.arange(3)), outcome(lambda: np.arange(3.0))
    truths = outcome(lambda: np.arange(3) > 0)
    assert not same_outcome(whole, floats, 1e-9)
    assert same_outcome(whole, floats, 1e-9, whole_numbers_pass=True)
    assert not same_outcome(truths, floats, 1e-9, whole_numbers_pass=True)
    assert same_outcome(outcome(lambda: 2), outcome(lambda: 2.0), 1e-9)
    assert not same_outcome(outcome(lambda: True), outcome(lambda: 1.0), 1e-9)


def test_changing_an_argument_makes_another_outcome():
    def changes(x):
        x += 1
        return x - 1

    x = np.arange(3.0)
    assert not same_outcome(outcome(changes, x=x), outcome(lambda x: x, x=x), 1e-9)
    assert x.tolist() == [0, 1, 2]


def test_streams_are_independent():
    numbers = {
        generator(seed, *labels).random() for seed in (0, 1) for labels in ((), ("a",), ("a", "b"))
    }
    assert len(numbers) == 6
