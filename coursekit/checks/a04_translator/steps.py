"""What both decoder steps of assignment 04 are asked: the same cases and laws, with other parameters."""

import numpy as np

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Part
from ..surface import Call

PARTS = (
    Part("plain", "the cases without padding", 0.6),
    Part("mask", "those with padding", 0.4),
)


def cases_of(arguments):
    """The function `cases` of a step.

    Parameters
    ----------
    arguments : callable
        ``arguments(weights, batch, n, d_in, h, d, a)`` draws with ``weights(*shape)`` what the step
        takes, its mask apart: `n` words, and widths of embedding, state, encoder states and of
        what is particular to the step.
    """
    ragged = [[1, 1, 1, 1, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 1]]
    scattered = [[0, 0, 1, 1, 1], [1, 0, 1, 1, 0], [1, 1, 1, 1, 1]]

    def cases(random):
        def call(draw, *sizes, **how):
            return Call(_asked(arguments, draw, random, *sizes, **how))

        return [
            Case("one sentence of three words", call(readable, 1, 3, 1, 2, 2, 2)),
            Case("two sentences of four words, all widths 3", call(normal, 2, 4, 3, 3, 3, 3)),
            Case(
                "three sentences of five words, all widths different",
                call(normal, 3, 5, 2, 4, 6, 7),
            ),
            Case(
                "three sentences with padding at the end",
                call(normal, 3, 5, 2, 4, 6, 7, keep=ragged),
                "mask",
            ),
            Case(
                "two sentences, the second without any words",
                call(normal, 2, 3, 2, 4, 3, 5, keep=[[1, 1, 0], [0, 0, 0]]),
                "mask",
            ),
            Case(
                "three float32 sentences with padding at the beginning and in between",
                call(normal, 3, 5, 2, 4, 6, 7, keep=scattered, dtype=np.float32),
                "mask",
            ),
        ]

    return cases


def laws_of(arguments):
    """The laws of a step; `arguments` as in `cases_of`."""

    def sentences_turned_round(random):
        asked = _asked(arguments, normal, random, 3, 4, 3, 5, 6, 7)
        turned = {n: a if n == "parameters" else a[::-1] for n, a in asked.items()}
        return [Call(asked), Call(turned)]

    def other_padding(random):
        keep = np.array([[True, False, True, True], [False, False, False, True]])
        asked = _asked(arguments, normal, random, 2, 4, 3, 5, 6, 7, keep=keep)
        states = asked["encoder_states"]
        other = np.where(keep[:, :, None], states, normal(random, *states.shape))
        return [Call(asked), Call({**asked, "encoder_states": other})]

    return (
        same(
            "Sentences do not influence each other",
            sentences_turned_round,
            "with the sentences in reverse order, the results were not just reversed.",
            undo=lambda result: result[::-1],
        ),
        same(
            "Padding has no influence",
            other_padding,
            "with other encoder states at the padding, other results came out.",
            part="mask",
        ),
    )


def _asked(arguments, draw, random, batch, n, *widths, keep=None, dtype=np.float64):
    def weights(*shape):
        return draw(random, *shape).astype(dtype)

    mask = np.ones((batch, n), bool) if keep is None else np.array(keep, bool)
    return {**arguments(weights, batch, n, *widths), "key_mask": mask}
