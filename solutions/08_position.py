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
# # Assignment 8: position
#
# Attention looks things up by what they are, not by where they stand. Here you write what tells it
# where: the table of sines, a table of distances (in NumPy, then as a torch module that learns), the
# slopes of ALiBi, and rotary positions; and you find a fault that never raises an error. Chapter 8,
# *Position*, tells the story.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, and run the `check` below each. If a
# check does not pass it says what was expected, what came, and which known mistake it looks like.
# `hint("08.…", level=1)` prints a hint; levels 2 and 3 say more.
#
# **How to hand in.** Restart the kernel, run all cells, save, and hand in this one file,
# `08_position.ipynb`, under its own name.
#
# There are `m` queries and `n` keys. Where `m` and `n` differ, the queries are the **last** `m` of the
# `n` positions, so query `i` stands at position `i + n - m`. A **distance** is the position of the key
# minus that of the query: a key *before* its query has a negative one. The dots in `(..., m, d)` stand
# for any number of leading axes, none included. Each answer stands by itself: it may use the locked
# cells that its text names, but not what you wrote for another exercise.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "imports-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch

# %% nbgrader={"grade": false, "grade_id": "tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
from attnkit import numpy as library
from attnkit.plot import curves, heat_map
from coursekit.checks import check, hint

# %% [markdown]
# ## 1. Predict: how alike are two places?
#
# {{exercise 08.predicted_likeness}}
#
# The sinusoidal table gives each position a row. With a width of 64 a row is like a clock with 32 hands,
# of which the fastest goes round once in 6 positions and the slowest once in 47 000. Call *likeness* of
# two rows their dot product divided by 32, which is that of a row with itself: 1 means equal, 0 means that they
# have nothing to do with each other, -1 means opposite. How alike are the rows of two positions that are
#
# 1. 1 apart,
# 2. 10 apart,
# 3. 100 apart?
#
# Return your three guesses in that order, as an array of shape `(3,)`, each between -1 and 1. Guess
# before you run anything: the point is for the guess, right or wrong. (Chapter 8: *Sines: a clock with
# many hands*)


# %% nbgrader={"grade": false, "grade_id": "predicted-likeness", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "08.predicted_likeness", "helpers": ["imports"]}
def predicted_likeness():
    """Return three guesses: how alike are rows 1, 10 and 100 positions apart?"""
    ### BEGIN SOLUTION
    return np.array([0.9, 0.5, 0.1])
    ### END SOLUTION


# %%
check("08.predicted_likeness", predicted_likeness)

# %% [markdown]
# Now measure, at every distance up to 200. Were you surprised?

# %%
rows = library.sinusoidal_positions(201, 64)  # (201, 64)
likeness = rows @ rows[0] / 32  # (201,), the distance from position 0

for distance in (1, 10, 100):
    print(f"{distance} apart: {likeness[distance]:.2f}")

curves(
    np.arange(201),
    {"measured": likeness},
    points={"your guesses": (np.array([1, 10, 100]), predicted_likeness())},
    x_label="distance",
    y_label="likeness",
    title="How alike are two rows of the sinusoidal table?",
)

# %% nbgrader={"grade": true, "grade_id": "predicted-likeness-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Graded: your guesses for the likeness of two places.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("08.predicted_likeness", predicted_likeness, points=1)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. By hand: count the rows
#
# {{exercise 08.rows_by_hand}}
#
# A *relative* scheme keeps a table with a row for each distance, the smallest distance first, rows
# counted from 0. With pencil and paper, find
#
# 1. how many rows a table needs for sequences of up to 6 tokens, if every distance has a row of its own,
# 2. which row of *this* table belongs to distance 0, when the sequence at hand has only 4 tokens,
# 3. how many rows a table needs if distances beyond 3, on either side, count as 3 (the *clip* is 3),
# 4. which row of this second table a key reads that stands 5 before its query,
# 5. which row of it a key reads that stands 2 after its query,
# 6. what ALiBi adds to the score of a key that stands 32 before its query, in the third of four heads. The
#    slope of head $h$ (counted from 1) of $H$ is $2^{-8h/H}$, and what is added is minus slope times
#    distance, the distance without its sign.
#
# Return the six numbers in this order, as an array of shape `(6,)`.


