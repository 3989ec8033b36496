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
# # Assignment 6: self-attention and masks
#
# In self-attention every word of a sentence looks at every word of the same sentence. A mask says
# which looks are allowed. Here you write the masks, the softmax that obeys them, and self-attention
# itself, once in NumPy and once as a torch module that can be trained; and you find a fault in a
# program in which two masks meet. Chapter 6, *Self-attention and masks*, tells the story.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, and run the `check` below each. If a
# check does not pass it says what was expected, what came, and which known mistake it looks like.
# `hint("06.…", level=1)` prints a hint; levels 2 and 3 say more. A check sees results and not the way
# to them; where a text asks for a way (*without loops*), keep to it for your own sake.
#
# **How to hand in.** Restart the kernel, run all cells, save, and hand in this one file,
# `06_self_attention.ipynb`, under its own name.
#
# There are `m` queries and `n` keys; in self-attention both are the `T` words of one sentence, and
# `B` sentences make a batch. The dots in `(..., T, d)` stand for any number of leading axes, none
# included. **A mask is boolean, and True means *may be looked at*.** Each answer stands by itself: it
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
# One helper is given, the plain softmax of chapter 2.


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
def softmax(scores):
    """Weights along the last axis: positive, and they sum to one. It knows nothing of masks."""
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - highest)  # (..., n), at most 1: nothing overflows
    return exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., n)


# %% [markdown]
# ## 1. Predict: how far does a word reach?
#
# {{exercise 06.predicted_reach}}
#
# A network with random parameters reads a sentence of random words and gives a result at the *last*
# word. Exchange one word for another and see how much this result changes. Do so for every word, and
# add up: which share of all the change is due to the *first half* of the sentence? If all words
# counted the same it would be 0.5. Guess it for
#
# 1. a recurrent network (a GRU) that has read 8 words,
# 2. the same with 64 words,
# 3. self-attention over 64 words.
#
# Return your three guesses in that order, as an array of shape `(3,)`, each between 0 and 1. Guess
# before you run anything: the point is for the guess, right or wrong. (Chapter 6: *How many steps
# from one end to the other?*)


# %% nbgrader={"grade": false, "grade_id": "predicted-reach", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "06.predicted_reach", "helpers": ["imports"]}
def predicted_reach():
    """Return three guesses: a GRU with 8 words, with 64 words, and self-attention with 64."""
    ### BEGIN SOLUTION
    return np.array([0.2, 0.01, 0.5])
    ### END SOLUTION


# %%
check("06.predicted_reach", predicted_reach)

# %% [markdown]
# Now measure, over 20 random networks. Were you surprised?

# %%
generator = np.random.default_rng(6)


def last_state_of_a_gru(x, w):
    """Read x (B, T, 16) word by word and return the last state (B, 16)."""
    parameters = {
        "w_input": w[0],
        "w_state": w[1],
        "b_input": np.zeros(48),
        "b_state": np.zeros(48),
    }
    state = np.zeros((len(x), 16))
    for t in range(x.shape[1]):
        state = library.gru_step(x[:, t], state, parameters)
    return state


def last_output_of_self_attention(x, w):
    """Let the last word of x (B, T, 16) look at all words; return what it finds, (B, 16)."""
    w_query, w_key, w_value = np.split(w[0], 3, axis=-1)
    return library.scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value)[:, -1]


