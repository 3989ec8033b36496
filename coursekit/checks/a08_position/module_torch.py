"""The torch half of 08.relative_scores_module: the reference and the known mistakes."""

import torch

from attnkit.torch import relative_index, scaled_dot_scores

from ..model import Mistake


class RelativeScores(torch.nn.Module):
    """The module as it should be, from the library: every query has keys of its own."""

    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        """Return the scores (B, m, n)."""
        index = relative_index(query.shape[-2], key.shape[-2], self.clip)  # (m, n)
        keys = key[:, None] + self.table[index]  # (B, m, n, d_head)
        return scaled_dot_scores(query[:, :, None], keys)[:, :, 0]


class PlainTensor(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.zeros(2 * clip + 1, d_head)

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class EmbeddingLayer(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Embedding(2 * clip + 1, d_head)

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table(distance.clamp(-self.clip, self.clip) + self.clip)
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class SuperForgotten(torch.nn.Module):
    def __init__(self, d_head, clip):
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class MadeInForward(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.d_head, self.clip = d_head, clip

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        table = torch.nn.Parameter(torch.randn(2 * self.clip + 1, self.d_head))
        vectors = table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class TwoClipRows(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class OneRowTooMany(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 2, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class TableNeverUsed(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        return query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5


class WordsLeftOut(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class ScaleForgotten(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores


class HalfOfItScaled(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        words = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        places = (query[:, :, None] * vectors).sum(-1)
        return words + places


class DistanceFromTheKey(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(m)[:, None] + n - m - torch.arange(n)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class CountedFromTheStart(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - torch.arange(m)[:, None]
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class OffsetOfTheSentence(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[(distance + n - 1).clamp(0, 2 * self.clip)]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class ClipForgotten(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class WrappedRound(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[(distance + self.clip) % (2 * self.clip + 1)]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class AddedToTheQuery(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (key[:, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class GradientCutOff(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table.detach()[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5


class PairReturned(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / query.shape[-1] ** 0.5, vectors


class WeightsReturned(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return (scores / query.shape[-1] ** 0.5).softmax(dim=-1)


class RootOfTheLength(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))

    def forward(self, query, key):
        m, n = query.shape[1], key.shape[1]
        distance = torch.arange(n) - (torch.arange(m)[:, None] + n - m)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]
        scores = query @ key.transpose(-1, -2) + (query[:, :, None] * vectors).sum(-1)
        return scores / key.shape[1] ** 0.5


MISTAKES = (
    Mistake(
        "a tensor that is no parameter",
        PlainTensor,
        "torch does not know this tensor: it is neither saved nor trained, and an optimiser never "
        "sees it. Wrap it in torch.nn.Parameter, once, in __init__. (A parameter that is made in "
        "forward is no better: it is new at every call, and nothing is ever learnt.)",
    ),
    Mistake(
        "a layer in place of a parameter",
        EmbeddingLayer,
        "With torch.nn.Embedding the parameter is called table.weight. Here table is itself a "
        "torch.nn.Parameter.",
    ),
    Mistake(
        "super().__init__() forgotten",
        SuperForgotten,
        "A module must be prepared before it can hold parameters: super().__init__() is the first "
        "line of __init__.",
    ),
    Mistake(
        "the parameter made in forward",
        MadeInForward,
        "The table is made anew at every call.",
        same_as="a tensor that is no parameter",
    ),
    Mistake(
        "two rows for each step of the clip",
        TwoClipRows,
        "2 * clip rows have no place for distance 0: clip before, clip after, *and* zero.",
    ),
    Mistake(
        "one row too many",
        OneRowTooMany,
        "There are clip distances on each side and zero, 2 * clip + 1 rows. A further row is never "
        "read, and a saved table of the right size does not fit.",
    ),
    Mistake(
        "the table never used",
        TableNeverUsed,
        "The table does not enter the scores, so it gets no gradient. Such a model trains without "
        "complaint and is blind to order.",
    ),
    Mistake(
        "the words left out",
        WordsLeftOut,
        "These scores know places only. The product of query and key belongs in as well.",
    ),
    Mistake(
        "the scale forgotten",
        ScaleForgotten,
        "The scores are not scaled: divide by the square root of the width of a head.",
    ),
    Mistake(
        "half of it scaled",
        HalfOfItScaled,
        "Only the product with the words is scaled. The product with the vectors is part of the "
        "score and is divided as well.",
    ),
    Mistake(
        "the distance from the key",
        DistanceFromTheKey,
        "The distances have the wrong sign: key minus query, so that keys before the query have the "
        "first rows.",
    ),
    Mistake(
        "counted from the start",
        CountedFromTheStart,
        "With as many queries as keys this is right. With fewer, they are the *last* positions: "
        "query i stands at i + n - m.",
    ),
    Mistake(
        "the offset of the sentence at hand",
        OffsetOfTheSentence,
        "You add n - 1 to the distance, so distance 0 reads another row in a longer sentence. The "
        "table's middle row is number clip, whatever the sentence.",
    ),
    Mistake(
        "the clip forgotten",
        ClipForgotten,
        "While all distances are in the table this is right. Beyond it, negative row numbers count "
        "from the end of the table without a word, and large ones stop the program.",
    ),
    Mistake(
        "wrapped round",
        WrappedRound,
        "% wraps far distances round to the other end of the table: a key far after the query reads "
        "a row of the keys before it.",
    ),
    Mistake(
        "added to the query",
        AddedToTheQuery,
        "The vectors met the keys. They are added *to* the keys, so the query meets them.",
    ),
    Mistake(
        "the gradient cut off",
        GradientCutOff,
        "The scores are right, but detach() (or .data, or torch.no_grad) cuts the table off: it gets "
        "no gradient and never learns.",
    ),
    Mistake(
        "scores and vectors returned",
        PairReturned,
        "Both came back. The scores alone are asked for; whoever calls this would take the pair for "
        "one tensor.",
    ),
    Mistake(
        "weights returned",
        WeightsReturned,
        "These are weights. Asked for are the scores; the softmax comes after them.",
    ),
    Mistake(
        "the root of the length",
        RootOfTheLength,
        "You divide by the root of the number of keys. The scale is the root of the width, "
        "query.shape[-1].",
    ),
)