# %% nbgrader={"grade": false, "grade_id": "rows-by-hand", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "08.rows_by_hand", "helpers": ["imports"]}
def rows_by_hand():
    """Return the six numbers in the order of the questions."""
    ### BEGIN SOLUTION
    return np.array([11, 5, 7, 0, 5, -0.5])
    ### END SOLUTION


# %%
check("08.rows_by_hand", rows_by_hand)

# %% nbgrader={"grade": true, "grade_id": "rows-by-hand-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the numbers from your paper.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("08.rows_by_hand", rows_by_hand, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. The sinusoidal table
#
# {{exercise 08.sinusoidal_positions}}
#
# Position $p$, counted from 0, gets a row of pairs; pair $i$ is a sine and a cosine of the same angle:
#
# $$\mathrm{PE}_{p,\,2i} = \sin\!\left(\frac{p}{10000^{2i/d_\text{model}}}\right), \qquad \mathrm{PE}_{p,\,2i+1} = \cos\!\left(\frac{p}{10000^{2i/d_\text{model}}}\right), \qquad i = 0, \dots, \frac{d_\text{model}}{2} - 1$$
#
# - `length` is the number of positions, 0 or more; `d_model` is an even width.
# - Return the table, `(length, d_model)`, in float64. No loop is needed.
#
# For example, `length = 2` and `d_model = 2` give `[[0., 1.], [0.8415, 0.5403]]`. Two of the three points
# are for plain cases, one for hundreds of positions, one or none. (Chapter 8: *Sines: a clock with many
# hands*)


# %% nbgrader={"grade": false, "grade_id": "sinusoidal-positions", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "08.sinusoidal_positions", "helpers": ["imports"]}
def sinusoidal_positions(length, d_model):
    """Return a row of sines and cosines for each position, (length, d_model)."""
    ### BEGIN SOLUTION
    frequency = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)  # (d_model / 2,)
    angle = np.arange(length)[:, None] * frequency  # (length, d_model / 2)
    table = np.zeros((length, d_model))
    table[:, 0::2] = np.sin(angle)
    table[:, 1::2] = np.cos(angle)
    return table
    ### END SOLUTION


# %%
check("08.sinusoidal_positions", sinusoidal_positions)

# %% [markdown]
# Four of its columns: a sine and its cosine, and two slower sines.

# %%
table = sinusoidal_positions(64, 16)
curves(
    np.arange(64),
    {f"column {column}": table[:, column] for column in (0, 1, 4, 6)},
    x_label="position",
    y_label="number in the table",
    title="Four columns of the sinusoidal table",
)

# %% nbgrader={"grade": true, "grade_id": "sinusoidal-positions-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the table, 2 points for plain cases, 1 for hundreds of positions, one or none.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("08.sinusoidal_positions", sinusoidal_positions, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. The relative index
#
# {{exercise 08.relative_index}}
#
# Which row of a table of distances does each pair of query and key read? Distances beyond `clip`, on either
# side, count as `clip`. So the table has `2 * clip + 1` rows: row 0 for keys that stand `clip` or more before
# the query, row `clip` for the query's own position, row `2 * clip` for keys that stand `clip` or more after it.
#
# - `m` is the number of queries, `n` the number of keys, `clip` 0 or more. The queries are the last `m` of
#   the `n` positions; if there are more queries than keys, the first ones stand before all keys.
# - Return whole numbers, `(m, n)`.
#
# For example, `m = 2`, `n = 3` and `clip = 1` give `[[0, 1, 2], [0, 0, 1]]`: the first of the two queries
# stands at the second key. Two of the three points are for `m = n`, one for the rest. (Chapter 8: *Shaw: a
# row for each distance*)


# %% nbgrader={"grade": false, "grade_id": "relative-index", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "08.relative_index", "helpers": ["imports"]}
def relative_index(m, n, clip):
    """Return the row (m, n) of a table of 2 * clip + 1 distances that each pair reads."""
    ### BEGIN SOLUTION
    query = np.arange(m)[:, None] + (n - m)  # (m, 1)
    key = np.arange(n)  # (n,)
    return np.clip(key - query, -clip, clip) + clip  # (m, n)
    ### END SOLUTION


# %%
check("08.relative_index", relative_index)

