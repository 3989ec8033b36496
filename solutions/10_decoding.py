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
# # Assignment 10: decoding and the cache
#
# A language model gives probabilities for the next token. To write a text somebody has to choose, again
# and again, and to compute as little as possible anew. Here you draw tokens from uniform numbers, with
# temperature, top-k and top-p; you search with a beam; you keep keys and values in a cache and attend to
# them, in NumPy and in a torch module; and you find a fault that no test on whole texts can see. Chapter
# 10, *Decoding and the KV cache*, tells the story.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, and run the `check` below each. If a
# check does not pass it says what was expected, what came, and which known mistake it looks like.
# `hint("10.…", level=1)` prints a hint; levels 2 and 3 say more.
#
# **How to hand in.** Restart the kernel, run all cells, save, and hand in this one file,
# `10_decoding.ipynb`, under its own name.
#
# There are `V` tokens, numbered from 0. The dots in `(..., m, d_k)` stand for any number of leading axes,
# none included. *log* is the natural logarithm. Nothing here draws random numbers of its own: they come
# as arguments, so that the same numbers always give the same text. Each answer stands by itself: it may
# use the locked cells that its text names, but not what you wrote for another exercise.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "imports-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch

# %% nbgrader={"grade": false, "grade_id": "tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
from attnkit import numpy as library
from coursekit.checks import check, hint

# %% [markdown]
# One helper is given, the plain softmax of chapter 2.


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
def softmax(scores):
    """Weights along the last axis: positive, and they sum to one. A score of -inf gets weight 0."""
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - highest)  # (..., n), at most 1: nothing overflows
    return exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., n)


# %% [markdown]
# ## 1. Predict: how many words does top-p leave?
#
# {{exercise 10.predicted_survivors}}
#
# Top-p with *p* = 0.9 keeps the fewest most probable words that reach 0.9 together, and drops all others.
# A model knows 10,000 words. The most probable is twice as probable as the second, three times as
# probable as the third, and so on: the word of rank *r* has a probability proportional to 1 / *r*, which
# is roughly so in many languages. How many of the 10,000 words does top-p leave
#
# 1. at temperature 1, that is with these probabilities,
# 2. at temperature 0.5, where they are proportional to 1 / *r*²,
# 3. at temperature 2, where they are proportional to 1 / √*r*?
#
# Return your three guesses in that order, as an array of shape `(3,)`, each between 1 and 10,000. Guess
# before you run anything: the point is for the guess, right or wrong. (Chapter 10: *Temperature, top-k,
# top-p*.)


# %% nbgrader={"grade": false, "grade_id": "predicted-survivors", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "10.predicted_survivors", "helpers": ["imports"]}
def predicted_survivors():
    """Return three guesses: how many words stay at temperature 1, at 0.5 and at 2."""
    ### BEGIN SOLUTION
    return np.array([4000, 10, 8000])
    ### END SOLUTION


# %%
check("10.predicted_survivors", predicted_survivors)

# %% [markdown]
# Now count. Were you surprised?

# %%
rank = np.arange(1, 10_001)
for temperature in (1.0, 0.5, 2.0):
    weights = rank ** (-1 / temperature)
    sums = np.cumsum(weights) / weights.sum()
    print(f"temperature {temperature}: {np.argmax(sums >= 0.9) + 1} words stay")

# %% nbgrader={"grade": true, "grade_id": "predicted-survivors-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Graded: your guesses for how many words stay.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("10.predicted_survivors", predicted_survivors, points=1)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. By hand: greedy and a beam of two
#
# {{exercise 10.beam_by_hand}}
#
# A model knows three tokens, A, B and C, and *end*, which ends a text. What may follow what, and with
# which probability:
#
# | after | A | B | C | end |
# |---|---|---|---|---|
# | the start | 0.45 | 0.30 | 0.25 | |
# | A | | 0.6 | | 0.4 |
# | B | | | 0.2 | 0.8 |
# | C | | | | 1 |
#
# With pencil and paper, find
#
# 1. the probability of the text that greedy decoding writes,
# 2. the probability of the better of the two beginnings that beam search with a beam of two holds *after
#    two steps*,
# 3. the probability of the best text that this beam search has found in the end,
# 4. the probability of the most probable text of all.
#
# The last one is about length. Logarithms of probabilities can be divided by the length of the text, its
# end counted as a token: this is a length penalty of 1. For the probabilities themselves it means a root:
# the square root for two tokens, the cube root for three. Find
#
# 5. the largest such root among all texts.
#
# Return the five numbers in this order, to three decimals, as an array of shape `(5,)`. (Chapter 10:
# *Keeping more than one* and *Long or short?*)


