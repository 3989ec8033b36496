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
# # Assignment 2: a soft lookup
#
# A dictionary returns the value of the one key that matches. A *soft* lookup lets every key match a
# little: it compares the query with all keys, turns the scores into weights that sum to one, and
# returns the weighted sum of the values. Here you build it, piece by piece, as chapter 2, *A soft
# lookup*, tells it.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, and run the `check` below each. If a
# check does not pass it says what was expected, what came, and which known mistake it looks like.
# `hint("02.…", level=1)` prints a hint; levels 2 and 3 say more. A check sees results and not the way
# to them; where a text asks for a way (*without loops*), keep to it for your own sake.
#
# **How to hand in.** Restart the kernel, run all cells, save, and hand in this one file,
# `02_soft_lookup.ipynb`, under its own name.
#
# Shapes are written `(..., n, d)`: the last axes are named, and the dots stand for any number of
# leading axes, none included. There are `m` queries and `n` keys. Each answer stands by itself: it
# may not use what you wrote for another exercise.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
from attnkit import numpy as library
from attnkit.plot import curves
from coursekit.checks import check, hint

# %% [markdown]
# ## 1. Predict: how sharp is the lookup?
#
# {{exercise 02.predicted_sharpness}}
#
# Three keys have the scores 1, 2 and 3. Multiply all scores by a factor and take the softmax. How
# large is the largest of the three weights when the factor is 0, 1 and 10?
#
# Return your three guesses in that order, as an array of shape `(3,)`, each between 1/3 and 1. Guess
# before you compute anything: the point is for the guess, right or wrong. (Chapter 2: *From soft to
# hard, by one number*.)


# %% nbgrader={"grade": false, "grade_id": "predicted-sharpness", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "02.predicted_sharpness", "helpers": ["imports"]}
def predicted_sharpness():
    """Return three guesses, for the factors 0, 1 and 10."""
    ### BEGIN SOLUTION
    return np.array([0.34, 0.6, 0.9])
    ### END SOLUTION


# %%
check("02.predicted_sharpness", predicted_sharpness)

# %% [markdown]
# Now measure. Were you surprised?

# %%
for factor in (0, 1, 10):
    weights = library.softmax(factor * np.array([1.0, 2.0, 3.0]))
    print(f"factor {factor}: the largest weight is {weights.max():.5f}")

# %% nbgrader={"grade": true, "grade_id": "predicted-sharpness-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Graded: your guesses for the largest weight.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("02.predicted_sharpness", predicted_sharpness, points=1)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. By hand: look up among three words
#
# {{exercise 02.lookup_by_hand}}
#
# A decoder looks at the source words *I*, *love* and *AI*. Its query has these scores with them, and
# each word carries a value of two numbers:
#
# | word | score | value |
# |---|---|---|
# | I | ln 1 = 0 | (8, 0) |
# | love | ln 2 | (4, 4) |
# | AI | ln 5 | (0, 8) |
#
# With pencil and paper, work out the three weights (the softmax of the scores) and the context (the
# sum of the values, each times its weight). No calculator is needed.
#
# Return two arrays, `weights` of shape `(3,)` and `context` of shape `(2,)`, in this order. Three
# digits after the point are enough. (Chapter 2: *Three words, by hand*.)


# %% nbgrader={"grade": false, "grade_id": "lookup-by-hand", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "02.lookup_by_hand", "helpers": ["imports"]}
def lookup_by_hand():
    """Return the weights (3,) and the context (2,)."""
    ### BEGIN SOLUTION
    return np.array([0.125, 0.25, 0.625]), np.array([2.0, 6.0])
    ### END SOLUTION


# %%
check("02.lookup_by_hand", lookup_by_hand)

# %% nbgrader={"grade": true, "grade_id": "lookup-by-hand-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the numbers from your paper.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("02.lookup_by_hand", lookup_by_hand, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Softmax
#
# {{exercise 02.softmax}}
#
# Softmax turns the scores of a row into weights:
#
# $$w_i = \frac{e^{s_i}}{\sum_k e^{s_k}}$$
#
# - `scores` has shape `(..., n)`; each row along the last axis is turned by itself. Return weights
#   of the same shape.
# - Scores may be large: for `[1000., 1000.]` the result is `[0.5, 0.5]`, not NaN, and Python does not
#   warn. Rows may lie far apart.
# - If whole numbers come in, floats come out. Leave `scores` as they are.
#
# For example, `[0., np.log(3.)]` gives `[0.25, 0.75]`.
#
# Half of the points are for the formula, the other half for large scores, whole numbers and leading
# axes. (Chapter 2: *A softmax that does not overflow*.)


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "02.softmax", "helpers": ["imports"]}
def softmax(scores):
    """Return the weights (..., n) of scores (..., n) along the last axis."""
    ### BEGIN SOLUTION
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - highest)  # (..., n), at most 1
    return exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., n)
    ### END SOLUTION