def share_of_the_first_half(network, n_words):
    """Exchange each word in turn; return the first half's share of all the change."""
    shares = []
    for _ in range(20):
        w = generator.standard_normal((2, 16, 48)) / 4
        x, other = generator.standard_normal((2, n_words, 16))
        exchanged = np.where(np.eye(n_words, dtype=bool)[:, :, None], other, x)  # (T, T, 16)
        change = np.linalg.norm(network(exchanged, w) - network(x[None], w), axis=-1)  # (T,)
        shares.append(change[: n_words // 2].sum() / change.sum())
    return np.mean(shares)


print(f"GRU, 8 words: {share_of_the_first_half(last_state_of_a_gru, 8):.3f}")
print(f"GRU, 64 words: {share_of_the_first_half(last_state_of_a_gru, 64):.6f}")
print(f"self-attention, 64 words: {share_of_the_first_half(last_output_of_self_attention, 64):.3f}")

# %% nbgrader={"grade": true, "grade_id": "predicted-reach-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Graded: your guesses for how far a word reaches.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("06.predicted_reach", predicted_reach, points=1)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. By hand: count the pairs
#
# {{exercise 06.pairs_by_hand}}
#
# A sentence of 3 words is padded to 4 positions: the fourth position is padding. Each of the 4
# positions is a query, each is a key. A *pair* is a query together with a key it may look at. With
# pencil and paper, count the pairs that are allowed
#
# 1. by a causal mask: a query may look at its own position and at those before it,
# 2. by a padding mask: every query may look at every real word,
# 3. by both together,
# 4. by a causal mask when only the last *two* positions are queries, and all four are keys (no
#    padding): so it is when a model writes word by word and has kept its keys.
#
# Return the four counts in this order, as an array of shape `(4,)`. (Chapter 6: *Who may look at
# whom*.)


# %% nbgrader={"grade": false, "grade_id": "pairs-by-hand", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "06.pairs_by_hand", "helpers": ["imports"]}
def pairs_by_hand():
    """Return the pairs: causal, padding, both, and two late queries."""
    ### BEGIN SOLUTION
    return np.array([10, 12, 9, 7])
    ### END SOLUTION


# %%
check("06.pairs_by_hand", pairs_by_hand)

# %% nbgrader={"grade": true, "grade_id": "pairs-by-hand-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the numbers from your paper.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("06.pairs_by_hand", pairs_by_hand, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. The padding mask
#
# {{exercise 06.padding_mask}}
#
# Sentences of a batch are filled up to equal length. No query may look at the filling.
#
# - `lengths` is `(B,)` and holds whole numbers: how many real words each sentence has, 0 to `n`. The
#   words come first, the padding follows.
# - `n` is the number of positions.
# - Return booleans of shape `(B, 1, n)`: True where a real word stands. The axis of size 1 stands for
#   *every query*.
#
# For example, `lengths = [2, 0]` and `n = 3` give `[[[True, True, False]], [[False, False, False]]]`.
# One of the two points is for the plain cases, the other for a full, an empty or a single sentence.
# (Chapter 6: *Who may look at whom*.)


# %% nbgrader={"grade": false, "grade_id": "padding-mask", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "06.padding_mask", "helpers": ["imports"]}
def padding_mask(lengths, n):
    """Return the mask (B, 1, n) of sentences that have lengths (B,) real words each."""
    ### BEGIN SOLUTION
    return np.arange(n) < lengths[:, None, None]  # (n,) against (B, 1, 1)
    ### END SOLUTION


# %%
check("06.padding_mask", padding_mask)

# %% nbgrader={"grade": true, "grade_id": "padding-mask-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the padding mask, 1 point for the plain cases, 1 for full, empty and single sentences.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("06.padding_mask", padding_mask, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. The causal mask
#
# {{exercise 06.causal_mask}}
#
# A model that predicts the next word must not look at it. Each query may look at its own position and
# at what came before.
#
# - `m` is the number of queries, `n` the number of keys. The queries are the **last** `m` of the `n`
#   positions, so that the last query stands at the last key. With `m = n` this is the usual triangle.
# - Return booleans of shape `(m, n)`, True where the query may look.
# - There may be more queries than keys. Then the first queries stand before all keys and may look at
#   nothing: an empty row, no error.
#
# For example, `m = 2` and `n = 3` give `[[True, True, False], [True, True, True]]`. One of the three
# points is for `m = n`, two for the rest. (Chapter 6: *Who may look at whom*.)


# %% nbgrader={"grade": false, "grade_id": "causal-mask", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "06.causal_mask", "helpers": ["imports"]}
def causal_mask(m, n):
    """Return the mask (m, n) that lets each of the last m positions look at itself and back."""
    ### BEGIN SOLUTION
    query_position = np.arange(m)[:, None] + (n - m)  # (m, 1)
    return np.arange(n) <= query_position  # (m, n)
    ### END SOLUTION


# %%
check("06.causal_mask", causal_mask)

# %% nbgrader={"grade": true, "grade_id": "causal-mask-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the causal mask, 1 point for as many queries as keys, 2 for fewer and more.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("06.causal_mask", causal_mask, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. Combining masks
#
# {{exercise 06.combine_masks}}
#
# A decoder has two masks at once: no padding, and no future. Combine any number of them.
#
# - `*masks` are boolean arrays whose shapes broadcast, such as `(B, 1, n)` and `(m, n)`; any of them
#   may be `None`, which means *no mask*. At least one is an array.
# - Return a boolean array: True where **all** the masks that are there say True.
# - Do not change the arrays that came in.
#
# The star in `def combine_masks(*masks)` collects all arguments in a tuple `masks`. For example,
# `combine_masks([[True, False]], None, [[True], [False]])`, with arrays for the lists, gives
# `[[True, False], [False, False]]`. Two of the three points are for two masks, one for `None` and for
# one or three masks. (Chapter 6: *Who may look at whom*.)


# %% nbgrader={"grade": false, "grade_id": "combine-masks", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "06.combine_masks", "helpers": ["imports"]}
def combine_masks(*masks):
    """Return the mask that allows what all the given masks allow; None is no mask."""
    ### BEGIN SOLUTION
    allowed = np.array(True)
    for mask in masks:
        if mask is not None:
            allowed = allowed & mask
    return allowed
    ### END SOLUTION


# %%
check("06.combine_masks", combine_masks)

# %% nbgrader={"grade": true, "grade_id": "combine-masks-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: combining masks, 2 points for two masks, 1 for None and for one or three masks.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("06.combine_masks", combine_masks, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. Weights under a mask, by a loop
#
# {{exercise 06.masked_weights_loop}}
#
# One query and its scores. Softmax over the keys that may be looked at, one key at a time; the others
# get the weight 0:
#
# $$w_j = \frac{e^{s_j}}{\sum_{k\ \text{allowed}} e^{s_k}} \quad \text{where } j \text{ is allowed, else } w_j = 0$$
#
# - `scores` is `(n,)`, `mask` is `(n,)` and boolean. Return the weights, `(n,)`.
# - Where nothing may be looked at, all weights are 0. Never NaN, never equal shares.
# - Scores may be large. Subtracting the same number from all of them changes no weight. (Chapter 2:
#   *A softmax that does not overflow*.)
# - Leave `scores` and `mask` as they are.
#
# For example, the scores `[0., 5., 0.]` and the mask `[True, False, True]` give `[0.5, 0., 0.5]`. This
# slow version is a specification: it is so close to the formula that you can see it is right.


# %% nbgrader={"grade": false, "grade_id": "masked-weights-loop", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "06.masked_weights_loop", "helpers": ["imports"]}
def masked_weights_loop(scores, mask):
    """Return the weights (n,) of scores (n,) over the keys that mask (n,) allows."""
    ### BEGIN SOLUTION
    weights = np.zeros(len(scores))
    allowed = [j for j in range(len(scores)) if mask[j]]
    if not allowed:
        return weights
    highest = max(scores[j] for j in allowed)
    total = 0.0
    for j in allowed:
        weights[j] = np.exp(scores[j] - highest)
        total += weights[j]
    return weights / total
    ### END SOLUTION


# %%
check("06.masked_weights_loop", masked_weights_loop)

# %% nbgrader={"grade": true, "grade_id": "masked-weights-loop-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: weights by a loop, 1 point for the plain cases, 1 for empty rows and extreme scores.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("06.masked_weights_loop", masked_weights_loop, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. Masked softmax
#
# {{exercise 06.masked_softmax}}
#
# The same for any axes, without loops.
#
# - `scores` is `(..., m, n)`, of any float type. `mask` is boolean and broadcasts against it: `(n,)`,
#   `(m, n)`, `(B, 1, n)`, …
# - Return the weights, `(..., m, n)`: softmax over the allowed keys, 0 elsewhere. A row with nothing to
#   look at is all 0.
# - What stands at a hidden key must not matter, be it NaN or far above the rest.
# - All this must work in half precision too, where no number is larger than 65504. Do not change
#   `scores`.
#
# You may use `softmax`. For example, the scores `[[1., 1., 1.], [1., 1., 1.]]` and the mask
# `[[True, True, False], [False, False, False]]` give `[[0.5, 0.5, 0.], [0., 0., 0.]]`. Two of the four
# points are for the plain cases, one for empty rows, one for NaN, extreme scores and half precision.
# (Chapter 6: *A row with nothing to attend to*.)


# %% nbgrader={"grade": false, "grade_id": "masked-softmax", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "06.masked_softmax", "helpers": ["imports", "softmax"]}
def masked_softmax(scores, mask):
    """Return weights of the shape of scores (..., m, n) over the keys that mask allows."""
    ### BEGIN SOLUTION
    lowest = np.finfo(scores.dtype).min  # finite, so that an empty row makes no NaN …
    weights = softmax(np.where(mask, scores, lowest))  # (..., m, n)
    return np.where(mask, weights, np.zeros_like(weights))  # … and still ends with weights of 0
    ### END SOLUTION


# %%
check("06.masked_softmax", masked_softmax)

# %% [markdown]
# A look at the popular short cut, `-1e9` in place of a mask. Four scores, of which the last two are
# hidden; then a row in which all four are. (Chapter 6: *Adding −1,000,000,000 instead*.)

# %%
scores, some, none = np.zeros(4), np.array([True, True, False, False]), np.zeros(4, bool)
for mask in (some, none):
    print("-1e9:          ", softmax(np.where(mask, scores, -1e9)))
    print("masked softmax:", masked_softmax(scores, mask))

# %% nbgrader={"grade": true, "grade_id": "masked-softmax-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: masked softmax, 2 points for the plain cases, 1 for empty rows, 1 for NaN, extremes and half precision.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("06.masked_softmax", masked_softmax, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 8. Self-attention
#
# {{exercise 06.self_attention}}
#
# Queries, keys and values all come from the same words, each through a matrix of its own:
#
# $$Q = X W_Q, \qquad K = X W_K, \qquad V = X W_V, \qquad \text{output} = \text{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# - `x` is `(..., T, d_model)`, one row for each word. `w_query` and `w_key` are `(d_model, d_k)`,
#   `w_value` is `(d_model, d_v)`.
# - Return the output, `(..., T, d_v)`. There is no mask here.
#
# You may use `softmax`. For example, with `x = [[1., 0.], [0., 1.]]`, `w_query = w_key = [[0.], [0.]]`
# and `w_value = [[2.], [4.]]` the scores are all 0, and the output is `[[3.], [3.]]`. Three of the four
# points are for one sentence, one for leading axes. (Chapter 6: *Every token asks, every
# token answers*.)


# %% nbgrader={"grade": false, "grade_id": "self-attention", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "06.self_attention", "helpers": ["imports", "softmax"]}
def self_attention(x, w_query, w_key, w_value):
    """Let every word of x (..., T, d_model) look at all of them; return (..., T, d_v)."""
    ### BEGIN SOLUTION
    query, key, value = x @ w_query, x @ w_key, x @ w_value  # (..., T, d_k) twice, (..., T, d_v)
    scores = query @ np.swapaxes(key, -1, -2)  # (..., T, T)
    weights = softmax(scores / np.sqrt(key.shape[-1]))  # (..., T, T)
    return weights @ value  # (..., T, d_v)
    ### END SOLUTION


# %%
check("06.self_attention", self_attention)

# %% [markdown]
# Self-attention does not know the order of its words. Shuffle them, and the same outputs come, shuffled
# alike; their mean does not change at all. (Chapter 6: *Blind to order*.)

# %%
generator = np.random.default_rng(8)
w_query, w_key, w_value = generator.standard_normal((3, 4, 4))
sentence = generator.standard_normal((5, 4))
shuffled = [3, 0, 4, 1, 2]
before = self_attention(sentence, w_query, w_key, w_value)
after = self_attention(sentence[shuffled], w_query, w_key, w_value)
print("shuffled in, shuffled out:", np.allclose(after, before[shuffled]))
print("the mean over the words:  ", np.allclose(after.mean(axis=0), before.mean(axis=0)))

# %% nbgrader={"grade": true, "grade_id": "self-attention-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: self-attention, 3 points for one sentence, 1 for leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("06.self_attention", self_attention, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 9. Masked self-attention as a torch module
#
# {{exercise 06.self_attention_module}}
#
# Now with a mask, and with parameters that can be trained. (New to torch? *How to use the course* has a
# section *As much PyTorch as you need*.) Write a module:
#
# - `SelfAttention(d_model, d_k, d_v)` has three parameters, each a `torch.nn.Parameter` under this very
#   name: `w_query (d_model, d_k)`, `w_key (d_model, d_k)` and `w_value (d_model, d_v)`. Begin them with
#   any numbers.
# - `forward(x, mask)` takes `x (B, T, d_model)` and a boolean `mask`, `(B, 1, T)` or `(B, T, T)`, and
#   returns the output alone, `(B, T, d_v)`.
# - Where a word may look at nothing its output is 0, and every gradient through it is 0. Never NaN.
#
# Two of the five points are for calls without a mask, forwards and backwards; three for masks. Your
# module is built, loaded with parameters, run, and differentiated.


# %% nbgrader={"grade": false, "grade_id": "self-attention-module", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "06.self_attention_module", "helpers": ["imports-torch"]}
class SelfAttention(torch.nn.Module):
    """Self-attention under a mask: x (B, T, d_model) and mask to the output (B, T, d_v)."""

    def __init__(self, d_model, d_k, d_v):
        ### BEGIN SOLUTION
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k) / d_model**0.5)
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k) / d_model**0.5)
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v) / d_model**0.5)
        ### END SOLUTION

    def forward(self, x, mask):
        ### BEGIN SOLUTION
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value  # (B, T, …)
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5  # (B, T, T)
        # The lowest finite number: hidden keys get no weight, and an empty row makes no NaN …
        hidden = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        # … and still ends with weights of 0.
        weights = hidden.softmax(dim=-1).masked_fill(~mask, 0.0)  # (B, T, T)
        return weights @ value  # (B, T, d_v)
        ### END SOLUTION