# %% nbgrader={"grade": true, "grade_id": "relative-index-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the relative index, 2 points for as many queries as keys, 1 for clip 0, fewer or more.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("08.relative_index", relative_index, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. A vector for each distance, by a loop
#
# {{exercise 08.relative_scores_loop}}
#
# In the scheme of Shaw, Uszkoreit and Vaswani the table holds a vector for each distance, which is added to the
# key. The score of query $i$ and key $j$ is
#
# $$e_{ij} = \frac{q_i \cdot (k_j + a_{j-i})}{\sqrt{d}}$$
#
# - `query` and `key` are `(T, d)`, from one sentence of `T` words. `table` is `(2 * clip + 1, d)`; how large
#   `clip` is, its number of rows tells. Distance 0 has the middle row, and distances that the table does not
#   have count as the farthest on their side.
# - Return the scores, `(T, T)`. Leave the arguments as they are.
#
# For example, `query = [[1.], [1.]]`, `key = [[0.], [0.]]` and `table = [[1.], [2.], [3.]]` give
# `[[2., 3.], [1., 2.]]`. One of the two points is for sentences that fit the table, one for the others.
# This slow version is a specification. (Chapter 8: *Shaw: a row for each distance*)


# %% nbgrader={"grade": false, "grade_id": "relative-scores-loop", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "08.relative_scores_loop", "helpers": ["imports"]}
def relative_scores_loop(query, key, table):
    """Return the scores (T, T) of words and distances, one pair at a time."""
    ### BEGIN SOLUTION
    n_words, width = query.shape
    clip = len(table) // 2
    scores = np.zeros((n_words, n_words))
    for i in range(n_words):
        for j in range(n_words):
            distance = min(max(j - i, -clip), clip)
            vector = table[distance + clip]  # (d,)
            scores[i, j] = query[i] @ (key[j] + vector) / np.sqrt(width)
    return scores
    ### END SOLUTION


# %%
check("08.relative_scores_loop", relative_scores_loop)

# %% nbgrader={"grade": true, "grade_id": "relative-scores-loop-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the loop, 1 point for sentences that fit the table, 1 for the others.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("08.relative_scores_loop", relative_scores_loop, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. A table of distances that learns
#
# {{exercise 08.relative_scores_module}}
#
# The same as a torch module, for batches, and for queries that are the last of the positions. Write a module:
#
# - `RelativeScores(d_head, clip)` has one parameter, a `torch.nn.Parameter` called `table`, of shape
#   `(2 * clip + 1, d_head)`. Begin it with any numbers.
# - `forward(query, key)` takes `query (B, m, d_head)` and `key (B, n, d_head)` and returns the scores alone,
#   `(B, m, n)`, by the formula of the loop. The queries are the last `m` of the `n` positions.
#
# Two of the five points are for as many queries as keys, forwards and backwards; three for fewer or more, for
# small and large tables, and float32. Your module is built, loaded with a table, run, and differentiated.


# %% nbgrader={"grade": false, "grade_id": "relative-scores-module", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "08.relative_scores_module", "helpers": ["imports-torch"]}
class RelativeScores(torch.nn.Module):
    """Scores (B, m, n) from query (B, m, d_head), key (B, n, d_head) and a table of distances."""

    def __init__(self, d_head, clip):
        ### BEGIN SOLUTION
        super().__init__()
        self.clip = clip
        self.table = torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))
        ### END SOLUTION

    def forward(self, query, key):
        ### BEGIN SOLUTION
        m, n = query.shape[1], key.shape[1]
        position = torch.arange(m)[:, None] + (n - m)  # (m, 1)
        distance = torch.arange(n) - position  # (m, n)
        vectors = self.table[distance.clamp(-self.clip, self.clip) + self.clip]  # (m, n, d_head)
        words = query @ key.transpose(-1, -2)  # (B, m, n)
        places = (query[:, :, None] * vectors).sum(dim=-1)  # (B, m, n)
        return (words + places) / query.shape[-1] ** 0.5  # (B, m, n)
        ### END SOLUTION


# %%
check("08.relative_scores_module", RelativeScores)

# %% [markdown]
# Your module can learn a place. Queries and keys are random numbers, but for one component of the queries that
# is always 1. The right key is the one three before the query. The module is trained on sentences of 8 to 12 words,
# then asked at 20.