# %% nbgrader={"grade": false, "grade_id": "beam-by-hand", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "10.beam_by_hand", "helpers": ["imports"]}
def beam_by_hand():
    """Return five: greedy, the beam after two steps, in the end, the best text, the best root."""
    ### BEGIN SOLUTION
    return np.array([0.45 * 0.6 * 0.8, 0.45 * 0.6, 0.3 * 0.8, 0.25, 0.6])
    ### END SOLUTION


# %%
check("10.beam_by_hand", beam_by_hand)

# %% nbgrader={"grade": true, "grade_id": "beam-by-hand-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the numbers from your paper.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("10.beam_by_hand", beam_by_hand, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Draw a token, by a loop
#
# {{exercise 10.draw_loop}}
#
# How does a uniform number become a token? Lay pieces side by side on a line, one for each token, as long
# as its weight. The token on whose piece the number falls is drawn.
#
# - `weights` is `(V,)`, none negative: probabilities up to a factor. They need not sum to one.
# - `uniform` is a number, at least 0 and below 1. It is a share of the whole line.
# - Return the token, a whole number: the first one, in the order 0, 1, 2, …, at which the sum of the
#   weights up to and including it is **larger** than `uniform` times the sum of all.
#
# For example, the weights `[1., 2., 1.]` and the number 0.5 give token 1: the sums are 1, 3 and 4, and
# half of 4 is 2. One of the two points is for the plain cases, one for weights with another sum, weights
# of 0, and numbers on a border. (Chapter 10: *Drawing lots*.)


# %% nbgrader={"grade": false, "grade_id": "draw-loop", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "10.draw_loop", "helpers": ["imports"]}
def draw_loop(weights, uniform):
    """Return the token on whose piece of weights (V,) the number falls."""
    ### BEGIN SOLUTION
    limit = uniform * weights.sum()
    total = 0.0
    for token in range(len(weights)):
        total += weights[token]
        if total > limit:
            return token
    return int(np.flatnonzero(weights)[-1])  # the sum was rounded down to the limit
    ### END SOLUTION


# %%
check("10.draw_loop", draw_loop)

# %% nbgrader={"grade": true, "grade_id": "draw-loop-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: a draw by a loop, 1 point for the plain cases, 1 for sums, zeros and borders.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("10.draw_loop", draw_loop, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. Temperature, top-k, top-p
#
# {{exercise 10.sample_tokens}}
#
# Now for many rows at once, without a loop over rows, and with three ways to change the probabilities
# before the draw. They are applied in this order:
#
# 1. **temperature**: divide the logits by `temperature`, then softmax;
# 2. **top-k**: the `top_k` most probable tokens stay; the weights that are left are divided by their sum;
# 3. **top-p**: of these, the fewest most probable that together *reach* `top_p` stay. A token goes if
#    those before it, from the most probable on, have reached `top_p` without it. So the best one always
#    stays.
#
# From what is left, in the order of the tokens 0, 1, 2, …, draw as in the loop: relative to what is left.
#
# - `logits` is `(B, V)`; no two in a row are equal. A logit of -inf forbids a token. `uniform` is `(B,)`,
#   one number for each row.
# - `temperature` is above 0, `top_k` a whole number from 1 to `V` (`V`: all stay), `top_p` above 0 and at
#   most 1 (1: all stay).
# - Return the tokens, `(B,)` whole numbers. Do not change `logits`.
#
# You may use `softmax`. For example, a row with the probabilities 0.5, 0.2 and 0.3, at temperature 1, with
# `top_k = 3` and `top_p = 0.6`, keeps tokens 0 and 2, which then have 5/8 and 3/8; the number 0.6 draws
# token 0 and 0.7 draws token 2. Two of the five points are for temperatures, one for top-k, two for
# top-p. (Chapter 10: *Temperature, top-k, top-p*.)