# %%
check("06.self_attention_module", SelfAttention)

# %% [markdown]
# Your module can learn whom a pronoun means. Each sentence has five nouns and, at its end, a pronoun. A
# noun is one of four kinds and carries a value; the pronoun is of one kind too, and exactly one noun of
# the sentence has that kind. The output at the pronoun should be that noun's value.

# %%
torch.manual_seed(0)
module = SelfAttention(5, 8, 1)
with torch.no_grad():  # the same beginning for every solution of the exercise
    for parameter in module.parameters():
        parameter.normal_(std=0.3)
optimiser = torch.optim.Adam(module.parameters(), lr=0.03)


def sentences(n):
    """Sentences (n, 6, 5): four places for the kind, one for the value; and the noun meant (n,)."""
    meant, kind = torch.randint(5, (n,)), torch.randint(4, (n,))
    kinds = (kind[:, None] + torch.randint(1, 4, (n, 5))) % 4  # other kinds than the pronoun's
    kinds[torch.arange(n), meant] = kind
    kinds = torch.cat([kinds, kind[:, None]], dim=1)  # (n, 6)
    value = torch.cat([torch.randn(n, 5), torch.zeros(n, 1)], dim=1)  # the pronoun has none
    return torch.cat([torch.eye(4)[kinds], value[:, :, None]], dim=-1), meant