# %%
torch.manual_seed(0)
module = RelativeScores(4, 5)
with torch.no_grad():  # the same beginning for every solution of the exercise
    module.table.zero_()
optimiser = torch.optim.Adam(module.parameters(), lr=0.3)


def draw_words(n):
    """Random queries and keys (16, n, 4); the first component of each query is 1."""
    query, key = torch.randn(2, 16, n, 4)
    query[:, :, 0] = 1.0
    return query, key


for _ in range(60):
    n = int(torch.randint(8, 13, ()))
    scores = module(*draw_words(n))[:, 3:]  # (16, n - 3, n): the first three have no such key
    right = torch.arange(n - 3).expand(16, n - 3)
    loss = torch.nn.functional.cross_entropy(scores.transpose(1, 2), right)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()

with torch.no_grad():
    weights = module(*draw_words(20))[0].softmax(dim=-1)  # (20, 20)
heat_map(weights, range(20), range(20), title="Asked at 20 words, trained on 8 to 12")

# %% [markdown]
# The diagonal goes on beyond the length of the training: "three before" is one row of the table wherever the
# query stands.

# %% nbgrader={"grade": true, "grade_id": "relative-scores-module-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Graded: the module, 2 points for as many queries as keys, 3 for the rest; both include gradients.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("08.relative_scores_module", RelativeScores, points=5)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. The slopes of ALiBi
#
# {{exercise 08.alibi_slopes}}
#
# ALiBi lowers each score in proportion to distance; how steeply, differs from head to head. If the number of
# heads $H$ is a power of two, the slope of head $h$ is
#
# $$s_h = 2^{-8h/H}, \qquad h = 1, \dots, H$$
#
# For other numbers of heads do as the code of the paper does. Take all slopes of the power of two *below* $H$. As
# many as are still missing come after them: the first, the third, the fifth, … slope of the power of two *above* $H$.
#
# - `n_heads` is a whole number, at least 1. Return the slopes, an array of shape `(n_heads,)`.
#
# For example, 2 heads have the slopes `[2**-4, 2**-8]`, and 3 heads `[2**-4, 2**-8, 2**-2]`: the third is the
# first of four heads. One of the three points is for powers of two, two for other numbers. (Chapter 8: *ALiBi:
# the farther, the less*)


# %% nbgrader={"grade": false, "grade_id": "alibi-slopes", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "08.alibi_slopes", "helpers": ["imports"]}
def alibi_slopes(n_heads):
    """Return how steeply each head's scores fall with distance, (n_heads,)."""
    ### BEGIN SOLUTION
    below = 2 ** int(np.log2(n_heads))
    missing = n_heads - below
    first = 2.0 ** (-8 * np.arange(1, below + 1) / below)
    others = 2.0 ** (-8 * np.arange(1, 2 * missing, 2) / (2 * below))
    return np.concatenate([first, others])
    ### END SOLUTION


# %%
check("08.alibi_slopes", alibi_slopes)

# %% nbgrader={"grade": true, "grade_id": "alibi-slopes-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the slopes, 1 point for powers of two, 2 for other numbers of heads.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("08.alibi_slopes", alibi_slopes, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 8. The bias of ALiBi
#
# {{exercise 08.alibi_bias}}
#
# What is added to the score of query $i$ and key $j$ in head $h$ is minus the head's slope times the distance
# without its sign.
#
# - `m` is the number of queries, `n` the number of keys; the queries are the last `m` of the `n` positions.
#   `slopes` is `(H,)`, a slope for each head, any numbers above 0.
# - Return the bias, `(H, m, n)`. It is the same before and after the query; masks are another matter.
#
# For example, `m = 1`, `n = 3` and `slopes = [0.5, 0.1]` give `[[[-1., -0.5, 0.]], [[-0.2, -0.1, 0.]]]`. Two of
# the three points are for `m = n`, one for fewer and more queries. (Chapter 8: *ALiBi: the farther, the less*)


# %% nbgrader={"grade": false, "grade_id": "alibi-bias", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "08.alibi_bias", "helpers": ["imports"]}
def alibi_bias(m, n, slopes):
    """Return what is added to the scores of each head, (H, m, n)."""
    ### BEGIN SOLUTION
    query = np.arange(m)[:, None] + (n - m)  # (m, 1)
    away = np.abs(np.arange(n) - query)  # (m, n)
    return -away * slopes[:, None, None]  # (H, m, n)
    ### END SOLUTION