# %% nbgrader={"grade": false, "grade_id": "sample-tokens", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "10.sample_tokens", "helpers": ["imports", "softmax"]}
def sample_tokens(logits, uniform, temperature, top_k, top_p):
    """Return a token (B,) for each row of logits (B, V), drawn by uniform (B,)."""
    ### BEGIN SOLUTION
    weights = softmax(logits / temperature)  # (B, V)
    order = np.argsort(-weights, axis=-1)  # (B, V), the best token first
    ordered = np.take_along_axis(weights, order, axis=-1)  # (B, V)
    ordered[:, top_k:] = 0
    ordered /= ordered.sum(axis=-1, keepdims=True)
    before = np.cumsum(ordered, axis=-1) - ordered  # (B, V), what the better ones have together
    if top_p < 1:
        ordered[before >= top_p] = 0
    kept = np.zeros_like(ordered)
    np.put_along_axis(kept, order, ordered, axis=-1)  # (B, V), in the order of tokens again
    sums = np.cumsum(kept, axis=-1)  # (B, V)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)  # (B,), the first True
    ### END SOLUTION


# %%
check("10.sample_tokens", sample_tokens)

# %% [markdown]
# Let it write. A table says which letter follows which in the English names of the months; the names are
# drawn from it letter by letter, several at once, always with the same uniform numbers.

# %%
months = [
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
]
letters = "." + "abcdefghijklmnopqrstuvwxyz"  # the full stop begins and ends each name
counts = np.zeros((27, 27))
for month in months:
    for before, after in zip("." + month, month + ".", strict=True):
        counts[letters.index(before), letters.index(after)] += 1
with np.errstate(divide="ignore", invalid="ignore"):  # letters that no month has follow nothing
    table = np.where(counts.any(axis=1)[:, None], np.log(counts / counts.sum(1)[:, None]), 0.0)


def write(temperature, top_p):
    """Return six names of at most 12 letters."""
    generator = np.random.default_rng(10)
    token, names = np.zeros(6, int), [""] * 6
    for _ in range(12):
        # Tiny differences, so that no two logits are equal.
        logits = table[token] + 1e-6 * np.arange(27)
        token = sample_tokens(logits, generator.random(6), temperature, 27, top_p)
        names = [
            name if name.endswith(".") else name + letters[i]
            for name, i in zip(names, token, strict=True)
        ]
    return "  ".join(names)


for temperature, top_p in ((1.0, 1.0), (0.3, 1.0), (5.0, 1.0), (1.0, 0.5)):
    print(f"temperature {temperature}, top-p {top_p}:  {write(temperature, top_p)}")

# %% nbgrader={"grade": true, "grade_id": "sample-tokens-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Graded: sampling, 2 points for temperatures, 1 for top-k, 2 for top-p.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("10.sample_tokens", sample_tokens, points=5)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. Beam search
#
# {{exercise 10.beam_decode}}
#
# Greedy decoding may miss the best text. Beam search keeps several hypotheses. Here is one search, from a
# table; there is no network.
#
# - `table` is `(V, V)`: row *i* holds the log-probability of every token after token *i*. It may hold
#   -inf. `start` is the token to begin with, `end` the one that ends a text.
# - Before the first step there is **one** hypothesis, the empty one, with a score of 0.
# - In each step, each hypothesis that has not ended is continued by every token. The score of a
#   continuation is the score before plus the log-probability of the token. A hypothesis that **has** ended
#   competes as it is: it keeps its score and its length and is filled with `end`.
# - All of these together are ranked by score / length ** `length_penalty`, where the length counts the
#   tokens of a hypothesis up to its first `end`, that one included. The best `beam_width` are kept.
# - Stop when all kept hypotheses have ended, or after `max_length` steps.
# - Return `(tokens, scores)`, best first: `tokens` is `(beam_width, L)` whole numbers, without the start
#   token, where `L` is the number of steps made; `scores` is `(beam_width,)`, the sums of log-probabilities
#   *without* the penalty.
#
# In the first steps there may be fewer continuations than `beam_width`; in the end there are always
# enough. No two ranks are equal (but for -inf). For example, with the table of exercise 2, a beam of two
# and no penalty, the two texts found are *B end* and *A B end*, with the scores log 0.24 and log 0.216,
# and the first is `[B, end, end]`. Three of the six points are for searches in which nothing ends, three
# for those with ends, a penalty, a wide beam or -inf. (Chapter 10: *Keeping more than one* and *Long or
# short?*)