# %%
check("02.softmax", softmax)

# %% nbgrader={"grade": true, "grade_id": "softmax-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: softmax, 1.5 points for the formula and 1.5 for large scores and leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("02.softmax", softmax, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. A soft lookup, by loops
#
# {{exercise 02.soft_lookup_loop}}
#
# Compare each query with every key by the dot product, take the softmax over the keys, and sum the
# values with these weights:
#
# $$\text{context}_i = \sum_j w_{ij}\,\text{value}_j, \qquad w_{ij} = \frac{e^{q_i \cdot k_j}}{\sum_l e^{q_i \cdot k_l}}$$
#
# - `query` is `(m, d_k)`, `key` is `(n, d_k)`, `value` is `(n, d_v)`; no leading axes here.
# - Return `(m, d_v)`: a row for each query. The dot product is not scaled.
# - Scores may be in the thousands and lie far apart. Whole numbers may come in; floats come out.
#
# For example, with the query `[[0., 0.]]` all keys score the same, so the result is the mean of the
# values.
#
# Write it with loops, as the formula reads. It is slow and easy to believe: a specification.


# %% nbgrader={"grade": false, "grade_id": "soft-lookup-loop", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "02.soft_lookup_loop", "helpers": ["imports"]}
def soft_lookup_loop(query, key, value):
    """Look up query (m, d_k) among key (n, d_k) and value (n, d_v); return (m, d_v)."""
    ### BEGIN SOLUTION
    context = np.zeros((len(query), value.shape[1]))
    for i in range(len(query)):
        scores = np.array([query[i] @ key[j] for j in range(len(key))])
        exponentials = np.exp(scores - scores.max())
        total = exponentials.sum()
        for j in range(len(key)):
            context[i] += exponentials[j] / total * value[j]
    return context
    ### END SOLUTION


# %%
check("02.soft_lookup_loop", soft_lookup_loop)

# %% nbgrader={"grade": true, "grade_id": "soft-lookup-loop-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the soft lookup by loops, on other numbers than the check's.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("02.soft_lookup_loop", soft_lookup_loop, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. A soft lookup, without loops
#
# {{exercise 02.soft_lookup}}
#
# The same without loops, and for any leading axes.
#
# - `query` is `(..., m, d_k)`, `key` is `(..., n, d_k)`, `value` is `(..., n, d_v)`, with equal
#   leading axes.
# - Return the context alone, `(..., m, d_v)`. The dot product is not scaled.
# - Scores may be in the thousands and lie far apart. Do not change the arguments.
#
# Two of the three points are for the plain cases, one for large scores and leading axes. (Chapter 2:
# *Query, key, value: score, softmax, weighted sum*.)


# %% nbgrader={"grade": false, "grade_id": "soft-lookup", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "02.soft_lookup", "helpers": ["imports"]}
def soft_lookup(query, key, value):
    """Look up query (..., m, d_k) among key (..., n, d_k), value (..., n, d_v)."""
    ### BEGIN SOLUTION
    scores = query @ np.swapaxes(key, -1, -2)  # (..., m, n)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., m, n)
    return weights @ value  # (..., m, d_v)
    ### END SOLUTION


# %%
check("02.soft_lookup", soft_lookup)

