# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Assignment 5: soft and hard, global and local
#
# Soft attention reads all values, each a little. Hard attention reads one; the choice has no slope, so
# it is learnt from draws. Local attention looks at near keys only. Here you draw keys from given
# numbers, write the exact gradient and two estimates of it, let a slope through a hard choice in torch,
# find a fault in a program whose estimates are off on average, and write both of Luong's local forms.
# Chapter 5, *Soft and hard, global and local*, tells the story.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, and run the `check` below each. If a
# check does not pass it says what was expected, what came, and which known mistake it looks like.
# `hint("05.…", level=1)` prints a hint; levels 2 and 3 say more. A check sees results and not the way
# to them; where a text asks for a way (*without loops*), keep to it for your own sake.
#
# **How to hand in.** Restart the kernel, run all cells, save, and hand in this one file,
# `05_soft_and_hard.ipynb`, under its own name.
#
# There are `n` keys, `m` queries and `s` draws. The dots in `(..., n)` stand for any number of leading
# axes, none included. **A hidden key is one whose score is `-inf`:** its probability is 0. Nothing here
# is random: whoever draws hands in the numbers, each between 0 and 1. Each answer stands by itself: it
# may use the locked cells that its text names, but not what you wrote for another exercise.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "imports-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch

# %% nbgrader={"grade": false, "grade_id": "tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
from attnkit import numpy as library
from attnkit.plot import heat_map
from coursekit.checks import check, hint

# %% [markdown]
# One helper is given, the softmax of chapter 2, which takes `-inf` for a hidden key.


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
def softmax(scores):
    """Weights along the last axis, (..., n) to (..., n); a score of -inf gets the weight 0."""
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - highest)  # (..., n), at most 1: nothing overflows
    return exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., n)


# %% [markdown]
# ## 1. Predict: how often does an estimate point the right way?
#
# {{exercise 05.predicted_directions}}
#
# A lookup has 8 keys and random scores. Each key pays a reward; they lie near −2.5 (between −4.5 and
# −0.5, mostly), as rewards do that are minus a loss. One draw gives one estimate of the gradient of the
# mean reward. It *points the right way* if following it a little makes the mean reward larger. An arrow
# thrown blindly does so in half of all cases. In which share of all cases does
#
# 1. the estimate of one draw, without a baseline,
# 2. the estimate of one draw, with the mean reward as the baseline,
# 3. the mean over 10 draws, without a baseline?
#
# Return your three guesses in that order, as an array of shape `(3,)`, each between 0 and 1. Guess
# before you run anything: the point is for the guess, right or wrong. (Chapter 5: *How noisy, and what
# a baseline can do*.)


# %% nbgrader={"grade": false, "grade_id": "predicted-directions", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.predicted_directions", "helpers": ["imports"]}
def predicted_directions():
    """Return three guesses: one draw, one draw with a baseline, ten draws."""
    ### BEGIN SOLUTION
    return np.array([0.6, 0.9, 0.8])
    ### END SOLUTION


# %%
check("05.predicted_directions", predicted_directions)

# %% [markdown]
# Now measure, with 1000 random lookups. Were you surprised?

# %%
generator = np.random.default_rng(5)
scores = generator.standard_normal((1000, 8))
reward = generator.standard_normal((1000, 8)) - 2.5
exact = library.exact_reward_gradient(scores, reward)  # (1000, 8)
mean_reward = (softmax(scores) * reward).sum(axis=-1)  # (1000,)


def share_of_the_right_way(n_draws, baseline):
    """Return how often the mean over n_draws estimates points the way of the exact gradient."""
    numbers = generator.random((1000, n_draws))
    estimates = library.reinforce_gradient(scores, reward, numbers, baseline=baseline)
    return ((estimates.mean(axis=1) * exact).sum(axis=-1) > 0).mean()