# %%
check("08.alibi_bias", alibi_bias)

# %% [markdown]
# Where does the last of 64 words look, if all keys fit alike? (This cell uses your slopes and your bias.)

# %%
bias = alibi_bias(1, 64, alibi_slopes(6))[:, 0]  # (6, 64)
weights = library.softmax(bias)
curves(
    np.arange(64)[::-1],
    {f"head {h + 1}": weights[h] for h in (0, 2, 3, 4)},
    x_label="how many words back",
    y_label="weight",
    title="Six heads: the slopes of four, and two of eight",
)

# %% nbgrader={"grade": true, "grade_id": "alibi-bias-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the bias, 2 points for as many queries as keys, 1 for fewer or more.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("08.alibi_bias", alibi_bias, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 9. Rotary positions
#
# {{exercise 08.rotary}}
#
# Rotary positions leave scores alone and *turn* queries and keys. The `d` columns of a row form `d / 2` pairs.
# In a row at position $p$, pair $i$ is a point $(a, b)$ of the plane and turns by the angle
# $\varphi = p \cdot 10000^{-2i/d}$:
#
# $$(a, b) \;\longmapsto\; (a\cos\varphi - b\sin\varphi,\;\; a\sin\varphi + b\cos\varphi), \qquad i = 0, \dots, \frac{d}{2} - 1$$
#
# - `x` is `(..., m, d)`, rows of queries or of keys, in any float type; `d` is even. `positions` is `(m,)`, the
#   position of each row, whole numbers of at least 0 in any order.
# - Return the turned rows, `(..., m, d)`. Each number stays in its column: at position 0 nothing changes. Leave
#   `x` as it is.
# - **Which columns make a pair is up to you.** Neighbours, $(0, 1), (2, 3), \dots$, and halves,
#   $(0, d/2), (1, d/2 + 1), \dots$, are both in use. What is checked holds in any layout: lengths stay, each
#   pair has its frequency, and the product of a turned query and a turned key depends on their distance only.
#
# For example, `x = [[1., 0.]]` and `positions = [1]` give `[[0.5403, 0.8415]]`, the cosine and the sine of 1. Three
# of the four points are for one sentence, one for leading axes and float32. (Chapter 8: *Rotary: turn queries and keys*)


# %% nbgrader={"grade": false, "grade_id": "rotary", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "08.rotary", "helpers": ["imports"]}
def rotary(x, positions):
    """Turn each pair of columns of x (..., m, d) by its frequency times the row's position."""
    ### BEGIN SOLUTION
    d = x.shape[-1]
    frequency = 10000.0 ** (-np.arange(0, d, 2) / d)  # (d / 2,)
    angle = positions[:, None] * frequency  # (m, d / 2)
    cosine, sine = np.cos(angle), np.sin(angle)
    first, second = x[..., 0::2], x[..., 1::2]  # (..., m, d / 2) each
    turned = np.empty_like(x)
    turned[..., 0::2] = first * cosine - second * sine
    turned[..., 1::2] = first * sine + second * cosine
    return turned
    ### END SOLUTION


# %%
check("08.rotary", rotary)

# %% [markdown]
# One query and one key, put at all pairs of twelve places: the score is the same along every diagonal, because a
# diagonal is a distance.

# %%
generator = np.random.default_rng(8)
query, key = np.repeat(generator.standard_normal((2, 1, 16)), 12, axis=1)  # (12, 16) each
places = np.arange(12)
scores = rotary(query, places) @ rotary(key, places).T / 4  # (12, 12)
heat_map(scores, places, places, title="One query and one key, at all pairs of places")

# %% nbgrader={"grade": true, "grade_id": "rotary-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: rotary positions, 3 points for one sentence, 1 for leading axes and float32.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("08.rotary", rotary, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 10. A program with a fault
#
# A table of `2L - 1` *numbers*, made for sequences of up to `L` words, holds one for each distance from `-(L - 1)`
# to `L - 1`; distance 0 has the middle row. This program adds them to the scores. It was trained and tested, and
# nothing was amiss. Since it is used on texts of all lengths it sometimes answers strangely, and never with an
# error.
#
# It uses the plain softmax of chapter 2.


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
def softmax(scores):
    """Weights along the last axis: positive, and they sum to one."""
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - highest)  # (..., n), at most 1: nothing overflows
    return exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., n)