not_itself = torch.ones(1, 6, 6, dtype=torch.bool)
not_itself[:, 5, 5] = False  # the pronoun looks at nouns only
for _ in range(200):
    x, meant = sentences(64)
    target = x[torch.arange(64), meant, 4]
    loss = (module(x, not_itself)[:, 5, 0] - target).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()

x, meant = sentences(1)
with torch.no_grad():
    scores = (x @ module.w_query) @ (x @ module.w_key).transpose(-1, -2) / 8**0.5
weights = library.masked_softmax(scores[0].numpy(), not_itself[0].numpy())
names = [f"noun of kind {k}" for k in x[0, :5, :4].argmax(dim=-1).tolist()]
pronoun = f"pronoun of kind {x[0, 5, :4].argmax().item()}"
heat_map(
    weights[5:],
    [pronoun],
    [*names, "the pronoun itself"],
    title=f"After 200 steps, loss {loss.item():.2f}",
)

# %% nbgrader={"grade": true, "grade_id": "self-attention-module-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Graded: the module, 2 points without a mask, 3 with masks; both include gradients.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("06.self_attention_module", SelfAttention, points=5)
### END HIDDEN TESTS

# %% [markdown]
# ## 10. A program with a fault
#
# In this program two masks meet. One comes from the model, `causal`: True where a query *may* look. The
# other comes with the data, `padding`: True where *nothing stands*. So do the masks of different
# libraries differ, too. The program runs, its masks look reasonable, and the training loss falls
# faster than ever: suspiciously fast.