print(f"one draw, no baseline:   {share_of_the_right_way(1, 0.0):.2f}")
print(f"one draw, with baseline: {share_of_the_right_way(1, mean_reward):.2f}")
print(f"ten draws, no baseline:  {share_of_the_right_way(10, 0.0):.2f}")

# %% nbgrader={"grade": true, "grade_id": "predicted-directions-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Graded: your guesses for how often an estimate points the right way.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.predicted_directions", predicted_directions, points=1)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. By hand: every estimate there is
#
# {{exercise 05.estimates_by_hand}}
#
# Two keys. The first is drawn with probability 0.75 and pays 1, the second with probability 0.25 and
# pays 5. With pencil and paper, work out
#
# 1. the mean reward;
# 2. the exact gradient by the score of the **first** key, $p_1\,(r_1 - \text{mean reward})$;
# 3. the first component of REINFORCE's estimate, $r\,(\text{one-hot} - p)$, if the *first* key is
#    drawn,
# 4. and the first component if the *second* key is drawn;
# 5. the same as 3, but with the mean reward as a baseline: $(r - b)\,(\text{one-hot} - p)$,
# 6. and the same as 4 with this baseline.
#
# Return the six numbers in this order, as an array of shape `(6,)`. (Chapter 5: *REINFORCE: right on
# average*.)


# %% nbgrader={"grade": false, "grade_id": "estimates-by-hand", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.estimates_by_hand", "helpers": ["imports"]}
def estimates_by_hand():
    """Return mean reward, exact gradient, two estimates without and two with a baseline."""
    ### BEGIN SOLUTION
    return np.array([2, -0.75, 0.25, -3.75, -0.25, -2.25])
    ### END SOLUTION


# %%
check("05.estimates_by_hand", estimates_by_hand)

# %% nbgrader={"grade": true, "grade_id": "estimates-by-hand-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the numbers from your paper.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.estimates_by_hand", estimates_by_hand, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Draw keys, by a loop
#
# {{exercise 05.draw_loop}}
#
# Lay the weights end to end on a line from 0 to 1. A number between 0 and 1 draws the key in whose
# piece it falls: the first key at which the sum of the weights so far **exceeds** the number.
#
# - `weights` is `(n,)`: not negative, and they sum to 1, up to rounding. Some may be 0.
# - `uniform` is `(s,)`, one number for each draw, at least 0 and below 1.
# - Return the keys drawn, `(s,)`, as whole numbers from 0 to `n - 1`.
# - A key of weight 0 is never drawn. Where rounding leaves the sum of all weights at or below the
#   number, the last key with a weight above 0 is drawn.
#
# For example, the weights `[0.5, 0., 0.5]` and the numbers `[0., 0.49, 0.5]` draw the keys `[0, 0, 2]`.
# One of the two points is for the plain cases, the other for weights of 0, edges and rounding. (Chapter
# 5: *One value, or the mean of all*.)


# %% nbgrader={"grade": false, "grade_id": "draw-loop", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.draw_loop", "helpers": ["imports"]}
def draw_loop(weights, uniform):
    """Return the keys (s,) that the numbers uniform (s,) draw from weights (n,)."""
    ### BEGIN SOLUTION
    keys = []
    for number in uniform:
        total = 0.0
        for j in range(len(weights)):
            if weights[j] > 0:
                total += weights[j]
                drawn = j  # the last one with a weight so far, should the sum fall short
                if total > number:
                    break
        keys.append(drawn)
    return np.array(keys)
    ### END SOLUTION


# %%
check("05.draw_loop", draw_loop)

# %% nbgrader={"grade": true, "grade_id": "draw-loop-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: keys drawn by a loop, 1 point for the plain cases, 1 for weights of 0, edges and rounding.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.draw_loop", draw_loop, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. Draw keys for any axes, without a loop
#
# {{exercise 05.sample_keys}}
#
# The same, for many rows of weights at once.
#
# - `weights` is `(..., n)`, `uniform` is `(..., s)`, with the same leading axes: each row has its own
#   weights and its own numbers.
# - Return the keys, `(..., s)`, as whole numbers. The rules are those of the loop. Do not change the
#   arguments.
#
# For example, the weights `[[0.5, 0., 0.5], [0., 1., 0.]]` and the numbers `[[0., 0.6], [0., 0.6]]`
# draw `[[0, 2], [1, 1]]`. Of the four points one is for a single row, one for leading axes, and two for
# weights of 0, edges and rounding.