# %% nbgrader={"grade": false, "grade_id": "faulty-relative-weights", "locked": true, "schema_version": 3, "solution": false, "task": false}
def faulty_relative_weights(scores, table):
    """Weights (T, T) from scores (T, T) and a table of distances (2L - 1,). Something is wrong here."""
    query, key = np.arange(len(scores))[:, None], np.arange(len(scores))  # (T, 1) and (T,)
    distance = key - query  # (T, T)
    row = distance - distance.min()  # so that the smallest distance has row 0
    return softmax(scores + table[row])


# %% [markdown]
# ### 10a. Find numbers on which the fault shows
#
# {{exercise 08.counterexample}}
#
# Return scores `(T, T)` and a table `(2L - 1,)`, both of finite numbers and with `T` at most `L`, on which
# `faulty_relative_weights(scores, table)` runs without an error and gives weights that differ from the right
# ones, in some place by more than 0.001.


# %% nbgrader={"grade": false, "grade_id": "counterexample", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "08.counterexample", "helpers": ["imports"]}
def counterexample():
    """Return scores (T, T) and a table (2L - 1,) on which the weights come out wrong."""
    ### BEGIN SOLUTION
    return np.zeros((2, 2)), np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    ### END SOLUTION


# %%
check("08.counterexample", counterexample)

# %% nbgrader={"grade": true, "grade_id": "counterexample-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: whether the fault shows on your numbers.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("08.counterexample", counterexample, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ### 10b. Mend the program
#
# {{exercise 08.relative_weights}}
#
# Write the program as it should be, and for leading axes too: `scores` is `(..., T, T)`, `table` is `(2L - 1,)`
# with `T` at most `L`. Return the weights, `(..., T, T)`. Do not change the arguments. You may use `softmax`.
# (Chapter 8: *One row off*)


# %% nbgrader={"grade": false, "grade_id": "relative-weights", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "08.relative_weights", "helpers": ["imports", "softmax"]}
def relative_weights(scores, table):
    """Return the weights (..., T, T) of scores to which a number for each distance was added."""
    ### BEGIN SOLUTION
    position = np.arange(scores.shape[-1])  # (T,)
    distance = position - position[:, None]  # (T, T)
    middle = len(table) // 2  # the row of distance 0, whatever T is
    return softmax(scores + table[distance + middle])
    ### END SOLUTION


# %%
check("08.relative_weights", relative_weights)

# %% nbgrader={"grade": true, "grade_id": "relative-weights-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the mended program, 1 point for the plain cases, 1 for one word and leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("08.relative_weights", relative_weights, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 11. In your own words
#
# **3 points** · about 10 minutes · marked by a person
#
# A model reads the log of a machine and answers, at each line, a question about the *latest* line of the same kind.
# It is trained on logs of 200 lines and will be used on logs of 5 000. Somebody proposes a learned row for each
# position, added to the embeddings: "on our test set, which has 200 lines a log too, it is as good as anything". In
# four to six sentences, say what will happen and what you would use instead.
#
# What is looked for, one point each:
#
# 1. what becomes of rows beyond 200 (there are none, or they were never trained), and why the test set cannot
#    show it;
# 2. that the question is about distance, and how a scheme of your choice tells it at any length;
# 3. one thing that this scheme does badly, or that you would still have to measure.

# %% [markdown] nbgrader={"grade": true, "grade_id": "in-your-own-words", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# A learned table needs a row for each of the 5 000 positions. Rows beyond 200 either do not exist, and the
# program stops, or they were never part of a training log and are still what chance made them, so late lines
# get noise in place of a position. A test set whose logs are as short as those of the training never reads
# these rows, so it cannot show this. "The latest of its kind" is about distance: ALiBi lowers each score by an
# amount that grows with distance and has no table, so among lines of the same kind the nearer one wins at line
# 4 000 as it does at line 100. It cannot say "exactly three lines back", nor find a line whose *place* counts,
# such as the first one. And with thousands of lines many keys share the weight, so I would measure at 5 000
# before believing it.
# ### END SOLUTION