# %% nbgrader={"grade": false, "grade_id": "beam-decode", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "10.beam_decode", "helpers": ["imports"]}
def beam_decode(table, start, end, max_length, beam_width, length_penalty):
    """Return tokens (beam_width, L) and scores (beam_width,) of the best texts that were found."""
    ### BEGIN SOLUTION
    tokens, scores = np.array([[start]]), np.zeros(1)  # (W, 1 + steps), (W,)
    length, ended = np.zeros(1), np.zeros(1, dtype=bool)  # (W,)
    only_end = np.where(np.arange(len(table)) == end, 0.0, -np.inf)  # (V,)
    for _ in range(max_length):
        following = np.where(ended[:, None], only_end, table[tokens[:, -1]])  # (W, V)
        candidates = scores[:, None] + following  # (W, V)
        length = length + ~ended  # (W,)
        rank = candidates / length[:, None] ** length_penalty  # (W, V)
        best = np.argsort(-rank, axis=None)[:beam_width]  # (new W,), places in the flat table
        parent, token = np.divmod(best, len(table))  # (new W,) each
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, length = candidates[parent, token], length[parent]
        ended = token == end
        if ended.all():
            break
    return tokens[:, 1:], scores
    ### END SOLUTION


# %%
check("10.beam_decode", beam_decode)

# %% [markdown]
# Which names of months are the best according to the table of letters? Without a penalty the short ones
# win. With a penalty of 1 the best *mean* wins, and that can be had by going round in a circle: large
# models that are searched like this repeat themselves too.

# %%
for length_penalty in (0.0, 1.0):
    tokens, scores = beam_decode(table + 1e-6 * np.arange(27), 0, 0, 12, 5, length_penalty)
    names = ["".join(letters[i] for i in row).split(".")[0] for row in tokens]
    told = ", ".join(f"{n} {s:.2f}" for n, s in zip(names, scores, strict=True))
    print(f"length penalty {length_penalty}: {told}")

# %% nbgrader={"grade": true, "grade_id": "beam-decode-test", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Graded: beam search, 3 points while nothing ends, 3 for ends, penalties, wide beams, -inf.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("10.beam_decode", beam_decode, points=6)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. Append to the cache
#
# {{exercise 10.cache_append}}
#
# Attention meets keys and values of all earlier tokens again at each step. They are kept, in room that is
# taken **once**: joining arrays anew at each step would copy everything stored so far.
#
# - `key_room` and `value_room` are `(B, H, capacity, d)`: for each sequence and each head there is room for
#   `capacity` rows. The first `length` rows are stored. What stands behind them is left over from earlier
#   texts and means nothing.
# - `key` and `value` are `(B, H, new, d)`, the rows to be stored. `new` may be any number, 0 included.
# - Write the new rows behind the stored ones. All else in the rooms stays. **You are asked to write into
#   the rooms themselves** (a copy passes the check too, but costs what the cache should save).
# - Return `(key_room, value_room, new_length)`: both rooms, whole, and the number of rows stored now.
# - If the new rows do not all fit, store none of them, and return the rooms and the length as they came.
#   The caller sees from the length that nothing was stored.
#
# For example, with a capacity of 5 and a length of 2, two new rows go to places 2 and 3, and the new
# length is 4. Two of the three points are for the plain cases, one for a cache that is nearly or quite
# full. (Chapter 10: *The cache*.)


# %% nbgrader={"grade": false, "grade_id": "cache-append", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "10.cache_append", "helpers": ["imports"]}
def cache_append(key_room, value_room, length, key, value):
    """Store new rows behind the first `length`; return both rooms and the new length."""
    ### BEGIN SOLUTION
    end = length + key.shape[2]
    if end > key_room.shape[2]:
        return key_room, value_room, length
    key_room[:, :, length:end] = key  # copied, in the dtype of the room
    value_room[:, :, length:end] = value
    return key_room, value_room, end
    ### END SOLUTION


# %%
check("10.cache_append", cache_append)

# %% [markdown]
# Why must one ask whether the rows fit? Does NumPy not complain by itself? Mostly. Here is a full room and
# *one* new row:

# %%
room = np.zeros((1, 1, 3, 2))
room[:, :, 3:4] = np.ones((1, 1, 1, 2))  # behind the end, and no complaint
print("sum of the room:", room.sum())

