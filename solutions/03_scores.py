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
# # Assignment 3: scores and scaling
#
# A query looks at keys. Before any softmax, a *score* says how well each key answers the query.
# Here you write the three scores of chapter 3, *Scores and scaling*, measure why one of them is
# divided by a square root, and find the fault in a small program.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, and run the `check` below each.
# If a check does not pass it says what was expected, what came, and which known mistake it looks
# like. `hint("03.…", level=1)` prints a hint; levels 2 and 3 say more. A check sees results and not
# the way to them; where a text asks for a way (*without loops*), keep to it for your own sake.
#
# **How to hand in.** Restart the kernel, run all cells, save, and hand in this one file,
# `03_scores.ipynb`, under its own name.
#
# Shapes are written `(..., m, d)`: the last two axes are named, and the dots stand for any number
# of leading axes, none included. There are `m` queries and `n` keys.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
from attnkit import numpy as library
from attnkit.plot import curves
from coursekit.checks import check, hint

# %% [markdown]
# ## 1. Predict: how large is the largest weight?
#
# {{exercise 03.predicted_largest_weight}}
#
# One query meets 16 keys. All components are random numbers of mean 0 and variance 1, and the
# score is the plain dot product, *not* scaled. Softmax turns the 16 scores into 16 weights that
# sum to one. How large is the largest of them, on average, when the width `d_k` is 2, 64 and 2048?
#
# Return your three guesses in that order, as an array of shape `(3,)`, each between 1/16 and 1.
# Guess before you run anything: the point is for the guess, right or wrong. (Chapter 3: *What large
# scores do to softmax*.)


# %% nbgrader={"grade": false, "grade_id": "predicted-largest-weight", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "03.predicted_largest_weight", "helpers": ["imports"]}
def predicted_largest_weight():
    """Return three guesses, for d_k = 2, 64 and 2048."""
    ### BEGIN SOLUTION
    return np.array([0.4, 0.9, 0.99])
    ### END SOLUTION


# %%
check("03.predicted_largest_weight", predicted_largest_weight)

# %% [markdown]
# Now measure. Were you surprised?

# %%
generator = np.random.default_rng(3)
for width in (2, 64, 2048):
    one_query = generator.standard_normal((100, 1, width))
    sixteen_keys = generator.standard_normal((100, 16, width))
    weights = library.softmax(library.dot_scores(one_query, sixteen_keys))
    print(
        f"d_k = {width}: the largest of 16 weights is {weights.max(axis=-1).mean():.2f} on average"
    )

# %% nbgrader={"grade": true, "grade_id": "predicted-largest-weight-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Graded: your guesses for the largest weight.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("03.predicted_largest_weight", predicted_largest_weight, points=1)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. By hand: three scores of one pair
#
# {{exercise 03.scores_by_hand}}
#
# One query, $q = (1, 2, 0, -1)$, and one key, $k = (2, 1, 3, 2)$. With pencil and paper, work out
#
# 1. the dot product $q \cdot k$,
# 2. the scaled dot product $q \cdot k / \sqrt{d_k}$,
# 3. the general score $q\,W k^\top$, where $W$ swaps the first two components:
#
# $$W = \begin{pmatrix} 0&1&0&0 \\ 1&0&0&0 \\ 0&0&1&0 \\ 0&0&0&1 \end{pmatrix}$$
#
# Return the three numbers in this order, as an array of shape `(3,)`. (Chapter 3: *Four ways to say
# how well a key fits*.)


# %% nbgrader={"grade": false, "grade_id": "scores-by-hand", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "03.scores_by_hand", "helpers": ["imports"]}
def scores_by_hand():
    """Return the dot, the scaled dot and the general score."""
    ### BEGIN SOLUTION
    return np.array([2.0, 1.0, 3.0])
    ### END SOLUTION


# %%
check("03.scores_by_hand", scores_by_hand)