# %% nbgrader={"grade": false, "grade_id": "faulty-allowed-pairs", "locked": true, "schema_version": 3, "solution": false, "task": false}
def faulty_allowed_pairs(causal, padding):
    """Who may look at whom, (B, m, n), from two masks of unlike meaning. Something is wrong here."""
    future = ~causal  # (m, n), True where a query must not look
    hidden = future & padding[:, None, :]  # (B, m, n)
    return ~hidden


# %% [markdown]
# ### 10a. Find masks on which the fault shows
#
# {{exercise 06.counterexample}}
#
# Two things must stay hidden from a query: the future, and padding. Return masks on which the faulty
# program lets **both** through: `causal`, a causal mask of shape `(m, n)`, and `padding` of shape
# `(B, n)`, True at padding, so that in the result of `faulty_allowed_pairs(causal, padding)` some query
# may look at the future, and some query (the same or another) at padding that is not in its future.


# %% nbgrader={"grade": false, "grade_id": "counterexample", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "06.counterexample", "helpers": ["imports"]}
def counterexample():
    """Return causal (m, n) and padding (B, n) on which future and padding are both let through."""
    ### BEGIN SOLUTION
    return np.tri(3, dtype=bool), np.array([[False, False, True]])
    ### END SOLUTION


# %%
check("06.counterexample", counterexample)

