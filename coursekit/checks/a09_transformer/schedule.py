"""09.warmup_schedule: the learning rate of the paper, step by step."""

import numpy as np

from attnkit.numpy import warmup_schedule as library_schedule

from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def warmup_schedule(step, d_model, warmup):
    """The learning rates of many steps, from the library's schedule."""
    return np.array([library_schedule(int(s), int(d_model), int(warmup)) for s in step])


def _request(step, d_model, warmup):
    return Call({"step": np.asarray(step), "d_model": d_model, "warmup": warmup})


def cases(random):
    warmup = int(random.integers(20, 60))
    late = 4 * warmup + int(random.integers(1, 50))
    width = int(random.choice([32, 128, 512]))
    return [
        Case("steps 1 to 6, width 16, warm-up 4", _request(np.arange(1, 7), 16, 4)),
        Case(
            "steps before, at and after the end of the warm-up",
            _request([1, warmup // 2, warmup - 1, warmup, warmup + 1, late], width, warmup),
        ),
        Case(
            "steps in no order",
            _request(random.permutation(80)[:9] + 1, 64, int(random.integers(10, 40))),
        ),
        Case(
            "a warm-up of one step",
            _request([1, 2, 3 + int(random.integers(0, 9))], width, 1),
            "edges",
        ),
        Case(
            "the first step of a long warm-up",
            _request([1], 256, 1000 * int(random.integers(2, 6))),
            "edges",
        ),
    ]


def _four_times_the_width(random):
    step, warmup = random.permutation(60)[:8] + 1, int(random.integers(10, 40))
    return [_request(step, 24, warmup), _request(step, 96, warmup)]


def larger_of_both(step, d_model, warmup):
    return d_model**-0.5 * np.maximum(step**-0.5, step * warmup**-1.5)


def sum_of_both(step, d_model, warmup):
    return d_model**-0.5 * (step**-0.5 + step * warmup**-1.5)


def climbs_to_one(step, d_model, warmup):
    return d_model**-0.5 * np.minimum(step**-0.5, step / warmup)


def minus_half_for_both(step, d_model, warmup):
    return d_model**-0.5 * np.minimum(step**-0.5, step * warmup**-0.5)


def constant_afterwards(step, d_model, warmup):
    return d_model**-0.5 * np.minimum(warmup**-0.5, step * warmup**-1.5)


def never_warm(step, d_model, warmup):
    return d_model**-0.5 * step**-0.5


def never_sinks(step, d_model, warmup):
    return d_model**-0.5 * step * warmup**-1.5


def root_of_the_width_multiplied(step, d_model, warmup):
    return d_model**0.5 * np.minimum(step**-0.5, step * warmup**-1.5)


def width_forgotten(step, d_model, warmup):
    return np.minimum(step**-0.5, step * warmup**-1.5)


def divided_by_the_width(step, d_model, warmup):
    return np.minimum(step**-0.5, step * warmup**-1.5) / d_model


def sinks_with_the_step(step, d_model, warmup):
    return d_model**-0.5 * np.minimum(warmup**0.5 / step, step * warmup**-1.5)


def counted_from_zero(step, d_model, warmup):
    step = step + 1
    return d_model**-0.5 * np.minimum(step**-0.5, step * warmup**-1.5)


def whole_number_of_periods(step, d_model, warmup):
    return d_model**-0.5 * np.minimum(step**-0.5, (step // warmup) * warmup**-0.5)


def smallest_of_all(step, d_model, warmup):
    return d_model**-0.5 * min(min(step**-0.5), min(step * warmup**-1.5))


def python_min(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def scaled_to_the_peak(step, d_model, warmup):
    return np.minimum((step / warmup) ** -0.5, step / warmup)


def exponent_without_brackets(step, d_model, warmup):
    return d_model**-0.5 * np.minimum(step**-0.5, step * warmup**-3 / 2)


def half_without_brackets(step, d_model, warmup):
    return d_model**-1 / 2 * np.minimum(step**-0.5, step * warmup**-1.5)


def steps_numbered_anew(step, d_model, warmup):
    step = np.arange(1, len(step) + 1)
    return d_model**-0.5 * np.minimum(step**-0.5, step * warmup**-1.5)


MISTAKES = (
    Mistake(
        "the larger of both",
        larger_of_both,
        "You took the larger of the two terms: the rate starts at its highest, sinks, and climbs "
        "for ever after. The smaller one counts.",
    ),
    Mistake(
        "the sum of both",
        sum_of_both,
        "You added the two terms. At each step only the smaller one counts.",
    ),
    Mistake(
        "the line climbs to one",
        climbs_to_one,
        "Your line is step / warmup, which reaches 1 at the end of the warm-up. There it must meet "
        "the other term, which is then the root of 1 / warmup: step * warmup**-1.5.",
    ),
    Mistake(
        "the exponent of the line",
        minus_half_for_both,
        "The exponent of warmup is -3/2. With -1/2 the line is so steep that the warm-up is over "
        "after a few steps.",
    ),
    Mistake(
        "constant after the warm-up",
        constant_afterwards,
        "The rate stays at its peak. After the warm-up it sinks with the root of the *step*: "
        "step**-0.5.",
    ),
    Mistake(
        "no warm-up",
        never_warm,
        "Only the sinking term is there. During the warm-up the line is smaller and counts.",
    ),
    Mistake(
        "the line alone",
        never_sinks,
        "Only the climbing term is there: the rate never stops growing.",
    ),
    Mistake(
        "times the root of the width",
        root_of_the_width_multiplied,
        "You multiplied by the root of d_model. The exponent is -1/2: wider models take smaller steps.",
    ),
    Mistake(
        "the width forgotten",
        width_forgotten,
        "The factor with d_model is missing: the wider the model, the smaller its steps.",
    ),
    Mistake(
        "divided by the width",
        divided_by_the_width,
        "You divided by d_model. It is its root: four times the width halves the rate.",
    ),
    Mistake(
        "it sinks with the step, not with its root",
        sinks_with_the_step,
        "After the warm-up your rate sinks like 1 / step. It sinks with the root of the step: four "
        "times the step, half the rate.",
    ),
    Mistake(
        "counted from zero",
        counted_from_zero,
        "You added 1 to the step. Steps are counted from 1 here, so all your rates come one step "
        "early.",
    ),
    Mistake(
        "whole-number division",
        whole_number_of_periods,
        "// cuts off what comes after the point, so the rate is 0 during the whole warm-up.",
    ),
    Mistake(
        "the smallest of all",
        smallest_of_all,
        "You return one number, the smallest of all steps. Each step has a rate of its own: "
        "np.minimum compares entry by entry.",
    ),
    Mistake(
        "a question to a whole array",
        python_min,
        "Python's min (and an if) asks which of two arrays is smaller, and for arrays there is no one "
        "answer. np.minimum compares entry by entry.",
    ),
    Mistake(
        "scaled to a peak of one",
        scaled_to_the_peak,
        "The shape is right, but your peak is always 1. In the paper the peak depends on the width "
        "and on the length of the warm-up.",
    ),
    Mistake(
        "-3 / 2 without brackets",
        exponent_without_brackets,
        "warmup ** -3 / 2 is the power -3, halved: ** comes before /. Write warmup ** -1.5 or put "
        "the exponent into brackets.",
    ),
    Mistake(
        "-1 / 2 without brackets",
        half_without_brackets,
        "d_model ** -1 / 2 is half of 1 / d_model: ** comes before /. Write d_model ** -0.5 or "
        "put the exponent into brackets.",
    ),
    Mistake(
        "steps numbered anew",
        steps_numbered_anew,
        "You counted the entries of step in place of reading them. They are the steps, in any "
        "order.",
    ),
)

EXERCISE = Exercise(
    identifier="09.warmup_schedule",
    assignment="09_transformer",
    title="The warm-up schedule",
    kind="function",
    answer="warmup_schedule",
    points=2,
    difficulty=1,
    minutes=6,
    hints=(
        "Two terms, one that climbs and one that sinks. Where do they meet?",
        "Compute both for every step, take the smaller one step by step, and multiply by the factor "
        "of the width.",
        "`np.minimum(a, b)` takes the smaller entry by entry. `**` takes exponents such as `-0.5` and "
        "`-1.5`, for arrays of whole numbers too.",
    ),
    returns=("rates",),
    cases=cases,
    laws=(
        same(
            "Four times the width halves the rate",
            _four_times_the_width,
            "at four times the width the rates were not half as large.",
            undo=lambda rates: 2 * rates,
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("edges", "those with a very short or a long warm-up", 0.5),
    ),
    contents=lambda: Contents(warmup_schedule, MISTAKES),
)