# %% nbgrader={"grade": true, "grade_id": "scores-by-hand-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the numbers from your paper.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("03.scores_by_hand", scores_by_hand, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Scaled dot-product scores, by loops
#
# {{exercise 03.scaled_dot_scores_loop}}
#
# The same score for every query and every key, written as the formula reads, one number at a time:
#
# $$\text{scores}_{ij} = \frac{1}{\sqrt{d_k}} \sum_{c} \text{query}_{ic}\,\text{key}_{jc}$$
#
# - `query` has shape `(m, d_k)` and `key` has shape `(n, d_k)`; no leading axes here.
# - Return an array of shape `(m, n)`: a row for each query, a column for each key.
# - The numbers are floats; if whole numbers come in, floats come out. Leave `query` and `key` as
#   they are.
#
# For example, the query `[[1, 2, 0, -1]]` and the keys `[[2, 1, 3, 2], [4, 0, 0, 0]]` give
# `[[1., 2.]]`.
#
# This slow version is a specification: it is so close to the formula that you can see it is right.


# %% nbgrader={"grade": false, "grade_id": "scaled-dot-scores-loop", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "03.scaled_dot_scores_loop", "helpers": ["imports"]}
def scaled_dot_scores_loop(query, key):
    """Score query (m, d_k) against key (n, d_k) by loops; return (m, n)."""
    ### BEGIN SOLUTION
    d_k = query.shape[1]
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            total = 0.0
            for c in range(d_k):
                total += query[i, c] * key[j, c]
            scores[i, j] = total / np.sqrt(d_k)
    return scores
    ### END SOLUTION


# %%
check("03.scaled_dot_scores_loop", scaled_dot_scores_loop)

# %% nbgrader={"grade": true, "grade_id": "scaled-dot-scores-loop-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: scaled dot-product scores by loops, on other numbers than the check's.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("03.scaled_dot_scores_loop", scaled_dot_scores_loop, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. Scaled dot-product scores, without loops
#
# {{exercise 03.scaled_dot_scores}}
#
# The same scores without any loop, and for any leading axes.
#
# - `query` has shape `(..., m, d_k)` and `key` has shape `(..., n, d_k)`. Their leading axes are
#   equal, or broadcast as NumPy's do: a batch of queries may share one set of keys.
# - Return an array of shape `(..., m, n)`.
# - Do not change `query` or `key`.
#
# Half of the points are for two axes, the other half for leading axes. (Chapter 3: *Four ways to say
# how well a key fits*.)


# %% nbgrader={"grade": false, "grade_id": "scaled-dot-scores", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "03.scaled_dot_scores", "helpers": ["imports"]}
def scaled_dot_scores(query, key):
    """Score query (..., m, d_k) against key (..., n, d_k); return (..., m, n)."""
    ### BEGIN SOLUTION
    d_k = query.shape[-1]
    return query @ np.swapaxes(key, -1, -2) / np.sqrt(d_k)  # (..., m, n)
    ### END SOLUTION


# %%
check("03.scaled_dot_scores", scaled_dot_scores)

# %% nbgrader={"grade": true, "grade_id": "scaled-dot-scores-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: scaled dot-product scores, 2 points for two axes and 2 for leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("03.scaled_dot_scores", scaled_dot_scores, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. General scores
#
# {{exercise 03.general_scores}}
#
# Luong's *general* score puts a learnt matrix between query and key, so that their widths may
# differ:
#
# $$\text{scores}_{ij} = \text{query}_i \, W \, \text{key}_j^\top$$
#
# - `query` is `(..., m, d_q)`, `key` is `(..., n, d_k)`, `weight` is `(d_q, d_k)`.
# - Return `(..., m, n)`. There is no scale. (Chapter 3: *Four ways to say how well a key fits*.)
#
# For example, query `[[1., 2.]]`, key `[[1., 0., 0.], [0., 0., 1.]]` and weight
# `[[1., 0., 3.], [2., 0., 0.]]` give `[[5., 3.]]`.


# %% nbgrader={"grade": false, "grade_id": "general-scores", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "03.general_scores", "helpers": ["imports"]}
def general_scores(query, key, weight):
    """Score query (..., m, d_q) against key (..., n, d_k) through weight (d_q, d_k)."""
    ### BEGIN SOLUTION
    projected = query @ weight  # (..., m, d_k)
    return projected @ np.swapaxes(key, -1, -2)  # (..., m, n)
    ### END SOLUTION


# %%
check("03.general_scores", general_scores)

