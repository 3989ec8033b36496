"""The torch half of 09.encoder_layer_module: the reference and the known mistakes."""

import torch

from attnkit.torch import encoder_layer

from ..model import Mistake


class EncoderLayer(torch.nn.TransformerEncoderLayer):
    """The parameters are torch's own, by name and shape; the numbers are the library's."""

    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__(d_model, n_heads, d_ff, dropout=0.0, batch_first=True)
        self.n_heads, self.norm_place = n_heads, "pre" if pre_norm else "post"

    def forward(self, x, mask):
        """Return the output (B, T, d_model)."""
        attention = {}
        rows = zip(
            ("query", "key", "value"),
            self.self_attn.in_proj_weight.chunk(3),
            self.self_attn.in_proj_bias.chunk(3),
            strict=True,
        )
        for name, weight, bias in rows:
            attention |= {f"w_{name}": weight.T, f"b_{name}": bias}  # torch stores the transpose
        out = self.self_attn.out_proj
        parameters = {
            "attention": attention | {"w_output": out.weight.T, "b_output": out.bias},
            "feed_forward": {
                "w_hidden": self.linear1.weight.T,
                "b_hidden": self.linear1.bias,
                "w_output": self.linear2.weight.T,
                "b_output": self.linear2.bias,
            },
            "attention_norm": {"gain": self.norm1.weight, "bias": self.norm1.bias},
            "feed_forward_norm": {"gain": self.norm2.weight, "bias": self.norm2.bias},
        }
        return encoder_layer(x, parameters, self.n_heads, mask, norm=self.norm_place)


