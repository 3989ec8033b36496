"""Right but unusual answers of assignment 09."""

import math

import numpy as np
import torch

from coursekit.checks.a09_transformer.given import attend, dropout, normalise, softmax, think
from tests.coursekit.checks.collect import answers


@answers("09.predicted_remainder")
def whole_numbers_are_a_guess():
    return np.array([1, 0, -1])


@answers("09.predicted_remainder")
def single_precision_is_a_guess():
    return np.array([0.9, 0.1, 0.5], dtype=np.float32)


@answers("09.norms_by_hand")
def floats_by_hand():
    return np.array([[-1.0, 1.0], [1.0, -1.0], [3.0, 5.0]])


@answers("09.norms_by_hand")
def rows_by_hand():
    normal = [(1 - 3) / 2, (5 - 3) / 2]
    return np.array([normal, [(11 - 8) / 3, (5 - 8) / 3], [1 + 2 * normal[1], 5 + 0]])


@answers("09.layer_norm")
def norm_by_variance(x, gain, bias, eps):
    scale = gain / np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    return (x - x.mean(axis=-1, keepdims=True)) * scale + bias


@answers("09.layer_norm")
def norm_row_by_row(x, gain, bias, eps):
    result = np.empty(x.shape)
    for place in np.ndindex(x.shape[:-1]):
        row = x[place].astype(float)
        mean = sum(row) / len(row)
        variance = sum((number - mean) ** 2 for number in row) / len(row)
        result[place] = [(number - mean) / math.sqrt(variance + eps) for number in row]
        result[place] = result[place] * gain + bias
    return result


@answers("09.layer_norm")
def norm_by_a_projection(x, gain, bias, eps):
    d = x.shape[-1]
    centred = x @ (np.eye(d) - 1 / d)
    return gain * centred * (np.square(centred).sum(-1, keepdims=True) / d + eps) ** -0.5 + bias


@answers("09.feed_forward")
def hidden_by_where(x, parameters):
    hidden = np.einsum("...d,df->...f", x, parameters["w_hidden"]) + parameters["b_hidden"]
    hidden = np.where(hidden > 0, hidden, 0)
    return np.einsum("...f,fd->...d", hidden, parameters["w_output"]) + parameters["b_output"]


@answers("09.feed_forward")
def unit_by_unit(x, parameters):
    output = parameters["b_output"] + np.zeros(x.shape)
    for f, bias in enumerate(parameters["b_hidden"]):
        unit = (x * parameters["w_hidden"][:, f]).sum(axis=-1) + bias
        output = output + unit.clip(min=0)[..., None] * parameters["w_output"][f]
    return output


@answers("09.encoder_layer")
def layer_by_a_loop_over_sublayers(x, parameters, n_heads, mask, norm):
    sublayers = {
        "attention": lambda rows: attend(rows, rows, parameters["attention"], n_heads, mask),
        "feed_forward": lambda rows: think(rows, parameters["feed_forward"]),
    }
    for name, sublayer in sublayers.items():
        of_its_own = parameters[f"{name}_norm"]
        if norm == "post":
            x = normalise(sublayer(x) + x, of_its_own)
        else:
            x = sublayer(normalise(x, of_its_own)) + x
    return x


@answers("09.encoder_layer")
def layer_by_switches(x, parameters, n_heads, mask, norm):
    first, second = parameters["attention_norm"], parameters["feed_forward_norm"]
    read = normalise(x, first) if norm == "pre" else x
    found = x + attend(read, read, parameters["attention"], n_heads, mask=mask)
    found = found if norm == "pre" else normalise(found, first)
    read = normalise(found, second) if norm == "pre" else found
    result = np.add(found, think(read, parameters["feed_forward"]))
    return result if norm == "pre" else normalise(result, second)