# %% nbgrader={"grade": true, "grade_id": "cache-append-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the cache, 2 points for the plain cases, 1 for little room, no rows or another dtype.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("10.cache_append", cache_append, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. Attention with a cache
#
# {{exercise 10.cached_attention}}
#
# A chunk of new tokens comes in: a whole prompt, or a single token. It attends, causally, to the tokens
# before it, whose keys and values come from the cache, and to itself.
#
# - `query` and `key` are `(..., m, d_k)` and `value` is `(..., m, d_v)`: those of the `m` new tokens.
# - `past_key` is `(..., n_past, d_k)` and `past_value` is `(..., n_past, d_v)`: those of the `n_past` tokens
#   before them. `n_past` may be 0.
# - Each new token sees all old tokens, itself, and the new tokens before it.
# - Return the output, `(..., m, d_v)`: scaled dot products, softmax, weighted sum.
#
# The promise is: **wherever a text is cut, the same outputs come.** You may use `softmax`, which gives
# weight 0 to a score of -inf. Two of the five points are for one new token or an empty cache, three for
# chunks. (Chapter 10: *The wrong corner*.)


# %% nbgrader={"grade": false, "grade_id": "cached-attention", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "10.cached_attention", "helpers": ["imports", "softmax"]}
def cached_attention(query, key, value, past_key, past_value):
    """Return the output (..., m, d_v) of new tokens that attend to old ones and to themselves."""
    ### BEGIN SOLUTION
    m, n_past = query.shape[-2], past_key.shape[-2]
    key = np.concatenate([past_key, key], axis=-2)  # (..., n_past + m, d_k)
    value = np.concatenate([past_value, value], axis=-2)  # (..., n_past + m, d_v)
    scores = query @ np.swapaxes(key, -1, -2) / key.shape[-1] ** 0.5  # (..., m, n_past + m)
    query_position = n_past + np.arange(m)[:, None]  # (m, 1)
    allowed = np.arange(n_past + m) <= query_position  # (m, n_past + m)
    return softmax(np.where(allowed, scores, -np.inf)) @ value  # (..., m, d_v)
    ### END SOLUTION


# %%
check("10.cached_attention", cached_attention)

# %% [markdown]
# Cut a text of eight tokens in all $2^7$ ways, read it chunk by chunk, and compare with reading it at once.

# %%
from itertools import pairwise, product

query, key, value = np.random.default_rng(7).standard_normal((3, 8, 4))
whole = library.scaled_dot_product_attention(query, key, value, causal=True)
largest = 0.0
for cut in product([False, True], repeat=7):
    edges = [0, *(i + 1 for i in range(7) if cut[i]), 8]
    outputs = [
        cached_attention(query[a:b], key[a:b], value[a:b], key[:a], value[:a])
        for a, b in pairwise(edges)
    ]
    largest = max(largest, np.abs(np.concatenate(outputs) - whole).max())
print(f"largest difference over 128 ways to cut: {largest:.1e}")

# %% nbgrader={"grade": true, "grade_id": "cached-attention-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Graded: attention with a cache, 2 points for one token or an empty cache, 3 for chunks.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("10.cached_attention", cached_attention, points=5)
### END HIDDEN TESTS

# %% [markdown]
# ## 8. Self-attention with a cache, as a torch module
#
# {{exercise 10.cached_self_attention}}
#
# Now all in one, with parameters. Write a module:
#
# - `CachedSelfAttention(batch, capacity, d_model, d_k, d_v)` has three parameters, each a
#   `torch.nn.Parameter` under this very name: `w_query (d_model, d_k)`, `w_key (d_model, d_k)` and `w_value
#   (d_model, d_v)`. Begin them with any numbers.
# - It has three buffers, made by `self.register_buffer(name, tensor)`: `key_room (batch, capacity, d_k)`,
#   `value_room (batch, capacity, d_v)`, and `length`, a tensor of no axes that holds a whole number:
#   `torch.tensor(0)`. A buffer belongs to the state of a module, as parameters do, but is not trained.
# - `forward(x)` takes the new tokens, `x (batch, m, d_model)`. It writes their keys and values into the
#   rooms behind the first `length` rows and moves `length`. Their queries attend, causally, to all rows
#   that are stored by then. It returns the output alone, `(batch, m, d_v)`. There is always room enough.
#
# Your module is built, loaded with parameters *and a cache that holds something*, run, and differentiated:
# gradients must reach `x` and all three parameters. In one case it is called three times in a row, and each
# call must find what the earlier ones have stored. Three of the five points are for one new token or an
# empty cache, two for chunks. (Chapter 10: *The cache*.)