# %% nbgrader={"grade": true, "grade_id": "general-scores-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: general scores, 2 points for two axes and 1 for leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("03.general_scores", general_scores, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. Additive scores
#
# {{exercise 03.additive_scores}}
#
# Bahdanau's *additive* score asks a small network with one hidden layer of width `d_a`:
#
# $$\text{scores}_{ij} = \tanh(\text{query}_i W_q + \text{key}_j W_k) \cdot v$$
#
# - `query` is `(..., m, d_q)`, `key` is `(..., n, d_k)`; the widths may differ.
# - `w_query` is `(d_q, d_a)`, `w_key` is `(d_k, d_a)`, `v` is `(d_a,)`.
# - Return `(..., m, n)`, without loops over queries and keys if you can. There is no scale.
#
# For example, query `[[0.]]`, key `[[0.], [100.]]`, `w_query` `[[1., 1.]]`, `w_key` `[[1., -1.]]`
# and `v` `[2., 1.]` give `[[0., 1.]]`. (Chapter 3: *The additive score, written in two ways*.)


# %% nbgrader={"grade": false, "grade_id": "additive-scores", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "03.additive_scores", "helpers": ["imports"]}
def additive_scores(query, key, w_query, w_key, v):
    """Score query (..., m, d_q) against key (..., n, d_k) by a small network; return (..., m, n)."""
    ### BEGIN SOLUTION
    from_query = query @ w_query  # (..., m, d_a)
    from_key = key @ w_key  # (..., n, d_a)
    hidden = np.tanh(from_query[..., :, None, :] + from_key[..., None, :, :])  # (..., m, n, d_a)
    return hidden @ v  # (..., m, n)
    ### END SOLUTION


# %%
check("03.additive_scores", additive_scores)

# %% nbgrader={"grade": true, "grade_id": "additive-scores-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: additive scores, 3 points for two axes and 1 for leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("03.additive_scores", additive_scores, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. The variance experiment
#
# {{exercise 03.score_variances}}
#
# Why $\sqrt{d_k}$? Measure it. You are handed random components and measure how much dot products
# vary, for several widths.
#
# - `components` has shape `(2, samples, width_max)`: `components[0]` are the queries and
#   `components[1]` the keys. Query `i` meets only key `i`.
# - `widths` is an array of whole numbers, none larger than `width_max`. For a width `d`, use only
#   the first `d` components of each query and key.
# - Return an array of shape `(len(widths), 2)`: for each width the variance over the samples of
#   the dot products, and of the scaled dot products (divided by the square root of `d`).
# - The variance is the mean squared distance from the mean (`ddof=0`, NumPy's default).
#
# For example, with the queries `[[1., 1.], [1., 3.]]`, the keys `[[2., 0.], [4., 1.]]` and widths
# `[1, 2]`, the dot products are 2 and 4, then 2 and 7; the result is `[[1., 1.], [6.25, 3.125]]`.
# (Chapter 3: *How large is a dot product?*)


# %% nbgrader={"grade": false, "grade_id": "score-variances", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "03.score_variances", "helpers": ["imports"]}
def score_variances(components, widths):
    """Return the variances (len(widths), 2) of dot and scaled dot products of matching pairs."""
    ### BEGIN SOLUTION
    query, key = components
    rows = []
    for width in widths:
        dots = (query[:, :width] * key[:, :width]).sum(axis=-1)  # (samples,)
        rows.append([dots.var(), (dots / np.sqrt(width)).var()])
    return np.array(rows)  # (len(widths), 2)
    ### END SOLUTION


# %%
check("03.score_variances", score_variances)

# %% [markdown]
# Run the experiment with your function. What does the picture say about the claim that the
# variance of $q \cdot k$ is $d_k$?

# %%
widths = np.array([2, 8, 32, 128, 512])
variances = score_variances(np.random.default_rng(3).standard_normal((2, 2000, 512)), widths)
curves(
    widths,
    {"dot": variances[:, 0], "scaled dot": variances[:, 1]},
    x_label="width d_k",
    y_label="variance of the score",
    x_scale="log",
    y_scale="log",
)

