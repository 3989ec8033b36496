"""Right but unusual answers of assignment 05."""

import numpy as np
import torch

from tests.coursekit.checks.collect import answers


def softmax(scores):
    highest = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - highest)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@answers("05.predicted_directions")
def whole_numbers_are_a_guess():
    return np.array([0, 1, 1])


@answers("05.predicted_directions")
def single_precision_is_a_guess():
    return np.array([0.3, 0.9, 0.6], dtype=np.float32)


@answers("05.estimates_by_hand")
def as_fractions():
    return np.array([2, -3 / 4, 1 / 4, -15 / 4, -1 / 4, -9 / 4])


@answers("05.estimates_by_hand")
def computed():
    p, r = np.array([0.75, 0.25]), np.array([1.0, 5.0])
    mean, first = p @ r, np.array([0.25, -0.75])
    return np.array([mean, p[0] * (r[0] - mean), *(r * first), *((r - mean) * first)])


@answers("05.draw_loop")
def what_is_left_of_the_number(weights, uniform):
    keys = np.full(len(uniform), np.flatnonzero(weights)[-1])
    for i, left in enumerate(uniform):
        for j, weight in enumerate(weights):
            left -= weight
            if left < 0:
                keys[i] = j
                break
    return keys


@answers("05.draw_loop")
def scaled_to_the_sum(weights, uniform):
    allowed = np.flatnonzero(weights)
    edges = np.cumsum(weights[allowed]) / weights.sum()
    return allowed[np.searchsorted(edges, uniform, side="right")]


@answers("05.sample_keys")
def keys_row_by_row(weights, uniform):
    keys = np.zeros(uniform.shape, dtype=np.int32)
    for place in np.ndindex(uniform.shape[:-1]):
        drawn = np.searchsorted(np.cumsum(weights[place]), uniform[place], side="right")
        keys[place] = np.minimum(drawn, np.flatnonzero(weights[place])[-1])
    return keys


@answers("05.sample_keys")
def keys_by_the_first_true(weights, uniform):
    sums = np.cumsum(weights, axis=-1)
    sums = np.where(weights > 0, sums, 0)
    reached = sums == sums.max(axis=-1, keepdims=True)  # the last key with weight
    enough = (sums[..., None, :] > uniform[..., None]) | reached[..., None, :]
    return np.argmax(enough, axis=-1)


@answers("05.sample_keys")
def keys_by_the_pieces(weights, uniform):
    ends = np.cumsum(weights, axis=-1)
    beginnings = np.where(weights > 0, ends - weights, np.inf)
    # counted backwards: the last key whose piece has begun; a tiny shift hides the rounding
    begun = beginnings[..., None, ::-1] <= uniform[..., None] + 1e-12
    return weights.shape[-1] - 1 - begun.argmax(axis=-1)


@answers("05.exact_gradient")
def by_the_jacobian(scores, reward):
    p = softmax(scores)
    jacobian = p[..., None] * (np.eye(p.shape[-1]) - p[..., None, :])
    return np.einsum("...ij,...j->...i", jacobian, np.where(p > 0, reward, 0))


@answers("05.exact_gradient")
def with_nan_replaced(scores, reward):
    reward = np.nan_to_num(reward)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total = exponentials.sum(axis=-1)
    mean = (exponentials * reward).sum(axis=-1) / total
    return exponentials * (reward - mean[..., None]) / total[..., None]


@answers("05.reinforce_estimates")
def estimates_draw_by_draw(scores, key, paid):
    estimates = np.zeros((*key.shape, scores.shape[-1]))
    for place in np.ndindex(key.shape):
        row = -paid[place] * softmax(scores[place[:-1]])
        row[key[place]] += paid[place]
        estimates[place] = row
    return estimates


@answers("05.reinforce_estimates")
def estimates_by_putting(scores, key, paid):
    shape = (*key.shape, scores.shape[-1])
    direction = np.array(np.broadcast_to(-softmax(scores)[..., None, :], shape))
    drawn = np.take_along_axis(direction, key[..., None], axis=-1)
    np.put_along_axis(direction, key[..., None], drawn + 1, axis=-1)
    return np.einsum("...s,...sn->...sn", paid, direction)


@answers("05.reinforce_with_baseline")
def baseline_draw_by_draw(scores, key, paid):
    one_hot = np.eye(scores.shape[-1])[key] - softmax(scores)[..., None, :]
    estimates = []
    for i in range(paid.shape[-1]):
        others = np.delete(paid, i, axis=-1)
        baseline = others.mean(axis=-1) if others.size else 0.0
        estimates.append((paid[..., i] - baseline)[..., None] * one_hot[..., i, :])
    return np.stack(estimates, axis=-2)


