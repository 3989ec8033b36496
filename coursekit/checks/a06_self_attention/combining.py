"""06.combine_masks: what all of several masks allow, some of which may be missing."""

import numpy as np

from attnkit.numpy import causal_mask, combine_masks, padding_mask

from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def _mask(random, *shape):
    """True and False, both in every row and in most pairings with another mask."""
    mask = random.random(shape) < 0.6
    mask[..., 0, 0], mask[..., -1, -1] = True, False
    return mask


def _masks(*masks):
    return Call({f"mask_{place}": mask for place, mask in enumerate(masks, start=1)})


def cases(random):
    one, other = _mask(random, 3, 4), ~_mask(random, 3, 4)
    one[1, :2], other[1, :2] = True, (True, False)  # both, and one of them alone
    one[2, :2], other[2, :2] = False, (True, False)  # the other alone, and neither
    padding = padding_mask(random.permutation(4)[:2] + 1, 5)
    return [
        Case("two masks of one shape", _masks(one, other)),
        Case("a padding mask and a causal mask", _masks(padding, causal_mask(4, 5))),
        Case("a mask and None", _masks(_mask(random, 2, 3), None), "care"),
        Case("None and a mask", _masks(None, _mask(random, 2, 3)), "care"),
        Case("a single mask", _masks(_mask(random, 3, 3)), "care"),
        Case(
            "three masks and None among them",
            _masks(one, None, other | _mask(random, 3, 4), _mask(random, 3, 4)),
            "care",
        ),
        Case(
            "three masks of one shape",
            _masks(one, other | (random.random((3, 4)) < 0.7), _mask(random, 3, 4)),
            "care",
        ),
        Case(
            "a mask that allows nothing",
            _masks(_mask(random, 2, 4), np.zeros((2, 4), bool)),
            "care",
        ),
    ]


def _other_order(random):
    one, other = _mask(random, 4, 3), ~_mask(random, 4, 3)
    return [_masks(one, other), _masks(other, one)]


def either_allows(*masks):
    result = np.array(False)
    for mask in masks:
        if mask is not None:
            result = result | mask
    return result


def none_not_skipped(*masks):
    result = masks[0]
    for mask in masks[1:]:
        result = result & mask
    return result


def none_allows_nothing(*masks):
    result = np.array(True)
    for mask in masks:
        result = result & (False if mask is None else mask)
    return result


def first_mask_changed(*masks):
    present = [mask for mask in masks if mask is not None]
    result = present[0]
    for mask in present[1:]:
        result &= mask
    return result


def third_taken_for_out(*masks):
    present = [mask for mask in masks if mask is not None]
    return np.logical_and(*present) if len(present) > 1 else present[0]


def numbers_multiplied(*masks):
    result = 1
    for mask in masks:
        if mask is not None:
            result = result * mask
    return result


def first_two_only(*masks):
    present = [mask for mask in masks if mask is not None]
    return present[0] & present[1] if len(present) > 1 else present[0]


def last_one_wins(*masks):
    result = np.array(True)
    for mask in masks:
        if mask is not None:
            result = np.array(True) & mask
    return result


def where_they_agree(*masks):
    present = [mask for mask in masks if mask is not None]
    result = present[0]
    for mask in present[1:]:
        result = result == mask
    return result


def stacked(*masks):
    return np.all(np.stack([mask for mask in masks if mask is not None]), axis=0)


def the_word_and(*masks):
    result = np.array(True)
    for mask in masks:
        if mask is not None:
            result = result and mask
    return result


def empty_mask_skipped(*masks):
    result = np.array(True)
    for mask in masks:
        if mask is not None and mask.any():
            result = result & mask
    return result


def true_for_hidden(*masks):
    result = np.array(True)
    for mask in masks:
        if mask is not None:
            result = result & mask
    return ~result


MISTAKES = (
    Mistake(
        "either mask allows",
        either_allows,
        "You joined the masks with *or*: what one mask hides, another lets through again, and the "
        "decoder sees padding and future. With True for *may look*, a pair must be allowed by all "
        "masks: *and*. (*Or* is right for masks that are True where something is hidden.)",
    ),
    Mistake(
        "None not skipped",
        none_not_skipped,
        "None means *no mask*, so it hides nothing. Leave such entries out before combining the "
        "rest.",
    ),
    Mistake(
        "None allows nothing",
        none_allows_nothing,
        "You took None for a mask that hides everything. It stands for no mask at all: skip it.",
    ),
    Mistake(
        "the first mask changed",
        first_mask_changed,
        "&= writes into the first mask itself: its owner finds another one afterwards, and a mask "
        "of fewer axes has no room for the result. result = result & mask makes a new array.",
    ),
    Mistake(
        "a third mask taken for a place to write",
        third_taken_for_out,
        "np.logical_and takes two arrays; a third one is where the result is *written*. So the third "
        "mask is ignored and overwritten. Combine two at a time, or use np.logical_and.reduce.",
    ),
    Mistake(
        "numbers multiplied",
        numbers_multiplied,
        "A product that starts with the number 1 holds 0 and 1, not True and False. Then `~` gives "
        "-1 and -2, and both count as true. Use & on booleans.",
    ),
    Mistake(
        "the first two only",
        first_two_only,
        "Only two masks are combined. There may be any number of them.",
    ),
    Mistake(
        "the last one wins",
        last_one_wins,
        "Each mask replaces the result instead of being combined with it. The running result must "
        "stand on the right-hand side too.",
    ),
    Mistake(
        "where they agree",
        where_they_agree,
        "== is also True where both masks hide a pair. Both must *allow* it: &.",
    ),
    Mistake(
        "masks stacked",
        stacked,
        "np.stack wants equal shapes. A padding mask (B, 1, n) and a causal mask (m, n) only fit "
        "after broadcasting, which & does by itself.",
    ),
    Mistake(
        "the word and",
        the_word_and,
        "The word `and` wants one truth value, and an array has many. The sign & combines entry by "
        "entry.",
    ),
    Mistake(
        "an empty mask skipped",
        empty_mask_skipped,
        "A mask that allows nothing was treated like None. It is a mask, and a strict one: what "
        "comes out allows nothing either.",
    ),
    Mistake(
        "True for hidden",
        true_for_hidden,
        "The result is turned round: True where a pair is hidden. True means *may look*, in the "
        "result as in what was given.",
    ),
)

EXERCISE = Exercise(
    identifier="06.combine_masks",
    assignment="06_self_attention",
    title="Combining masks",
    kind="function",
    answer="combine_masks",
    points=3,
    difficulty=2,
    minutes=10,
    hints=(
        "A pair of query and key is allowed by one mask and hidden by another. May it look?",
        "Start with the first mask that is not None, and combine it with the next ones, entry by "
        "entry. NumPy broadcasts `(B, 1, n)` and `(m, n)` to `(B, m, n)` by itself.",
        "Collect the masks that are not None in a list. `result & mask` combines two; go through "
        "the list with a loop. Write `result = …`, not `&=`.",
    ),
    returns=("mask",),
    cases=cases,
    laws=(
        same(
            "The order of the masks does not matter",
            _other_order,
            "with the two masks exchanged, another mask came out.",
        ),
    ),
    parts=(
        Part("plain", "the cases with two masks", 2 / 3),
        Part("care", "those with None, with one or three masks, or with nothing allowed", 1 / 3),
    ),
    contents=lambda: Contents(combine_masks, MISTAKES),
)