# %% nbgrader={"grade": true, "grade_id": "soft-lookup-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the soft lookup, 2 points for the plain cases, 1 for large scores and leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("02.soft_lookup", soft_lookup, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. Kernel regression
#
# {{exercise 02.kernel_regression}}
#
# Long before language models, statisticians estimated a curve from samples by a soft lookup: the
# place `x` is the query, the sampled places are the keys, the sampled heights are the values. The
# nearer a sample, the larger its weight:
#
# $$\text{estimate}(x) = \frac{\sum_j K(u_j)\, y_j}{\sum_j K(u_j)}, \qquad u_j = \frac{x - x_j}{\text{bandwidth}}$$
#
# | `kernel` | $K(u)$ |
# |---|---|
# | `"gaussian"` | $e^{-u^2/2}$ |
# | `"boxcar"` | 1 where $\lvert u \rvert \le 1$, else 0 |
# | `"triangular"` | $1 - \lvert u \rvert$ where that is positive, else 0 |
#
# - `x` is `(m,)`, `x_train` and `y_train` are `(n,)`, in any order; `kernel` is one of the three
#   names, `bandwidth` a positive number. Return `(m,)`.
# - Where no sample is near enough for `"boxcar"` or `"triangular"`, the estimate is 0: whoever has
#   nothing to look at gets nothing.
# - A gaussian is never 0. With a very narrow one the nearest sample takes all the weight; the result
#   is its value, not NaN and not 0.
#
# For example, at `x = [0.]` with samples at `[-1., 0.5, 3.]` of heights `[2., 4., 9.]`, a boxcar of
# bandwidth 1 gives `[3.]`.
#
# Half of the points are for the plain cases, the other half for edges, empty neighbourhoods and very
# narrow kernels. (Chapter 2: *Close enough: a weighted mean*.)


# %% nbgrader={"grade": false, "grade_id": "kernel-regression", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "02.kernel_regression", "helpers": ["imports"]}
def kernel_regression(x, x_train, y_train, kernel, bandwidth):
    """Estimate the curve through (x_train, y_train) at each x (m,); return (m,)."""
    ### BEGIN SOLUTION
    u = np.abs(x[:, None] - x_train) / bandwidth  # (m, n)
    if kernel == "gaussian":
        nearest = (u**2).min(axis=1, keepdims=True)  # (m, 1)
        k = np.exp((nearest - u**2) / 2)  # the nearest sample has 1, whatever the bandwidth
    elif kernel == "boxcar":
        k = np.where(u <= 1, 1.0, 0.0)
    else:
        k = np.maximum(1 - u, 0.0)
    total = k.sum(axis=1)  # (m,)
    return k @ y_train / np.where(total > 0, total, 1.0)
    ### END SOLUTION


# %%
check("02.kernel_regression", kernel_regression)

# %% [markdown]
# Look at what the bandwidth does. Which curve would you trust, and why?

# %%
generator = np.random.default_rng(2)
x_train = np.sort(generator.uniform(0, 6, 30))
y_train = np.sin(x_train) + 0.2 * generator.standard_normal(30)
x = np.linspace(0, 6, 121)
curves(
    x,
    {
        f"bandwidth {h}": kernel_regression(x, x_train, y_train, "gaussian", h)
        for h in (0.1, 0.5, 2.0)
    },
    x_label="x",
    y_label="estimate",
    points={"samples": (x_train, y_train)},
)

# %% nbgrader={"grade": true, "grade_id": "kernel-regression-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: kernel regression, 2 points for the plain cases, 2 for edges and narrow kernels.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("02.kernel_regression", kernel_regression, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. The Jacobian of softmax
#
# {{exercise 02.softmax_jacobian}}
#
# If one score rises a little, what do the weights do? The answer is a matrix, the *Jacobian*: its
# entry $[i, j]$ is $\partial w_i / \partial s_j$, how weight $i$ changes with score $j$. It can be
# computed from the weights alone.
#
# - `weights` has shape `(..., n)`: rows that are the result of a softmax.
# - Return an array of shape `(..., n, n)`, one matrix for each row of weights.
#
# For example, `[0.5, 0.5]` gives `[[0.25, -0.25], [-0.25, 0.25]]`.
#
# Two of the three points are for one row of weights, one for leading axes. (Chapter 2: *What moves
# when a score moves*.)


# %% nbgrader={"grade": false, "grade_id": "softmax-jacobian", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "02.softmax_jacobian", "helpers": ["imports"]}
def softmax_jacobian(weights):
    """Return the matrices (..., n, n) of d weights[i] / d scores[j] for weights (..., n)."""
    ### BEGIN SOLUTION
    diagonal = weights[..., :, None] * np.eye(weights.shape[-1])  # (..., n, n)
    product = weights[..., :, None] * weights[..., None, :]  # (..., n, n)
    return diagonal - product
    ### END SOLUTION


# %%
check("02.softmax_jacobian", softmax_jacobian)

# %% [markdown]
# A derivative can always be tested: move one score by a little and see what happens.

# %%
scores, step = np.array([0.5, -1.0, 2.0]), 1e-6
moved = [
    (library.softmax(scores + step * e) - library.softmax(scores - step * e)) for e in np.eye(3)
]
measured = np.stack(moved, axis=-1) / (2 * step)
print(
    "measured:",
    measured.round(4),
    "computed:",
    softmax_jacobian(library.softmax(scores)).round(4),
    sep="\n",
)