# %% nbgrader={"grade": false, "grade_id": "cached-self-attention", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "10.cached_self_attention", "helpers": ["imports-torch"]}
class CachedSelfAttention(torch.nn.Module):
    """Causal self-attention that keeps keys and values: new tokens (B, m, d_model) to (B, m, d_v)."""

    def __init__(self, batch, capacity, d_model, d_k, d_v):
        ### BEGIN SOLUTION
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k) / d_model**0.5)
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k) / d_model**0.5)
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v) / d_model**0.5)
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        m, length = x.shape[1], int(self.length)
        end = length + m
        self.key_room[:, length:end] = x @ self.w_key  # (B, m, d_k)
        self.value_room[:, length:end] = x @ self.w_value  # (B, m, d_v)
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]  # (B, end, …)
        scores = (x @ self.w_query) @ key.transpose(-1, -2) / key.shape[-1] ** 0.5  # (B, m, end)
        query_position = length + torch.arange(m)[:, None]  # (m, 1)
        future = torch.arange(end) > query_position  # (m, end)
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value  # (B, m, d_v)
        ### END SOLUTION


# %%
check("10.cached_self_attention", CachedSelfAttention)

# %% [markdown]
# Read twelve tokens at once, one by one, and as 5, 1 and 6. Each way begins with an empty cache.

# %%
torch.manual_seed(0)
parameters = CachedSelfAttention(1, 12, 8, 4, 4).state_dict()
x = torch.randn(1, 12, 8)
outputs = {}
for sizes in ([12], [1] * 12, [5, 1, 6]):
    module = CachedSelfAttention(1, 12, 8, 4, 4)
    module.load_state_dict(parameters)  # the same weights, and the rooms are empty
    with torch.no_grad():
        outputs[str(sizes)] = torch.cat([module(chunk) for chunk in x.split(sizes, dim=1)], dim=1)
for sizes, output in outputs.items():
    print(f"{sizes}: differs by {(output - outputs['[12]']).abs().max().item():.0e}")

# %% nbgrader={"grade": true, "grade_id": "cached-self-attention-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Graded: the module, 3 points for one token or an empty cache, 2 for chunks; gradients included.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("10.cached_self_attention", CachedSelfAttention, points=5)
### END HIDDEN TESTS

# %% [markdown]
# ## 9. A program with a fault
#
# In this program positions are told by rotary embedding: queries and keys are turned by an angle that grows
# with their position, so that their product depends on the *distance* of two tokens only. (Chapter 8:
# *Rotary: turn queries and keys*.) Keys are turned once, when they come in, and stored turned. `past_key` holds
# such keys, those of tokens 0, 1, 2, … in order.
#
# The program passed all its tests. They read whole texts in one call, with an empty cache. But the texts
# that it *writes* are strangely confused.


# %% nbgrader={"grade": false, "grade_id": "rotary", "locked": true, "schema_version": 3, "solution": false, "task": false}
def rotary(x, positions):
    """Turn the pairs of numbers in each row of x (n, d) by angles that grow with positions (n,)."""
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)  # (n, d / 2)
    first, second = x[:, 0::2], x[:, 1::2]  # (n, d / 2) each
    turned = np.empty(x.shape)
    turned[:, 0::2] = first * np.cos(angle) - second * np.sin(angle)
    turned[:, 1::2] = first * np.sin(angle) + second * np.cos(angle)
    return turned


# %% nbgrader={"grade": false, "grade_id": "faulty-rotary-step", "locked": true, "schema_version": 3, "solution": false, "task": false}
def faulty_rotary_step(query, key, value, past_key, past_value):
    """Attention of m new tokens, past_key turned already: (m, d_v). Something is wrong here."""
    m, n_past = len(query), len(past_key)
    positions = np.arange(m)  # (m,)
    query, key = rotary(query, positions), rotary(key, positions)  # (m, d) each
    key = np.concatenate([past_key, key])  # (n_past + m, d)
    value = np.concatenate([past_value, value])  # (n_past + m, d_v)
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]  # (m, n_past + m)
    scores = query @ key.T / np.sqrt(key.shape[-1])  # (m, n_past + m)
    return softmax(np.where(allowed, scores, -np.inf)) @ value  # (m, d_v)


