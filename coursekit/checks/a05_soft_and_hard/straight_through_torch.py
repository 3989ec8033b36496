"""The torch half of 05.straight_through: the reference and the known mistakes."""

import torch

from attnkit.torch import straight_through_attention

from ..model import Mistake


class StraightThrough(torch.nn.Module):
    """The module as it should be, from the library's straight-through attention."""

    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(d_query, d_key))

    def forward(self, query, key, value, mask):
        """Return the values taken, (B, m, d_v)."""
        scores = query @ self.weight @ key.transpose(-1, -2)
        return straight_through_attention(scores, value, mask)


class PlainTensor(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.randn(d_query, d_key)

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + (soft - soft.detach())) @ value


class LinearLayer(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Linear(d_key, d_query, bias=False)

    def forward(self, query, key, value, mask):
        scores = self.weight(key) @ query.transpose(-1, -2)
        scores = scores.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + (soft - soft.detach())) @ value


class SuperForgotten(torch.nn.Module):
    def __init__(self, d_query, d_key):
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + (soft - soft.detach())) @ value


class TurnedRound(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_key, d_query))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight.T @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + (soft - soft.detach())) @ value


class SoftForwards(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        return soft.masked_fill(~mask, 0.0) @ value


class HardBothWays(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        return hard.masked_fill(~mask, 0).to(value.dtype) @ value


class DetachForgotten(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + soft - soft) @ value


class WrongTermDetached(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (soft + (soft - hard).detach()) @ value


class NothingTakenAway(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + soft) @ value


class AroundTheValues(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        softly, taken = soft @ value, hard.to(value.dtype) @ value
        return softly + (taken - softly).detach()


class ValuesDetached(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + (soft - soft.detach())) @ value.detach()


class PassedAsItIs(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.masked_fill(~mask, 0.0)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard = hard.masked_fill(~mask, 0)
        return (hard + (soft - soft.detach())) @ value


class Scaled(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores / key.shape[-1] ** 0.5
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + (soft - soft.detach())) @ value


class QueriesCompete(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-2)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + (soft - soft.detach())) @ value


class MaskIgnored(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        return (hard + (soft - soft.detach())) @ value


class MaskTurnedRound(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(mask, 0), soft.masked_fill(mask, 0.0)
        return (hard + (soft - soft.detach())) @ value


class MaskForTheChoiceOnly(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        soft = scores.softmax(dim=-1)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard = hard.masked_fill(~mask, 0)
        return (hard + (soft - soft.detach())) @ value


class FirstKeyWhereNothingIsAllowed(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        return (hard + (soft - soft.detach())) @ value


class EmptyRowsAreNaN(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, float("-inf"))
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        return (hard + (soft - soft.detach())) @ value


class SlopeTurnedRound(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + (soft.detach() - soft)) @ value


class AllowedScoresHidden(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + (soft - soft.detach())) @ value


class WholeNumbersForWeights(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1).masked_fill(~mask, 0.0)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard = hard.masked_fill(~mask, 0)
        return hard @ value + (soft - soft.detach()) @ value


class BufferForParameter(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.register_buffer("weight", torch.randn(d_query, d_key))

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + (soft - soft.detach())) @ value


class FrozenParameter(torch.nn.Module):
    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key), requires_grad=False)

    def forward(self, query, key, value, mask):
        scores = query @ self.weight @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1)
        hard = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
        hard, soft = hard.masked_fill(~mask, 0), soft.masked_fill(~mask, 0.0)
        return (hard + (soft - soft.detach())) @ value


MISTAKES = (
    Mistake(
        "a tensor that is no parameter",
        PlainTensor,
        "torch does not know this tensor: it is neither saved nor trained. Wrap it in "
        "torch.nn.Parameter, in __init__.",
    ),
    Mistake(
        "a layer in place of a parameter",
        LinearLayer,
        "With torch.nn.Linear the parameter is called weight.weight. Here weight is itself a "
        "torch.nn.Parameter.",
    ),
    Mistake(
        "super().__init__() forgotten",
        SuperForgotten,
        "A module must be prepared before it can hold parameters: super().__init__() is the first "
        "line of __init__.",
    ),
    Mistake(
        "the parameter turned round",
        TurnedRound,
        "Your weight has a row for each component of the key. It is (d_query, d_key), and is "
        "multiplied from the right: query @ weight.",
    ),
    Mistake(
        "soft forwards",
        SoftForwards,
        "This is soft attention: the output is a mixture. Forwards, one value is taken, that of the "
        "key with the highest score.",
    ),
    Mistake(
        "hard both ways",
        HardBothWays,
        "The right value is taken, but the choice has no slope, so weight never learns. Backwards, "
        "pretend that the weights had been soft.",
    ),
    Mistake(
        "detach() forgotten",
        DetachForgotten,
        "soft - soft is 0 forwards, and its slope is 0 too. One of the two must be detached, so that "
        "the slope of the other is left.",
        same_as="hard both ways",
    ),
    Mistake(
        "the wrong sign inside the detached term",
        WrongTermDetached,
        "Forwards, soft + (soft - hard) is twice the soft weights less the hard ones. Put the detached "
        "term so that soft goes away and hard is left.",
    ),
    Mistake(
        "soft and hard added",
        NothingTakenAway,
        "The slope is right, but forwards you add the mixture to the value taken. Take away again what "
        "you have added, detached.",
    ),
    Mistake(
        "the detour around the values too",
        AroundTheValues,
        "The output is right, but you mix up the *outputs*, so that the gradient of every value is "
        "that of the soft lookup. Only the value that was taken has any: mix the weights, then "
        "multiply.",
    ),
    Mistake(
        "the values cut off",
        ValuesDetached,
        "The values have no gradient any more. Only the soft weights that you take away are detached.",
    ),
    Mistake(
        "the slope of the scores themselves",
        PassedAsItIs,
        "Backwards you let the scores through as they are. Asked for is the slope of their softmax.",
    ),
    Mistake(
        "the scores scaled",
        Scaled,
        "The same key is taken, but the slope is another one: there is no square root here, the scores "
        "are query @ weight @ key.",
    ),
    Mistake(
        "queries compete",
        QueriesCompete,
        "Your softmax goes over the queries. Each query spreads its weight over the keys: dim=-1.",
    ),
    Mistake(
        "the mask ignored",
        MaskIgnored,
        "Without a mask all is well, but hidden keys can be taken: the mask is never used.",
    ),
    Mistake(
        "the mask turned round",
        MaskTurnedRound,
        "masked_fill fills where its mask is True, and here True means *may be looked at*. Fill where "
        "it is not: ~mask.",
    ),
    Mistake(
        "the mask for the choice only",
        MaskForTheChoiceOnly,
        "No hidden key is taken, but the softmax of the way back still goes over all keys. Hide the "
        "scores before either is made.",
    ),
    Mistake(
        "the first key where nothing may be looked at",
        FirstKeyWhereNothingIsAllowed,
        "The argmax of equal numbers is a key all the same. Where everything is hidden the output is 0 "
        "and so is every gradient: fill both kinds of weights with 0 at hidden keys.",
    ),
    Mistake(
        "NaN where nothing may be looked at",
        EmptyRowsAreNaN,
        "A softmax over nothing but -inf is NaN. Hide by a large finite number, and fill the weights "
        "of hidden keys with 0 afterwards.",
    ),
    Mistake(
        "the slope turned round",
        SlopeTurnedRound,
        "The right value is taken, and every slope has the wrong sign: training would walk away from the "
        "goal. It is the soft weights *minus* their detached copy.",
    ),
    Mistake(
        "the scores of allowed keys hidden",
        AllowedScoresHidden,
        "masked_fill fills where its mask is True, and here True means *may be looked at*: you hide the "
        "scores of the allowed keys. Fill where it is not: ~mask.",
    ),
    Mistake(
        "whole numbers for weights",
        WholeNumbersForWeights,
        "one_hot gives whole numbers, and torch does not multiply those with floats. Make them floats "
        "first: .to(scores.dtype).",
    ),
    Mistake(
        "a buffer in place of a parameter",
        BufferForParameter,
        "A buffer is saved and loaded, but never trained: optimisers go through the parameters. Wrap the "
        "tensor in torch.nn.Parameter.",
    ),
    Mistake(
        "a parameter that may not change",
        FrozenParameter,
        "With requires_grad=False there is no slope, and training leaves the parameter as it is. Leave "
        "that out.",
    ),
)