# %% nbgrader={"grade": false, "grade_id": "sample-keys", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.sample_keys", "helpers": ["imports"]}
def sample_keys(weights, uniform):
    """Return the keys (..., s) that the numbers uniform (..., s) draw from weights (..., n)."""
    ### BEGIN SOLUTION
    sums = np.cumsum(weights, axis=-1)[..., None, :]  # (..., 1, n)
    passed = (sums <= uniform[..., None]).sum(axis=-1)  # (..., s), keys that are not enough
    # Counted from the end, the first key with a weight is the last.
    last = weights.shape[-1] - 1 - (weights[..., ::-1] > 0).argmax(axis=-1)  # (...,)
    return np.minimum(passed, last[..., None])  # (..., s)
    ### END SOLUTION


# %%
check("05.sample_keys", sample_keys)

# %% [markdown]
# Ten thousand numbers, and how often each key was drawn.

# %%
weights = np.array([0.15, 0.4, 0.0, 0.3, 0.15])
drawn = sample_keys(weights, np.random.default_rng(5).random(10_000))
print("weights:     ", weights)
print("how often:   ", np.bincount(drawn, minlength=5) / 10_000)

# %% nbgrader={"grade": true, "grade_id": "sample-keys-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: keys drawn without a loop, 1 point for one row, 1 for leading axes, 2 for weights of 0, edges and rounding.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.sample_keys", sample_keys, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. The exact gradient, by trying every key
#
# {{exercise 05.exact_gradient}}
#
# If every key's reward is known, nothing has to be drawn. With $p = \operatorname{softmax}(e)$, the
# mean reward and its derivative by each score are
#
# $$J = \sum_j p_j\, r_j, \qquad \frac{\partial J}{\partial e_j} = p_j \Bigl(r_j - \sum_l p_l\, r_l\Bigr)$$
#
# - `scores` and `reward` are `(..., n)`. Return the derivative, `(..., n)`.
# - A score of `-inf` hides a key. Nobody knows what a hidden key would pay: its reward is NaN, and must
#   not matter. Its derivative is 0.
# - Do not change the arguments.
#
# You may use `softmax`. For example, the scores `[0., 0.]` and the rewards `[1., 3.]` give
# `[-0.5, 0.5]`. Two of the three points are for the plain cases, one for hidden keys, large scores and
# float32. (Chapter 5: *The exact gradient, by trying every key*.)


# %% nbgrader={"grade": false, "grade_id": "exact-gradient", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.exact_gradient", "helpers": ["imports", "softmax"]}
def exact_gradient(scores, reward):
    """Return how the mean reward changes with each score: scores and reward (..., n) to (..., n)."""
    ### BEGIN SOLUTION
    probability = softmax(scores)  # (..., n)
    known = np.where(probability > 0, reward, np.zeros_like(reward))  # (..., n), no NaN left
    mean = (probability * known).sum(axis=-1, keepdims=True)  # (..., 1)
    return probability * (known - mean)  # (..., n)
    ### END SOLUTION


# %%
check("05.exact_gradient", exact_gradient)