class NamesOfItsOwn(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.attention(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class SuperForgotten(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class NormsMadeInForward(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        norm1 = norm2 = torch.nn.LayerNorm(x.shape[-1], dtype=x.dtype)
        if self.pre_norm:
            x = x + self.attend(norm1(x), mask)
            return x + self.think(norm2(x))
        x = norm1(x + self.attend(x, mask))
        return norm2(x + self.think(x))


class NoBiases(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = (
            torch.nn.Linear(d_model, d_ff, bias=False),
            torch.nn.Linear(d_ff, d_model, bias=False),
        )
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class BatchAndLengthExchanged(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class PairAdded(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0])

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class MaskTurnedRound(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class MaskIgnored(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class NoResiduals(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = self.attend(self.norm1(x), mask)
            return self.think(self.norm2(x))
        x = self.norm1(self.attend(x, mask))
        return self.norm2(self.think(x))


class AlwaysPost(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class PostAndPreExchanged(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if not self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class ResidualAfterTheNorm(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = self.norm1(x)
            x = self.norm2(x + self.attend(x, mask))
            return x + self.think(x)
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class OneNormForBoth(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm1(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm1(x + self.think(x))


class NormsExchanged(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm2(x), mask)
            return x + self.think(self.norm1(x))
        x = self.norm2(x + self.attend(x, mask))
        return self.norm1(x + self.think(x))


class NothingBent(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(self.linear1(x))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class AnotherBend(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.nn.functional.gelu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class GradientCutOff(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0].detach()

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class ShortcutDetached(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0], need_weights=False)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x.detach() + self.attend(self.norm1(x), mask)
            return x.detach() + self.think(self.norm2(x))
        x = self.norm1(x.detach() + self.attend(x, mask))
        return self.norm2(x.detach() + self.think(x))


class MaskTurnedRoundAndWeights(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=mask[:, 0])[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class MaskOfThreeAxes(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask)[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class PaddingBlankedOut(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0])[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        x = torch.where(mask.transpose(1, 2), self.layer(x, mask), 0.0)
        return x

    def layer(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class NoResidualAroundThinking(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0])[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(self.think(x))


class OnlyTheQueriesNormalised(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0])[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            padding = ~mask[:, 0]
            x = x + self.self_attn(self.norm1(x), x, x, key_padding_mask=padding)[0]
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class AddedInPlace(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0])[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        if self.pre_norm:
            x += self.attend(self.norm1(x), mask)
            x += self.think(self.norm2(x))
            return x
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


class NothingDifferentiated(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm

    def attend(self, x, mask):
        return self.self_attn(x, x, x, key_padding_mask=~mask[:, 0])[0]

    def think(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, mask):
        with torch.no_grad():
            return self.layer(x, mask)

    def layer(self, x, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.think(x))


MISTAKES = (
    Mistake(
        "names of its own",
        NamesOfItsOwn,
        "The layer is right, but torch calls its parts self_attn, linear1, linear2, norm1 and "
        "norm2. Only under these names do saved parameters find their place.",
    ),
    Mistake(
        "super().__init__() forgotten",
        SuperForgotten,
        "A module must be prepared before it can hold other modules: super().__init__() is the "
        "first line of __init__.",
    ),
    Mistake(
        "norms made in forward",
        NormsMadeInForward,
        "The norms are made anew at every call: their gain and bias are not among the parameters,"
        " so they cannot be loaded and are never trained. Make them once, in __init__.",
    ),
    Mistake(
        "no biases",
        NoBiases,
        "The linear layers were made with bias=False. torch's layer has biases everywhere, and "
        "the saved parameters hold them.",
    ),
    Mistake(
        "batch_first forgotten",
        BatchAndLengthExchanged,
        "Unless told batch_first=True, MultiheadAttention takes the first axis for the length and"
        " the second for the batch, so that sentences would look at each other.",
    ),
    Mistake(
        "the pair added",
        PairAdded,
        "MultiheadAttention returns two things, the output and the weights. Take the first: [0].",
    ),
    Mistake(
        "the mask of the other meaning",
        MaskTurnedRound,
        "torch's masks say what to *ignore*, ours what may be looked at. Turn it round: ~mask.",
    ),
    Mistake(
        "the mask ignored",
        MaskIgnored,
        "Without padding all is well, but hidden words get weight: the mask never reaches the "
        "attention.",
    ),
    Mistake(
        "no residual connections",
        NoResiduals,
        "Each sublayer replaces x. What it finds is added to x, around both sublayers.",
    ),
    Mistake(
        "always post-norm",
        AlwaysPost,
        "post-norm is right, but pre_norm is never asked: then each norm stands before its "
        "sublayer, and the sums are left as they are.",
    ),
    Mistake(
        "post and pre exchanged",
        PostAndPreExchanged,
        "With pre_norm=True the norm stands after the sum, and the other way round.",
    ),
    Mistake(
        "the residual taken after the norm",
        ResidualAfterTheNorm,
        "In the pre-norm layer you overwrote x by its norm and added to that. Only what goes "
        "*into* the sublayer is normalised.",
    ),
    Mistake(
        "one norm for both",
        OneNormForBoth,
        "norm1 does the work of both norms; norm2 is there, but never used, and its gradient is "
        "zero.",
    ),
    Mistake(
        "the norms exchanged",
        NormsExchanged,
        "norm1 belongs to the attention and norm2 to the feed-forward network. With norms fresh "
        "from the factory (gain 1, bias 0) the slip does not show; with trained ones it does.",
    ),
    Mistake(
        "nothing bent",
        NothingBent,
        "Nothing stands between linear1 and linear2, so together they are one matrix: torch.relu "
        "is missing.",
    ),
    Mistake(
        "another bend",
        AnotherBend,
        "You used gelu. Many later models do; torch's layer has relu unless told otherwise, and "
        "so has the paper.",
    ),
    Mistake(
        "the gradient cut off",
        GradientCutOff,
        "The output is right, but detach() (or .data, or torch.no_grad) cuts the attention off "
        "from its parameters: they get no gradient and never learn.",
    ),
    Mistake(
        "the residual connection cut off",
        ShortcutDetached,
        "The output is right, but x is detached where it is added, so that no gradient comes back"
        " along the residual connections. That way back is what they are there for.",
    ),
    Mistake(
        "the mask of the other meaning, and NaN",
        MaskTurnedRoundAndWeights,
        "torch's masks say what is to be *ignored*: where every word is ignored there is nothing "
        "left, which is NaN. Yours is True where there is a word, so turn it round, ~mask.",
    ),
    Mistake(
        "a mask of three axes",
        MaskOfThreeAxes,
        "key_padding_mask is a row for each sentence, (B, T). Your mask is (B, 1, T): leave the "
        "middle axis out with mask[:, 0], and turn it round.",
    ),
    Mistake(
        "padding blanked out",
        PaddingBlankedOut,
        "You set the rows of the padding to 0. Nobody reads them, and they are not asked to be "
        "anything special: like every row they hold what the layer makes of them.",
    ),
    Mistake(
        "no residual connection around the feed-forward network",
        NoResidualAroundThinking,
        "What the feed-forward network finds replaces x. It is *added*, as what the attention "
        "finds.",
    ),
    Mistake(
        "only the queries normalised",
        OnlyTheQueriesNormalised,
        "In the pre-norm layer the queries come from normalised rows, keys and values from x. "
        "Self-attention makes all three from the same rows.",
    ),
    Mistake(
        "added in place",
        AddedInPlace,
        "x += … writes into the tensor that came in, and torch needs it as it was to go back "
        "through it. x = x + … makes a new one.",
    ),
    Mistake(
        "nothing differentiated",
        NothingDifferentiated,
        "The output is right, but under torch.no_grad nothing is remembered, so no parameter gets "
        "a gradient. Leave that to whoever uses the layer.",
    ),
)