@answers("05.reinforce_with_baseline")
def from_the_mean_of_all(scores, key, paid):
    # Less the mean of the others is s / (s - 1) times less the mean of all.
    s = paid.shape[-1]
    more = paid if s == 1 else (paid - paid.mean(axis=-1, keepdims=True)) * (s / (s - 1))
    return more[..., None] * (np.eye(scores.shape[-1])[key] - softmax(scores)[..., None, :])


@answers("05.straight_through")
class TermOfTheOther(torch.nn.Module):
    """soft, plus what is missing to hard, detached."""

    def __init__(self, a, b):
        super().__init__()
        self.register_parameter("weight", torch.nn.Parameter(torch.ones(a, b)))

    def forward(self, query, key, value, mask):
        scores = torch.einsum("bmi,ij,bnj->bmn", query, self.weight, key)
        hidden = scores.masked_fill(~mask, -torch.inf)
        soft = hidden.softmax(-1).masked_fill(~mask, 0.0)
        hard = (hidden == hidden.amax(-1, keepdim=True)) & mask
        return torch.bmm(soft + (hard.to(soft.dtype) - soft).detach(), value)


@answers("05.straight_through")
class SlopeAddedToTheTaken(torch.nn.Module):
    """The value is picked by its place; a term of value 0 carries the slope of the scores."""

    def __init__(self, d_query, d_key):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(d_query, d_key, dtype=torch.float64))

    def forward(self, query, key, value, mask):
        scores = (query @ self.weight @ key.mT).masked_fill(~mask, -1e9)
        soft = torch.exp(scores - scores.logsumexp(-1, keepdim=True)) * mask
        place = scores.argmax(-1)
        taken = torch.stack([v[p] for v, p in zip(value, place, strict=True)])
        taken = taken * mask.any(-1, keepdim=True)
        constant = value.detach()
        return taken + soft @ constant - (soft @ constant).detach()


@answers("05.counterexample")
def whole_numbers():
    return np.array([0, 0, 0]), np.array([5, 4, 0]), np.array([9, 0, 0])


@answers("05.counterexample")
def all_guessed_too_low():
    return np.array([0.5, -0.5]), np.array([-1.0, -2.0]), np.array([-1.5, -9.0])


@answers("05.mended_estimates")
def mended_draw_by_draw(scores, guess, key, paid):
    p = softmax(scores)
    expected = sum(p[j] * guess[j] for j in range(len(p)))
    rows = []
    for k, r in zip(key, paid, strict=True):
        row = -p * (r - expected)
        row[k] += r - expected
        rows.append(row)
    return np.array(rows)


@answers("05.mended_estimates")
def mended_by_outer(scores, guess, key, paid):
    p = softmax(scores)
    more = paid - np.average(guess, weights=p)
    return more[:, None] * np.eye(len(p))[key] - np.outer(more, p)


@answers("05.local_m_mask")
def mask_query_by_query(m, n, window):
    return np.array([[-window <= i - j <= window for j in range(n)] for i in range(m)])


@answers("05.local_m_mask")
def mask_by_two_triangles(m, n, window):
    return np.tri(m, n, window, dtype=bool) & ~np.tri(m, n, -window - 1, dtype=bool)


@answers("05.local_p_weights")
def weights_query_by_query(scores, centre, window):
    weights = np.zeros(scores.shape)
    for place in np.ndindex(centre.shape):
        c = float(centre[place])
        seen = [j for j in range(scores.shape[-1]) if abs(j - c) <= window]
        if seen:
            soft = softmax(scores[place][seen].astype(float))
            bell = np.exp(-2 * ((np.array(seen) - c) / window) ** 2)
            weights[place][seen] = soft * bell
    return weights


@answers("05.local_p_weights")
def weights_with_nan_replaced(scores, centre, window):
    distance = np.abs(np.arange(scores.shape[-1], dtype=scores.dtype) - centre[..., None])
    kept = np.where(distance <= window, scores, -np.inf)
    highest = kept.max(axis=-1, keepdims=True)
    exponentials = np.exp(kept - highest)  # NaN where the window is empty, and a warning
    weights = np.nan_to_num(exponentials / exponentials.sum(axis=-1, keepdims=True))
    return weights * np.exp(-2 * (distance / window) ** 2)