# %% nbgrader={"grade": true, "grade_id": "exact-gradient-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the exact gradient, 2 points for the plain cases, 1 for hidden keys, large scores and float32.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.exact_gradient", exact_gradient, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. REINFORCE, without a baseline
#
# {{exercise 05.reinforce_estimates}}
#
# Now only the keys that were drawn have been tried. A draw of key $l$ that paid $r$ gives the estimate
#
# $$r \cdot (\text{one-hot}_l - p)$$
#
# where $\text{one-hot}_l$ is 1 at place $l$ and 0 elsewhere.
#
# - `scores` is `(..., n)`; a score of `-inf` hides a key, which is then never drawn.
# - `key` is `(..., s)`: which key each draw took, as whole numbers. `paid` is `(..., s)`: what each
#   draw paid.
# - Return one estimate for each draw, `(..., s, n)`. Do not average them.
#
# You may use `softmax`. For example, the scores `[0., 0.]`, the keys `[0, 1]` and `paid = [1., 3.]`
# give `[[0.5, -0.5], [-1.5, 1.5]]`. Two of the three points are for one row of scores, one for leading
# axes, a single draw, hidden keys, large scores and float32. (Chapter 5: *REINFORCE: right on
# average*.)


# %% nbgrader={"grade": false, "grade_id": "reinforce-estimates", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.reinforce_estimates", "helpers": ["imports", "softmax"]}
def reinforce_estimates(scores, key, paid):
    """Return estimates (..., s, n) from draws: scores (..., n), key and paid (..., s)."""
    ### BEGIN SOLUTION
    one_hot = np.arange(scores.shape[-1]) == key[..., None]  # (..., s, n)
    return paid[..., None] * (one_hot - softmax(scores)[..., None, :])  # (..., s, n)
    ### END SOLUTION


# %%
check("05.reinforce_estimates", reinforce_estimates)

# %% [markdown]
# The mean over more and more draws, beside the exact gradient.

# %%
generator = np.random.default_rng(6)
scores, reward = np.array([1.0, 0.0, -1.0]), np.array([-3.0, -1.0, -2.0])
key = generator.choice(3, size=10_000, p=softmax(scores))
estimates = reinforce_estimates(scores, key, reward[key])  # (10000, 3)
for count in (1, 100, 10_000):
    print(f"{count:6} draws:", estimates[:count].mean(axis=0).round(3))
print("        exact:", library.exact_reward_gradient(scores, reward).round(3))

# %% nbgrader={"grade": true, "grade_id": "reinforce-estimates-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: estimates without a baseline, 2 points for one row of scores, 1 for the rest.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.reinforce_estimates", reinforce_estimates, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. REINFORCE, with the other draws as the baseline
#
# {{exercise 05.reinforce_with_baseline}}
#
# A baseline may be anything that does not depend on the draw it is subtracted from. If several keys are
# drawn for the same scores, there is one at hand: **what the *other* draws paid, on average.** With $s$
# draws that paid $r_1, \dots, r_s$, the estimate of draw $i$ is
#
# $$(r_i - b_i)\,(\text{one-hot} - p), \qquad b_i = \frac{1}{s - 1} \sum_{k \ne i} r_k$$
#
# - Arguments and result are those of exercise 6: `scores (..., n)`, `key` and `paid (..., s)` to
#   `(..., s, n)`.
# - With a single draw there are no others: the baseline is then 0.
# - Do not change the arguments.
#
# You may use `softmax`. For example, the scores `[0., 0.]`, the keys `[0, 1]` and `paid = [1., 3.]`
# give `[[-1., 1.], [-1., 1.]]`: the first draw paid 2 less than the other, the second 2 more. Two of
# the three points are for one row of several draws, one for leading axes, a single draw, hidden keys
# and float32. (Chapter 5: *How noisy, and what a baseline can do*.)


# %% nbgrader={"grade": false, "grade_id": "reinforce-with-baseline", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.reinforce_with_baseline", "helpers": ["imports", "softmax"]}
def reinforce_with_baseline(scores, key, paid):
    """Return estimates (..., s, n), each draw measured against the mean of the others."""
    ### BEGIN SOLUTION
    others = max(paid.shape[-1] - 1, 1)  # a single draw: the sum below is 0
    baseline = (paid.sum(axis=-1, keepdims=True) - paid) / others  # (..., s)
    one_hot = np.arange(scores.shape[-1]) == key[..., None]  # (..., s, n)
    more = (paid - baseline)[..., None]  # (..., s, 1)
    return more * (one_hot - softmax(scores)[..., None, :])  # (..., s, n)
    ### END SOLUTION