# %% nbgrader={"grade": true, "grade_id": "softmax-jacobian-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the Jacobian, 2 points for one row of weights, 1 for leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("02.softmax_jacobian", softmax_jacobian, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 8. A program with a fault
#
# When all scores are equal, a soft lookup is a mean: the simplest way to make one vector out of a
# sentence. Sentences differ in length, so a mask `keep` says which rows are words (True) and which
# are padding (False). Someone reports that short sentences "come out too small".


# %% nbgrader={"grade": false, "grade_id": "faulty-mean-value", "locked": true, "schema_version": 3, "solution": false, "task": false}
def faulty_mean_value(value, keep):
    """Mean of those rows of value (n, d_v) that keep (n,) marks True. Something is wrong here."""
    kept = np.where(keep[:, None], value, 0.0)  # (n, d_v)
    return kept.mean(axis=0)  # (d_v,)


# %% [markdown]
# ### 8a. Find numbers on which the fault shows
#
# {{exercise 02.counterexample}}
#
# A test needs data on which right and wrong programs differ. Return such data: `value`, a table of
# numbers of shape `(n, d_v)`, and `keep`, an array of `n` times True or False, so that
# `faulty_mean_value(value, keep)` returns a wrong mean.


# %% nbgrader={"grade": false, "grade_id": "counterexample", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "02.counterexample", "helpers": ["imports"]}
def counterexample():
    """Return value (n, d_v) and keep (n,) on which the faulty program gives a wrong mean."""
    ### BEGIN SOLUTION
    return np.array([[1.0], [3.0], [0.0]]), np.array([True, True, False])
    ### END SOLUTION


# %%
check("02.counterexample", counterexample)

# %% nbgrader={"grade": true, "grade_id": "counterexample-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: whether the fault shows on your numbers.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("02.counterexample", counterexample, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ### 8b. Mend the program
#
# {{exercise 02.mean_value}}
#
# Write the program as it should be, and for any leading axes.
#
# - `value` is `(..., n, d_v)`, `keep` is `(..., n)` and holds True where a row counts.
# - Return the mean of the rows that count, `(..., d_v)`. Where no row counts, return 0.
# - Whatever stands in the other rows has no influence, NaN and infinity included.
# - If whole numbers come in, floats come out. Do not change the arguments.
#
# Half of the points are for the plain cases, the other half for nothing kept, NaN in the padding,
# whole numbers and leading axes.


# %% nbgrader={"grade": false, "grade_id": "mean-value", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "02.mean_value", "helpers": ["imports"]}
def mean_value(value, keep):
    """Return the mean (..., d_v) of those rows of value (..., n, d_v) that keep (..., n) marks."""
    ### BEGIN SOLUTION
    kept = np.where(keep[..., None], value, 0.0)  # (..., n, d_v)
    count = np.maximum(keep.sum(axis=-1), 1)  # (...), at least 1: then 0 / 1 and not 0 / 0
    return kept.sum(axis=-2) / count[..., None]  # (..., d_v)
    ### END SOLUTION


# %%
check("02.mean_value", mean_value)

# %% nbgrader={"grade": true, "grade_id": "mean-value-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the mended program, 1 point for the plain cases, 1 for padding, whole numbers and leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("02.mean_value", mean_value, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 9. In your own words
#
# **3 points** · about 10 minutes · marked by a person
#
# "A soft lookup is just a slower dictionary that never gives a clean answer." In four to six
# sentences, say what a soft lookup can do that a dictionary cannot, and what it costs.
#
# What is looked for, one point each:
#
# 1. that a soft lookup answers queries that match no key exactly, with an example;
# 2. that its result changes smoothly with query, keys and values, so that it can be trained by
#    gradients, and that a hard choice cannot;
# 3. a cost: what has to be computed for every query, or what is lost when values are mixed.

# %% [markdown] nbgrader={"grade": true, "grade_id": "in-your-own-words", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# A dictionary answers only when a key matches exactly; a soft lookup compares the query with every
# key and answers by how well each fits. Asked for a height between two samples, kernel regression
# mixes the samples near by, where a dictionary has nothing to say. The result is a smooth function of
# query, keys and values. The Jacobian above is not zero, so a loss can tell the query how to change,
# and where to look can be learnt by gradient descent. The choice of a single best key jumps, and its
# derivative is zero wherever it does not jump. The price is that every query has to meet all `n`
# keys, and that the answer is a mixture: with flat weights it is a mean that is nobody's value.
# ### END SOLUTION
