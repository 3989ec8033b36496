"""Right but unusual answers of assignment 08."""

import numpy as np
import torch

from tests.coursekit.checks.collect import answers


@answers("08.predicted_likeness")
def whole_numbers_are_a_guess():
    return np.array([1, 0, -1])


@answers("08.predicted_likeness")
def single_precision_is_a_guess():
    return np.array([0.3, 0.1, 0.5], dtype=np.float32)


@answers("08.rows_by_hand")
def rounded_by_hand():
    return np.array([11.0, 5.0, 7.0, 0.0, 5.0, -0.4999])


@answers("08.rows_by_hand")
def sums_by_hand():
    return np.array([2 * 6 - 1, 6 - 1, 2 * 3 + 1, -3 + 3, 2 + 3, -32 / 64])


@answers("08.sinusoidal_positions")
def table_number_by_number(length, d_model):
    table = np.zeros((length, d_model))
    for p in range(length):
        for i in range(d_model // 2):
            angle = p / 10000 ** (2 * i / d_model)
            table[p, 2 * i], table[p, 2 * i + 1] = np.sin(angle), np.cos(angle)
    return table


@answers("08.sinusoidal_positions")
def table_from_complex_numbers(length, d_model):
    turn = np.exp(1j * np.exp(-np.log(10000) * np.arange(d_model // 2) * 2 / d_model))
    hands = turn ** np.arange(length)[:, None]
    return np.stack([hands.imag, hands.real], axis=2).reshape(length, d_model)


@answers("08.sinusoidal_positions")
def cosines_as_shifted_sines(length, d_model):
    column = np.arange(d_model)
    angle = np.arange(length)[:, None] / 10000 ** ((column - column % 2) / d_model)
    return np.sin(angle + np.pi / 2 * (column % 2))


@answers("08.relative_index")
def index_pair_by_pair(m, n, clip):
    index = np.zeros((m, n), dtype=int)
    for i in range(m):
        for j in range(n):
            index[i, j] = min(max(j - (i + n - m), -clip), clip) + clip
    return index


@answers("08.relative_index")
def index_clipped_after_it_was_moved(m, n, clip):
    distance = np.subtract.outer(np.arange(m), np.arange(n)) + n - m
    return np.minimum(np.maximum(clip - distance, 0), 2 * clip)


@answers("08.relative_index")
def index_from_a_longer_row(m, n, clip):
    # every query reads a piece of one long row of clipped distances
    row = np.clip(np.arange(-n - m, n + m), -clip, clip) + clip
    return np.stack([row[n + m - (i + n - m) :][:n] for i in range(m)]).astype(np.int32)


@answers("08.relative_scores_loop")
def relative_scores_at_once(query, key, table):
    clip = (len(table) - 1) // 2
    position = np.arange(len(key))
    row = np.clip(position - position[:, None], -clip, clip) + clip
    products = query @ table.T
    return (query @ key.T + np.take_along_axis(products, row, axis=1)) / query.shape[1] ** 0.5


@answers("08.relative_scores_loop")
def relative_scores_by_einsum(query, key, table):
    longer = np.concatenate([table[:1].repeat(len(key), 0), table, table[-1:].repeat(len(key), 0)])
    middle = len(longer) // 2
    vectors = np.stack([longer[middle - i : middle - i + len(key)] for i in range(len(query))])
    return np.einsum("id,ijd->ij", query / np.sqrt(query.shape[1]), key + vectors)


@answers("08.relative_scores_module")
class ProductsLookedUp(torch.nn.Module):
    def __init__(self, d_head, clip):
        super().__init__()
        self.register_parameter("table", torch.nn.Parameter(torch.ones(2 * clip + 1, d_head)))

    def forward(self, query, key):
        m, n, clip = query.shape[1], key.shape[1], len(self.table) // 2
        distance = torch.arange(n)[None] - torch.arange(n - m, n)[:, None]
        index = torch.clip(distance + clip, 0, 2 * clip)
        products = query @ self.table.t()  # (B, m, rows)
        places = products.gather(2, index.expand(len(query), -1, -1))
        return (torch.bmm(query, key.mT) + places) * query.shape[2] ** -0.5


@answers("08.relative_scores_module")
class RowsByOneHot(torch.nn.Module):
    def __init__(self, width, reach):
        super().__init__()
        self.reach = reach
        self.table = torch.nn.Parameter(torch.rand(2 * reach + 1, width, dtype=torch.float64))

    def forward(self, q, k):
        here = torch.arange(q.shape[1]) + k.shape[1] - q.shape[1]
        away = (torch.arange(k.shape[1]) - here[:, None]).clamp(-self.reach, self.reach)
        chosen = torch.nn.functional.one_hot(away + self.reach, 2 * self.reach + 1).to(q)
        keys = k[:, None] + torch.einsum("mnr,rd->mnd", chosen, self.table)
        return torch.einsum("bmd,bmnd->bmn", q, keys) / q.shape[-1] ** 0.5


@answers("08.alibi_slopes")
def slopes_as_the_paper_computes_them(n_heads):
    def power_of_two(n):
        start = 2 ** (-(2 ** -(np.log2(n) - 3)))
        return [start**i for i in range(1, n + 1)]

    below = 2 ** int(np.floor(np.log2(n_heads)))
    return np.array(power_of_two(below) + power_of_two(2 * below)[0::2][: n_heads - below])


@answers("08.alibi_slopes")
def slopes_head_by_head(n_heads):
    below = 1
    while 2 * below <= n_heads:
        below *= 2
    slopes = []
    for h in range(1, n_heads + 1):
        exponent = 8 * h / below if h <= below else 4 * (2 * (h - below) - 1) / below
        slopes.append(0.5**exponent)
    return np.array(slopes)


@answers("08.alibi_bias")
def bias_head_by_head(m, n, slopes):
    bias = np.zeros((len(slopes), m, n))
    for h, i, j in np.ndindex(bias.shape):
        bias[h, i, j] = -slopes[h] * abs(j - i - (n - m))
    return bias


@answers("08.alibi_bias")
def bias_by_outer_product(m, n, slopes):
    back = np.subtract.outer(np.arange(n - m, n), np.arange(n))
    return np.multiply.outer(slopes, np.minimum(back, -back))


@answers("08.rotary")
def rotary_in_halves(x, positions):
    d = x.shape[-1]
    angle = np.outer(positions, 10000.0 ** (-np.arange(0, d, 2) / d))
    angle = np.tile(angle, 2)
    other = np.concatenate([-x[..., d // 2 :], x[..., : d // 2]], axis=-1)
    return (x * np.cos(angle) + other * np.sin(angle)).astype(x.dtype)


@answers("08.rotary")
def rotary_by_complex_numbers(x, positions):
    d = x.shape[-1]
    hands = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(
        1j * positions[:, None] / 10000 ** (2 * np.arange(d // 2) / d)
    )
    return np.stack([hands.real, hands.imag], axis=-1).reshape(x.shape)  # wider for float32


@answers("08.rotary")
def rotary_by_matrices(x, positions):
    # pairs from the outside in, and one matrix for each row: no usual layout, but a right one
    d = x.shape[-1]
    matrices = np.zeros((len(positions), d, d))
    for i in range(d // 2):
        angle = positions * 10000.0 ** (-2 * i / d)
        first, second = i, d - 1 - i
        matrices[:, first, first] = matrices[:, second, second] = np.cos(angle)
        matrices[:, second, first], matrices[:, first, second] = np.sin(angle), -np.sin(angle)
    return (matrices @ x[..., None])[..., 0].astype(x.dtype)


@answers("08.counterexample")
def random_numbers():
    generator = np.random.default_rng(0)
    return generator.normal(size=(5, 5)), generator.normal(size=21)


@answers("08.counterexample")
def whole_numbers_show_it_too():
    return np.array([[0, 3, 0], [1, 0, 2], [0, 0, 0]]), np.arange(7) ** 2


@answers("08.relative_weights")
def from_a_piece_of_the_table(scores, table):
    n = scores.shape[-1]
    longest = (len(table) + 1) // 2
    piece = table[longest - n : longest + n - 1]  # the distances of n words, and no others
    bias = np.array([piece[n - 1 - i : 2 * n - 1 - i] for i in range(n)])
    exponentials = np.exp(scores + bias)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@answers("08.relative_weights")
def pair_by_pair(scores, table):
    bias = np.zeros(scores.shape[-2:])
    for i, j in np.ndindex(bias.shape):
        bias[i, j] = table[j - i + (len(table) - 1) // 2]
    together = scores + bias
    together = together - together.max(axis=-1, keepdims=True)
    return np.exp(together) / np.exp(together).sum(axis=-1, keepdims=True)