# %%
check("05.reinforce_with_baseline", reinforce_with_baseline)

# %% [markdown]
# What it gains: the same draws, ten at a time, with and without the baseline.

# %%
generator = np.random.default_rng(7)
scores, reward = np.array([1.0, 0.0, -1.0]), np.array([-3.0, -1.0, -2.0])
exact = library.exact_reward_gradient(scores, reward)
key = generator.choice(3, size=(2000, 10), p=softmax(scores))  # 2000 times ten draws
with_it = reinforce_with_baseline(np.tile(scores, (2000, 1)), key, reward[key]).mean(axis=1)
one_hot = np.eye(3)[key]  # (2000, 10, 3)
without = (reward[key][..., None] * (one_hot - softmax(scores))).mean(axis=1)  # (2000, 3)
for name, means in {"without": without, "with": with_it}.items():
    off = np.sqrt(((means - exact) ** 2).sum(axis=-1).mean())
    print(f"{name:8} mean of all {means.mean(axis=0).round(2)}, ten draws are off by {off:.2f}")
print(f"{'exact':8}             {exact.round(2)}")

# %% nbgrader={"grade": true, "grade_id": "reinforce-with-baseline-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: estimates with a baseline, 2 points for one row of several draws, 1 for the rest.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.reinforce_with_baseline", reinforce_with_baseline, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 8. Straight-through as a torch module
#
# {{exercise 05.straight_through}}
#
# REINFORCE is right on average, and noisy. *Straight-through* is off, and quiet: forwards it takes the
# value of the best key, backwards it pretends that it had taken the soft mixture. (New to torch? *How to
# use the course* has a section *As much PyTorch as you need*; and `x.detach()` has the numbers of `x`
# and no slope.) Write a module:
#
# - `StraightThrough(d_query, d_key)` has one parameter, a `torch.nn.Parameter` under the name `weight`,
#   `(d_query, d_key)`. Begin it with any numbers.
# - `forward(query, key, value, mask)` takes `query (B, m, d_query)`, `key (B, n, d_key)`,
#   `value (B, n, d_v)` and a boolean `mask (B, 1, n)`, True where a key may be looked at. The scores
#   are `query @ weight @ key.transpose(-1, -2)`, without any scale.
# - Forwards: each query gets the value of the allowed key with the highest score, `(B, m, d_v)`.
# - Backwards: the gradient goes through the *weights* as if they were the softmax of the scores over
#   the allowed keys. A value that was not taken has no gradient.
# - Where no key may be looked at, the output is 0 and every gradient through it is 0. Never NaN.
#
# Three of the five points are for calls without a mask, forwards and backwards; two for masks and
# float32. Your module is built, loaded with a parameter, run, and differentiated. (Chapter 5:
# *Straight-through and Gumbel: less noise, but off*.)


# %% nbgrader={"grade": false, "grade_id": "straight-through", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.straight_through", "helpers": ["imports-torch"]}
class StraightThrough(torch.nn.Module):
    """One value for each query, (B, m, d_v), with the slope of softmax over the allowed keys."""

    def __init__(self, d_query, d_key):
        ### BEGIN SOLUTION
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(d_query, d_key) / d_query**0.5)
        ### END SOLUTION

    def forward(self, query, key, value, mask):
        ### BEGIN SOLUTION
        scores = query @ self.weight @ key.transpose(-1, -2)  # (B, m, n)
        # Finite, so that a row in which everything is hidden makes no NaN.
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        soft = scores.softmax(dim=-1).masked_fill(~mask, 0.0)  # (B, m, n)
        best = scores.argmax(dim=-1, keepdim=True)  # (B, m, 1)
        hard = torch.zeros_like(soft).scatter(-1, best, 1.0).masked_fill(~mask, 0.0)
        weights = hard + (soft - soft.detach())  # the numbers of hard, the slope of soft
        return weights @ value  # (B, m, d_v)
        ### END SOLUTION