@answers("09.decoder_layer")
def decoder_by_a_loop_over_sublayers(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    past = np.arange(m)[:, None] >= np.arange(m)
    for name in ("attention", "memory_attention", "feed_forward"):
        if name == "feed_forward":
            found = think(x, parameters[name])
        elif name == "attention":
            found = attend(x, x, parameters[name], n_heads, past)
        else:
            found = attend(x, memory, parameters[name], n_heads, memory_mask)
        x = normalise(x + found, parameters[f"{name}_norm"])
    return x


@answers("09.decoder_layer")
def decoder_word_by_word(x, memory, parameters, n_heads, memory_mask):
    rows = []
    for t in range(x.shape[-2]):
        row, past = x[..., t : t + 1, :], x[..., : t + 1, :]
        row = row + attend(row, past, parameters["attention"], n_heads)
        row = normalise(row, parameters["attention_norm"])
        row = row + attend(row, memory, parameters["memory_attention"], n_heads, memory_mask)
        row = normalise(row, parameters["memory_attention_norm"])
        row = row + think(row, parameters["feed_forward"])
        rows.append(normalise(row, parameters["feed_forward_norm"]))
    return np.concatenate(rows, axis=-2)


@answers("09.encoder_layer_module")
class AroundTorchsOwnLayer(torch.nn.TransformerEncoderLayer):
    """Not what is asked for, but right: torch's layer agrees with the library's."""

    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__(d_model, n_heads, d_ff, dropout=0.0, norm_first=pre_norm, batch_first=True)

    def forward(self, x, mask):
        return super().forward(x, src_key_padding_mask=mask.squeeze(1).logical_not())


@answers("09.encoder_layer_module")
class AttentionWrittenOut(torch.nn.Module):
    def __init__(self, width, heads, hidden, first):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(width, heads)  # holds the parameters only
        self.linear1 = torch.nn.Linear(width, hidden)
        self.linear2 = torch.nn.Linear(hidden, width)
        self.norm1 = torch.nn.LayerNorm((width,))
        self.norm2 = torch.nn.LayerNorm((width,))
        self.heads, self.first = heads, first

    def look(self, x, mask):
        attention = self.self_attn
        projected = torch.nn.functional.linear(
            x, attention.in_proj_weight, attention.in_proj_bias
        ).unflatten(-1, (3, self.heads, -1))  # (B, T, 3, heads, d_k)
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        scores = torch.einsum("bhid,bhjd->bhij", query, key) * key.shape[-1] ** -0.5
        weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
        return attention.out_proj((weights @ value).transpose(1, 2).flatten(2))

    def forward(self, x, mask):
        same = torch.nn.Identity()
        before = (self.norm1, self.norm2) if self.first else (same, same)
        after = (same, same) if self.first else (self.norm1, self.norm2)
        x = after[0](x + self.look(before[0](x), mask))
        return after[1](x + self.linear2(self.linear1(before[1](x)).clamp(min=0)))


@answers("09.warmup_schedule")
def rates_in_two_pieces(step, d_model, warmup):
    climbing = step / (np.sqrt(d_model) * warmup * np.sqrt(warmup))
    return np.where(step < warmup, climbing, 1 / np.sqrt(d_model * step))


@answers("09.warmup_schedule")
def rates_step_by_step(step, d_model, warmup):
    return np.array([min(1 / math.sqrt(s), s / warmup**1.5) / math.sqrt(d_model) for s in step])


@answers("09.smoothed_cost_loop")
def cost_in_two_parts(logits, target, epsilon):
    log_p = logits - np.logaddexp.reduce(logits)
    return -(1 - epsilon) * log_p[target] - epsilon * log_p.mean()


@answers("09.smoothed_cost_loop")
def cost_by_a_dot_product(logits, target, epsilon):
    shares = np.full(len(logits), epsilon / len(logits))
    shares[target] += 1 - epsilon
    highest = logits.max()
    return float(highest + np.log(np.exp(logits - highest).sum()) - shares @ logits)


@answers("09.label_smoothing")
def loss_by_shares(logits, target, mask, epsilon):
    n_classes = logits.shape[-1]
    shares = epsilon / n_classes + (1 - epsilon) * np.eye(n_classes)[target]  # (B, T, V)
    total = np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    costs = (shares * (total - logits)).sum(axis=-1)
    return np.where(mask, costs, 0.0).sum() / max(mask.sum(), 1)


@answers("09.label_smoothing")
def loss_position_by_position(logits, target, mask, epsilon):
    costs = [
        cost_in_two_parts(logits[place], target[place], epsilon)
        for place in zip(*np.nonzero(mask), strict=True)
    ]
    return sum(costs) / len(costs) if costs else 0


@answers("09.counterexample")
def nothing_dropped_but_larger():
    return np.array([[2.0, 1.0, 3.0]]), np.array([[0.9]]), np.full((1, 3), 0.9), 0.1, False


@answers("09.counterexample")
def whole_numbers_show_it_too():
    x = np.array([[1, 2], [3, 4], [5, 6]])
    return x, np.zeros((3, 3)), np.zeros((3, 2), dtype=int), np.float32(0.25), np.bool_(False)


@answers("09.attention_sublayer")
def two_ways_through(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T * x.shape[-1] ** -0.5)
    if not training:
        return weights @ x + x
    found = dropout(weights, uniform_weights, rate) @ x
    return dropout(found, uniform_found, rate) + x


@answers("09.attention_sublayer")
def a_rate_of_nothing_in_use(x, uniform_weights, uniform_found, rate, training):
    rate = rate * training
    kept = uniform_weights >= rate
    scores = np.exp(x @ x.T / np.sqrt(x.shape[1]))
    weights = kept * scores / scores.sum(axis=1)[:, None] / (1 - rate)
    return x + (uniform_found >= rate) * (weights @ x) / (1 - rate)