# %% nbgrader={"grade": true, "grade_id": "counterexample-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: whether both halves of the fault show on your masks.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("06.counterexample", counterexample, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ### 10b. Mend the program
#
# {{exercise 06.allowed_pairs}}
#
# Write the program as it should be. `causal` is `(m, n)`, True where a query may look; `padding` is
# `(B, n)`, True where nothing stands, wherever that is. Return booleans of shape `(B, m, n)`, True where
# a query may look. Do not change the arguments.


# %% nbgrader={"grade": false, "grade_id": "allowed-pairs", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "06.allowed_pairs", "helpers": ["imports"]}
def allowed_pairs(causal, padding):
    """Return who may look at whom, (B, m, n), neither into the future nor at padding."""
    ### BEGIN SOLUTION
    return causal & ~padding[:, None, :]  # (m, n) and (B, 1, n)
    ### END SOLUTION


# %%
check("06.allowed_pairs", allowed_pairs)

# %% nbgrader={"grade": true, "grade_id": "allowed-pairs-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the mended program, 1 point for the plain cases, 1 for few queries, scattered padding and empty sentences.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("06.allowed_pairs", allowed_pairs, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 11. In your own words
#
# **3 points** · about 10 minutes · marked by a person
#
# Someone builds a classifier of film reviews: self-attention without a mask, then the mean over all
# words. It cannot tell *"not good, bad"* from *"not bad, good"*. In four to six sentences, explain why,
# and what a causal mask and what position vectors would change.
#
# What is looked for, one point each:
#
# 1. why the outputs only change places when the words do, and what the mean makes of that;
# 2. that a causal mask ties each word to its place (the same word then sees other words), so the order
#    is no longer lost;
# 3. that something about the position must be added to the words for attention without a mask, and what
#    that changes in queries and keys.

# %% [markdown] nbgrader={"grade": true, "grade_id": "in-your-own-words", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# Each output is a mixture of the values of all words, and its weights depend on what the words are, not
# on where they stand. Both reviews hold the same words, so every word finds the same mixture in both;
# only the rows of the result have changed places. The mean over the rows does not see their order, so
# both reviews end in the same vector. Under a causal mask a word sees only those before it: *bad* after
# *good* mixes other words than *bad* before *good*, so the outputs differ, and so does their mean. With
# a vector for its position added to each word, queries and keys depend on the place too, so a word can
# score *not* just before it higher than *not* far away.
# ### END SOLUTION