# %%
check("05.straight_through", StraightThrough)

# %% [markdown]
# Your module can learn whom to ask. Each example offers six keys of different kinds, each with a value,
# and asks for one kind. Which query goes with which key is not known; only the value that should have
# come is.

# %%
torch.manual_seed(0)
module = StraightThrough(8, 8)
with torch.no_grad():  # the same beginning for every solution of the exercise
    module.weight.normal_(std=0.3)
optimiser = torch.optim.Adam(module.parameters(), lr=0.05)
partner = torch.randperm(8)  # query kind -> key kind, unknown to the module
everything = torch.ones(1, 1, 6, dtype=torch.bool)


def questions(count):
    """Return queries (N, 1, 8), keys (N, 6, 8), values (N, 6, 1) and the right places (N,)."""
    kinds = torch.rand(count, 8).argsort(dim=-1)[:, :6]
    place = torch.randint(6, (count,))
    asked = partner.argsort()[kinds[torch.arange(count), place]]
    identity = torch.eye(8)
    return identity[asked][:, None], identity[kinds], torch.randn(count, 6, 1), place


for step in range(51):
    query, key, value, place = questions(64)
    target = value[torch.arange(64), place]  # (64, 1)
    output = module(query, key, value, everything)[:, 0]  # (64, 1), one of the six values
    if step % 10 == 0:
        right = torch.isclose(output, target)
        print(f"step {step:2}: right value taken {right.float().mean().item():.2f}")
    optimiser.zero_grad()
    (output - target).square().mean().backward()
    optimiser.step()

# %% nbgrader={"grade": true, "grade_id": "straight-through-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Graded: the module, 3 points without a mask, 2 with masks and float32; both include gradients.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.straight_through", StraightThrough, points=5)
### END HIDDEN TESTS

# %% [markdown]
# ## 9. A program with a fault
#
# This program has learnt what each key usually pays: `guess`, one number for each key. It subtracts
# from what a draw paid what was to be expected *of this key*. That looks like the best baseline one
# could wish for, and the estimates are wonderfully quiet. But the model gets no better; the better the
# guesses become, the less it learns.


# %% nbgrader={"grade": false, "grade_id": "faulty-estimates", "locked": true, "schema_version": 3, "solution": false, "task": false}
def faulty_estimates(scores, guess, key, paid):
    """REINFORCE, (s, n), less what each key was guessed to pay. Something is wrong here."""
    probability = softmax(scores)  # (n,)
    one_hot = np.eye(len(scores))[key]  # (s, n)
    baseline = guess[key]  # (s,)
    return (paid - baseline)[:, None] * (one_hot - probability)


# %% [markdown]
# ### 9a. Find numbers on which the fault shows
#
# {{exercise 05.counterexample}}
#
# The program must make the score of the key that pays best *rise*, on average over all draws. Return
# numbers on which it makes this score **fall**:
#
# - `scores (n,)`, from which the probabilities come, at least two;
# - `reward (n,)`, what each key pays when it is drawn, with one key that pays more than all others;
# - `guess (n,)`, what each key is guessed to pay.
#
# You need not make draws. Every draw there can be is made for you, with `key = [0, 1, …, n - 1]` and
# `paid = reward`, and the estimates are weighed with their probabilities: the mean without any chance
# in it. The fall must be larger than 0.001.


# %% nbgrader={"grade": false, "grade_id": "counterexample", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.counterexample", "helpers": ["imports"]}
def counterexample():
    """Return scores, reward and guess (n,) on which the best key's score falls on average."""
    ### BEGIN SOLUTION
    return np.zeros(2), np.array([2.0, 1.0]), np.array([3.0, 1.0])
    ### END SOLUTION


# %%
check("05.counterexample", counterexample)