# %% [markdown]
# ### 9a. Find arrays on which the fault shows
#
# {{exercise 10.counterexample}}
#
# Return `(query, key, value, past_key, past_value)` on which `faulty_rotary_step` gives another output than a
# right program would. All five have two axes: `query` and `key` are `(m, d)` with an even `d`, `value` is
# `(m, d_v)`, `past_key` is `(n_past, d)` and `past_value` is `(n_past, d_v)`. Any numbers will do for
# `past_key`: take them to be turned already. The outputs must differ by more than 0.001 somewhere.


# %% nbgrader={"grade": false, "grade_id": "counterexample", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "10.counterexample", "helpers": ["imports"]}
def counterexample():
    """Return query, key, value, past_key and past_value on which the fault shows."""
    ### BEGIN SOLUTION
    same = np.array([[1.0, 0.0]])
    return same, same, np.array([[1.0]]), same, np.array([[0.0]])
    ### END SOLUTION


# %%
check("10.counterexample", counterexample)

# %% nbgrader={"grade": true, "grade_id": "counterexample-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: whether the fault shows on your arrays.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("10.counterexample", counterexample, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ### 9b. Mend the program
#
# {{exercise 10.rotary_step}}
#
# Write the program as it should be, with the same arguments and the same result, `(m, d_v)`. You may use
# `softmax` and `rotary`, and copy what is right. Do not change the arguments. One of the two points is for
# one new token or an empty cache, one for chunks. (Chapter 10: *The wrong corner*.)


# %% nbgrader={"grade": false, "grade_id": "rotary-step", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "10.rotary_step", "helpers": ["imports", "softmax", "rotary"]}
def rotary_step(query, key, value, past_key, past_value):
    """Return the output (m, d_v) of m new tokens that follow those in the cache."""
    ### BEGIN SOLUTION
    m, n_past = len(query), len(past_key)
    positions = n_past + np.arange(m)  # (m,): the new tokens follow the old ones
    query, key = rotary(query, positions), rotary(key, positions)  # (m, d) each
    key = np.concatenate([past_key, key])  # (n_past + m, d)
    value = np.concatenate([past_value, value])  # (n_past + m, d_v)
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]  # (m, n_past + m)
    scores = query @ key.T / np.sqrt(key.shape[-1])  # (m, n_past + m)
    return softmax(np.where(allowed, scores, -np.inf)) @ value  # (m, d_v)
    ### END SOLUTION


# %%
check("10.rotary_step", rotary_step)

# %% nbgrader={"grade": true, "grade_id": "rotary-step-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the mended program, 1 point for one token or an empty cache, 1 for chunks.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("10.rotary_step", rotary_step, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 10. In your own words
#
# **3 points** · about 10 minutes · marked by a person
#
# Two colleagues have built a cache. One keeps keys and values of a *decoder*, with a causal mask, and uses it
# in beam search: the scores do not agree with those of the same texts read in one call. The other keeps keys
# and values of an *encoder*, without a mask, that reads a text anew whenever a word is added: its outputs
# have been wrong from the second layer on. In four to six sentences, explain both.
#
# What is looked for, one point each:
#
# 1. why only keys and values are kept, and why under a causal mask those of old tokens stay right when a
#    token is added;
# 2. why they do not stay right without a mask, and why the *first* layer's are right all the same;
# 3. what beam search does to hypotheses between two steps, and what must therefore happen to the cache.

# %% [markdown] nbgrader={"grade": true, "grade_id": "in-your-own-words", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# A new token asks with its own query and meets the keys and values of the others; nobody asks with an old
# query again. Under a causal mask an old token never sees what comes after it, so its vectors, and with them
# its keys and values, are the same in every layer whatever is added. Without a mask every token sees the new
# one too: after the first layer the vectors of all old tokens have changed, and the keys and values that the
# second layer makes of them are no longer those in the cache. The first layer's keys and values come from the
# embeddings of single tokens, which nothing changes. In beam search the best continuations may all come from
# one hypothesis, while another drops out: the hypothesis in row 1 now may continue the one that was in row 0.
# So the rows of the cache have to be copied in the same way after each step, or tokens attend to keys of a
# text that is not theirs.
# ### END SOLUTION
