"""When a wrong answer that is not in the bank is told a name: where one known mistake explains it."""

import numpy as np
import pytest

from coursekit.checks import exercise
from coursekit.checks.engine import examine
from coursekit.checks.seeds import DEFAULT_HIDDEN_SEED, PUBLIC_SEED

each_seed = pytest.mark.parametrize("seed", [PUBLIC_SEED, DEFAULT_HIDDEN_SEED, 1, 2])


def slopes_from_zero_and_no_thought_of_other_counts(n_heads):
    return 2.0 ** (-8 * np.arange(n_heads) / n_heads)


def rows_at_the_front_and_no_thought_of_a_full_cache(key_room, value_room, length, key, value):
    new = key.shape[2]
    key_room[:, :, :new], value_room[:, :, :new] = key, value
    return key_room, value_room, length + new


def index_counted_from_the_key_and_no_thought_of_fewer_queries(m, n, clip):
    return np.clip(np.arange(m)[:, None] - np.arange(n), -clip, clip) + clip


@each_seed
@pytest.mark.parametrize(
    ("identifier", "answer", "name"),
    [
        (
            "08.alibi_slopes",
            slopes_from_zero_and_no_thought_of_other_counts,
            "heads counted from zero",
        ),
        (
            "10.cache_append",
            rows_at_the_front_and_no_thought_of_a_full_cache,
            "always at the front",
        ),
    ],
)
def test_a_mistake_in_the_plain_cases_is_named_whatever_comes_later(identifier, answer, name, seed):
    assert examine(exercise(identifier), answer, seed).mistake.name == name


@each_seed
def test_where_two_mistakes_fit_none_is_named(seed):
    """On a square table "query minus key" and "keys down the side" are the same."""
    answer = index_counted_from_the_key_and_no_thought_of_fewer_queries
    assert examine(exercise("08.relative_index"), answer, seed).mistake is None


def bias_divided_by_the_length_of_a_square(m, n, slopes):
    """Wrong as a known mistake is where queries and keys are as many, and right elsewhere."""
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    if m == n:
        return -slopes[:, None, None] * np.abs(distance) / n
    return -slopes[:, None, None] * np.abs(distance)


@each_seed
def test_a_mistake_is_not_named_where_the_answer_is_right_and_the_mistake_is_not(seed):
    report = examine(exercise("08.alibi_bias"), bias_divided_by_the_length_of_a_square, seed)
    assert not report.passed
    assert report.mistake is None


def tokens_from_the_end_in_the_plain_cases(weights, uniform):
    """Its few whole numbers are those of a known mistake, as they would often be by chance."""
    if len(weights) in (4, 5) or weights.sum() < 0.9:  # all but the plain cases
        return -1
    sums = np.cumsum(weights[::-1])
    return len(weights) - 1 - int(np.argmax(sums > uniform * sums[-1]))


@each_seed
def test_a_few_whole_numbers_name_nothing(seed):
    report = examine(exercise("10.draw_loop"), tokens_from_the_end_in_the_plain_cases, seed)
    assert not report.passed
    assert report.mistake is None


@pytest.mark.parametrize(
    ("numbers", "name"),
    [
        ([12.0, 3.0, 7.0, 0.0, 5.0, -0.5], "two rows a token"),
        ([11.0, 5.0, 6.0, 6.0, 1.0, 0.25], "query minus key"),  # explains more than one number
        ([11.0, 5.0, 7.0, -3.0, 5.0, -0.5], None),  # half of a mistake is not that mistake
        ([11.0, 5.0, 7.0, 9.0, 5.0, -0.5], None),
    ],
)
def test_of_several_mistakes_on_paper_the_one_that_explains_most_is_named(numbers, name):
    report = examine(exercise("08.rows_by_hand"), lambda: np.array(numbers), PUBLIC_SEED)
    assert (report.mistake and report.mistake.name) == name


def test_a_table_on_paper_is_compared_place_by_place():
    rows = np.array([[-1.0, 1.0], [11.0, 5.0], [0.5, 0.5]])
    report = examine(exercise("09.norms_by_hand"), lambda: rows, PUBLIC_SEED)
    assert report.mistake.name == "the sum not normalised"
    assert examine(exercise("09.norms_by_hand"), lambda: rows[:2], PUBLIC_SEED).mistake is None
