"""The torch half of 01.gru_encoder: the reference and the known mistakes."""

import torch

from attnkit.torch.recurrent import gru_step

from ..model import Mistake


class GRUEncoder(torch.nn.Module):
    """The module as it should be, from the library's step."""

    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.zeros(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.zeros(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.zeros(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.zeros(3 * d_state))

    def forward(self, x, keep):
        """Return the state (B, d_state) after the last word of each sentence."""
        parameters = dict(self.named_parameters())
        state = x.new_zeros(len(x), len(self.w_state))
        for t in range(x.shape[1]):
            state = torch.where(keep[:, t, None], gru_step(x[:, t], state, parameters), state)
        return state


class PlainTensors(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.randn(d_in, 3 * d_state)
        self.w_state = torch.randn(d_state, 3 * d_state)
        self.b_input = torch.randn(3 * d_state)
        self.b_state = torch.randn(3 * d_state)

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
            state = torch.where(keep[:, t, None], new, state)
        return state


class TorchsOwnCell(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.d_state = d_state
        self.cell = torch.nn.GRUCell(d_in, d_state)

    def forward(self, x, keep):
        state = x.new_zeros(len(x), self.d_state)
        for t in range(x.shape[1]):
            state = torch.where(keep[:, t, None], self.cell(x[:, t], state), state)
        return state


class Transposed(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(3 * d_state, d_in))
        self.w_state = torch.nn.Parameter(torch.randn(3 * d_state, d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), self.w_state.shape[1])
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input.T + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state.T + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
            state = torch.where(keep[:, t, None], new, state)
        return state


class SuperForgotten(torch.nn.Module):
    def __init__(self, d_in, d_state):
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
            state = torch.where(keep[:, t, None], new, state)
        return state


class GatesExchanged(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            update, reset = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
            state = torch.where(keep[:, t, None], new, state)
        return state


class UpdateTheOtherWay(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = update * torch.tanh(a[2] + reset * b[2]) + (1 - update) * state
            state = torch.where(keep[:, t, None], new, state)
        return state


class ResetIgnored(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            update = torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + b[2]) + update * state
            state = torch.where(keep[:, t, None], new, state)
        return state


class PaddingRead(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            state = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
        return state


class StateEmptied(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
            state = torch.where(keep[:, t, None], new, 0.0)
        return state


class KeepTurnedRound(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
            state = torch.where(keep[:, t, None], state, new)
        return state


class StatesDetached(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            state = state.detach()
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
            state = torch.where(keep[:, t, None], new, state)
        return state


class ResultDetached(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
            state = torch.where(keep[:, t, None], new, state)
        return state.detach()


class AllStates(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        states = []
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
            state = torch.where(keep[:, t, None], new, state)
            states.append(state)
        return torch.stack(states, dim=1)


class MeanOfTheStates(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        states = []
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
            state = torch.where(keep[:, t, None], new, state)
            states.append(state)
        return torch.stack(states).mean(dim=0)


class PairReturned(torch.nn.Module):
    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.randn(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.randn(3 * d_state))

    def forward(self, x, keep):
        state = x.new_zeros(len(x), len(self.w_state))
        states = []
        for t in range(x.shape[1]):
            a = (x[:, t] @ self.w_input + self.b_input).chunk(3, dim=-1)
            b = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            new = (1 - update) * torch.tanh(a[2] + reset * b[2]) + update * state
            state = torch.where(keep[:, t, None], new, state)
            states.append(state)
        return torch.stack(states, dim=1), state


MISTAKES = (
    Mistake(
        "tensors that are no parameters",
        PlainTensors,
        "torch does not know these tensors: they are neither saved nor trained, and an optimiser "
        "never sees them. Wrap each in torch.nn.Parameter.",
    ),
    Mistake(
        "torch's own cell",
        TorchsOwnCell,
        "torch.nn.GRUCell computes the right thing, but its parameters have other names and lie "
        "transposed, so what is to be loaded does not fit. Here w_input, w_state, b_input and b_state "
        "are parameters of the module itself.",
    ),
    Mistake(
        "parameters transposed",
        Transposed,
        "The matrices lie the wrong way round. In this course weights multiply from the right, "
        "x @ w, so w_input has d_in rows and 3 * d_state columns.",
    ),
    Mistake(
        "super().__init__() forgotten",
        SuperForgotten,
        "A module must be prepared before it can hold parameters: super().__init__() is the first "
        "line of __init__.",
    ),
    Mistake(
        "the gates exchanged",
        GatesExchanged,
        "Reset and update gate are exchanged. The columns come in three blocks: reset, update, "
        "candidate.",
    ),
    Mistake(
        "the update gate the other way round",
        UpdateTheOtherWay,
        "The update gate says how much of the *old* state stays.",
    ),
    Mistake(
        "the reset gate never used",
        ResetIgnored,
        "The candidate is computed without the reset gate. Multiply what comes from the old state "
        "by it, its bias included.",
    ),
    Mistake(
        "padding read",
        PaddingRead,
        "Without padding all is well, but padding is read like words: keep is never used. Where "
        "there is no word, the state stays what it was.",
    ),
    Mistake(
        "the state emptied in the padding",
        StateEmptied,
        "In the padding the state becomes zero, so short sentences end with nothing. It should stay "
        "what it was after the last word.",
    ),
    Mistake(
        "keep turned round",
        KeepTurnedRound,
        "Words are skipped and padding is read. torch.where takes its second argument where the "
        "condition is True.",
    ),
    Mistake(
        "the gradient cut between the steps",
        StatesDetached,
        "The states are right, but detach() cuts every step off from those before it: only the last "
        "word gets a gradient, and the encoder never learns to remember.",
    ),
    Mistake(
        "the result cut off",
        ResultDetached,
        "The states are right, but the result is detached (or made under torch.no_grad, or with "
        ".data), so no parameter gets any gradient.",
    ),
    Mistake(
        "all states returned",
        AllStates,
        "You return the state after every position, (B, T, d_state). The last one alone is asked "
        "for.",
    ),
    Mistake(
        "the mean of the states",
        MeanOfTheStates,
        "You average the states. Asked for is the state after the last word.",
    ),
    Mistake(
        "all states and the last one",
        PairReturned,
        "torch.nn.GRU returns such a pair. Here the last state alone is asked for; whoever calls "
        "this would take the pair for one tensor.",
    ),
)