# %% nbgrader={"grade": true, "grade_id": "score-variances-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the variance experiment, on other components than the check's.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("03.score_variances", score_variances, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 8. A program with a fault
#
# This program is meant to show what scaling does: it returns the attention weights before and
# after the scores are divided by $\sqrt{d_k}$, to be compared side by side. Someone reports that
# scaling "makes no difference at all". The program is wrong, and it does not say so.


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
def softmax(scores):
    """Weights along the last axis: positive, and they sum to one."""
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - highest)  # (..., n), at most 1: nothing overflows
    return exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., n)


# %% nbgrader={"grade": false, "grade_id": "faulty-before-and-after", "locked": true, "schema_version": 3, "solution": false, "task": false}
def faulty_before_and_after(scores, d_k):
    """Weights before and after scaling, to be compared side by side. Something is wrong here."""
    scaled = scores
    scaled /= np.sqrt(d_k)  # (..., m, n)
    before = softmax(scores)  # (..., m, n)
    after = softmax(scaled)  # (..., m, n)
    return before, after


# %% [markdown]
# ### 8a. Find numbers on which the fault shows
#
# {{exercise 03.counterexample}}
#
# A test needs data on which right and wrong programs differ. Return such data: `scores`, a table
# of floats of shape `(m, n)`, and `d_k`, a positive number, so that
# `faulty_before_and_after(scores, d_k)` runs without an error and yet returns wrong weights.


# %% nbgrader={"grade": false, "grade_id": "counterexample", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "03.counterexample", "helpers": ["imports"]}
def counterexample():
    """Return scores (m, n) and d_k on which the faulty program gives wrong weights."""
    ### BEGIN SOLUTION
    return np.array([[0.0, 2.0, 4.0]]), 4
    ### END SOLUTION


# %%
check("03.counterexample", counterexample)

# %% nbgrader={"grade": true, "grade_id": "counterexample-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: whether the fault shows on your numbers.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("03.counterexample", counterexample, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ### 8b. Mend the program
#
# {{exercise 03.weights_before_and_after}}
#
# Write the program as it should be.
#
# - `scores` has shape `(..., m, n)` and holds floats or whole numbers; `d_k` is a positive number.
# - Return two arrays of the same shape, `before` and `after`: the softmax of the scores, and the
#   softmax of the scores divided by $\sqrt{d_k}$.
# - The caller's `scores` must be the same afterwards. You may use the given `softmax`.


# %% nbgrader={"grade": false, "grade_id": "weights-before-and-after", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "03.weights_before_and_after", "helpers": ["imports", "softmax"]}
def weights_before_and_after(scores, d_k):
    """Return the weights before and after scaling, each of the shape of scores."""
    ### BEGIN SOLUTION
    return softmax(scores), softmax(scores / np.sqrt(d_k))
    ### END SOLUTION


# %%
check("03.weights_before_and_after", weights_before_and_after)

# %% nbgrader={"grade": true, "grade_id": "weights-before-and-after-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the mended program, 1 point for the weights, 1 for whole numbers and untouched scores.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("03.weights_before_and_after", weights_before_and_after, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 9. In your own words
#
# **3 points** · about 10 minutes · marked by a person
#
# A friend leaves out the division by $\sqrt{d_k}$ and says: "the weights still sum to one, so
# nothing is lost". In four to six sentences, explain what is lost when `d_k` is large.
#
# What is looked for, one point each:
#
# 1. that the variance of an unscaled score grows in proportion to `d_k`, with the reason;
# 2. what this does to the softmax, with a number from this notebook;
# 3. what this does to the gradient, and therefore to training.

# %% [markdown] nbgrader={"grade": true, "grade_id": "in-your-own-words", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# A score is a sum of `d_k` products of independent components with mean 0 and variance 1. Each
# product has variance 1 and variances of independent terms add up, so the score has variance
# `d_k`. With wide vectors the scores of different keys therefore lie far apart, and softmax gives
# nearly all the weight to one key: at `d_k = 2048` the largest of 16 weights was close to 1 on
# average in the first experiment. The entries of the softmax Jacobian are `w_i (δ_ij − w_j)`; when
# every weight is near 0 or 1 they are all near 0. Hardly any gradient reaches query and key, so the
# model cannot learn where to look. Dividing by `√d_k` brings the variance back to 1 at any width.
# ### END SOLUTION