# %% nbgrader={"grade": true, "grade_id": "counterexample-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: whether the best key's score falls on your numbers.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.counterexample", counterexample, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ### 9b. Mend the program
#
# {{exercise 05.mended_estimates}}
#
# Write the program as it should be. Keep the guesses, but use them for a baseline that does not know
# which key was drawn: **the mean guess**, each guess weighed with the probability of its key. `scores`
# and `guess` are `(n,)`, `key` and `paid` are `(s,)`; return one estimate for each draw, `(s, n)`. You
# may use `softmax`. One of the two points is for the plain cases, one for a single draw, hidden keys
# (score `-inf`), large scores and float32.


# %% nbgrader={"grade": false, "grade_id": "mended-estimates", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.mended_estimates", "helpers": ["imports", "softmax"]}
def mended_estimates(scores, guess, key, paid):
    """Return estimates (s, n), with the mean guess over all keys as the baseline."""
    ### BEGIN SOLUTION
    probability = softmax(scores)  # (n,)
    one_hot = np.arange(len(scores)) == key[:, None]  # (s, n)
    baseline = probability @ guess  # one number for all draws
    return (paid - baseline)[:, None] * (one_hot - probability)  # (s, n)
    ### END SOLUTION


# %%
check("05.mended_estimates", mended_estimates)

# %% [markdown]
# The mean over every draw there can be, on numbers where the guesses are nearly right.

# %%
scores, reward = np.array([0.5, 0.0, -0.5]), np.array([1.0, 3.0, 2.0])
guess, every = np.array([1.1, 3.2, 1.9]), np.arange(3)
print("exact: ", library.exact_reward_gradient(scores, reward).round(3))
for name, program in {"faulty": faulty_estimates, "mended": mended_estimates}.items():
    print(f"{name}:", (softmax(scores) @ program(scores, guess, every, reward)).round(3))

# %% nbgrader={"grade": true, "grade_id": "mended-estimates-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the mended program, 1 point for the plain cases, 1 for a single draw, hidden keys, large scores and float32.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.mended_estimates", mended_estimates, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 10. The window of local-m
#
# {{exercise 05.local_m_mask}}
#
# Now the local forms. **Local-m** (monotonic) assumes that a translation runs in step with its source:
# query `i` may look at key `i` and at the keys at most `window` places away from it, before or after.
# Both are counted from their beginning.
#
# - `m` is the number of queries, `n` the number of keys, `window` a whole number, at least 0.
# - Return booleans of shape `(m, n)`, True where the query may look. With many more queries than keys,
#   the last queries see nothing: an empty row, no error.
#
# For example, `m = 2`, `n = 4` and `window = 1` give
# `[[True, True, False, False], [True, True, True, False]]`. One of the two points is for `m = n`, one
# for the rest. (Chapter 5: *Global, and three kinds of local*.)


# %% nbgrader={"grade": false, "grade_id": "local-m-mask", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.local_m_mask", "helpers": ["imports"]}
def local_m_mask(m, n, window):
    """Return the mask (m, n) that lets query i see the keys at most window away from key i."""
    ### BEGIN SOLUTION
    distance = np.abs(np.arange(m)[:, None] - np.arange(n))  # (m, n)
    return distance <= window
    ### END SOLUTION


# %%
check("05.local_m_mask", local_m_mask)

# %% nbgrader={"grade": true, "grade_id": "local-m-mask-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the window of local-m, 1 point for as many queries as keys, 1 for the rest.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.local_m_mask", local_m_mask, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 11. The weights of local-p
#
# {{exercise 05.local_p_weights}}
#
# **Local-p** (predictive) lets the network say where to look. For each query it predicts a centre $p$,
# any real number. With the window $D$,
#
# $$w_j = \operatorname{softmax}_{|j - p| \le D}(e_j) \cdot \exp\!\left(-\frac{(j - p)^2}{2 \sigma^2}\right), \qquad \sigma = \frac{D}{2}$$
#
# - `scores` is `(..., m, n)`, `centre` is `(..., m)`, `window` a number above 0. Keys are counted from
#   0.
# - Return the weights, `(..., m, n)`. The softmax goes over the keys inside the window only, edges
#   included; outside it the weight is 0. The product is **not** divided by its sum again.
# - A window may hold no key. Then all weights of the query are 0.
#
# You may use `softmax`. For example, the scores `[[0., 0., 0., 0.]]`, the centre `[1.]` and
# `window = 1` give about `[[0.045, 0.333, 0.045, 0.]]`: three keys with a third each, times the bell.
# Two of the four points are for the plain cases, two for edges, empty windows, leading axes, large
# scores and float32. (Chapter 5: *Global, and three kinds of local*.)


# %% nbgrader={"grade": false, "grade_id": "local-p-weights", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "05.local_p_weights", "helpers": ["imports", "softmax"]}
def local_p_weights(scores, centre, window):
    """Return weights (..., m, n) of scores (..., m, n) near each centre (..., m)."""
    ### BEGIN SOLUTION
    place = np.arange(scores.shape[-1], dtype=scores.dtype)  # (n,)
    distance = place - centre[..., None]  # (..., m, n)
    inside = np.abs(distance) <= window  # (..., m, n)
    lowest = np.finfo(scores.dtype).min  # finite: an empty window makes no NaN
    soft = softmax(np.where(inside, scores, lowest))  # (..., m, n)
    sigma = window / 2
    bell = np.exp(-(distance**2) / (2 * sigma**2))  # (..., m, n)
    return np.where(inside, soft, 0) * bell  # (..., m, n)
    ### END SOLUTION


# %%
check("05.local_p_weights", local_p_weights)

# %%
centre = np.array([1.0, 2.5, 6.0, 4.3])
weights = local_p_weights(np.random.default_rng(8).standard_normal((4, 8)), centre, 2)
print("sums of the rows:", weights.sum(axis=-1).round(2))
heat_map(
    weights,
    [f"centre {c:g}" for c in centre],
    [f"key {j}" for j in range(8)],
    title="Local-p, D = 2: your weights",
)

# %% nbgrader={"grade": true, "grade_id": "local-p-weights-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: the weights of local-p, 2 points for the plain cases, 2 for the rest.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("05.local_p_weights", local_p_weights, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 12. In your own words
#
# **3 points** · about 10 minutes · marked by a person
#
# Somebody trains a hard lookup among 1000 keys, of which one is right (reward 1) and all others are
# wrong (reward 0), with REINFORCE, one draw an example. Hardly anything is learnt. A friend says:
# *"Subtract a baseline, that takes the noise away."* Another says: *"Use straight-through, and training
# will be as cheap as before."* In four to six sentences, answer both.
#
# What is looked for, one point each:
#
# 1. why so little is learnt: what an estimate is when a wrong key was drawn, and how often the right
#    one is drawn at the start;
# 2. what a baseline takes away and why that is little here, though it never makes the mean wrong;
# 3. what straight-through gains (a slope from every example) and its two prices: the mean is off, and
#    all values are needed, not only the one that was drawn.

# %% [markdown] nbgrader={"grade": true, "grade_id": "in-your-own-words", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# At the start the right key is drawn about once in 1000 examples. Whenever a wrong key is drawn the
# reward is 0 and so is the estimate, so almost all examples teach nothing, and the rare one that does
# moves the scores a lot: right on average, and very noisy. A baseline takes away what all rewards have
# in common; here their mean is 0.001, so next to nothing is taken away, and the rare large estimates
# are as large as before. The mean stays right with any baseline that does not depend on the draw, but
# no baseline finds the right key. Straight-through gets a slope from every example, because it goes
# backwards as if all keys had been read. For that it needs all 1000 values, not only the one that was
# taken, so the training costs as much as that of soft attention; and its slope belongs to another
# function, so that even the mean of many estimates is off.
# ### END SOLUTION
