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
# # Assignment 7: multi-head attention
#
# Several small attentions instead of one large one. Here you cut a width into heads and put it
# together again, write multi-head attention by a loop and then all at once, build it as a torch module
# that takes the parameters of torch's own, count what it costs, and find a fault that no shape shows.
# Chapter 7, *Multi-head attention*, tells the story.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, and run the `check` below each. If a
# check does not pass it says what was expected, what came, and which known mistake it looks like.
# `hint("07.…", level=1)` prints a hint; levels 2 and 3 say more. A check sees results and not the way
# to them; where a text asks for a way (*without loops*), keep to it for your own sake.
#
# **How to hand in.** Restart the kernel, run all cells, save, and hand in this one file,
# `07_multi_head.ipynb`, under its own name.
#
# There are `m` queries and `n` keys; in self-attention both are the `T` words of one sentence, and `B`
# sentences make a batch. `H` heads share the width `d_model`: each has `d_head = d_model / H` columns,
# and `H` always divides `d_model` here. The dots in `(..., T, d_model)` stand for any number of
# leading axes, none included. **A mask is boolean, and True means *may be looked at*.** Each answer
# stands by itself: it may use the locked cells that its text names, but not what you wrote for another
# exercise.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "imports-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch

# %% nbgrader={"grade": false, "grade_id": "tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
from torch.utils.flop_counter import FlopCounterMode

from attnkit import numpy as library
from attnkit import torch as torch_library
from attnkit.plot import heat_map
from attnkit.torch.twins import TwinReader, score_twins, train_twins
from coursekit.checks import check, hint

# %% [markdown]
# One helper is given: the softmax of chapter 6, with or without a mask.


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
def softmax(scores, mask=None):
    """Weights along the last axis, 0 where mask is False; a row that may look at nothing is all 0."""
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)  # (..., n)
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - np.where(highest == -np.inf, 0, highest))  # (..., n)
    total = exponentials.sum(axis=-1, keepdims=True)  # (..., 1)
    return exponentials / np.where(total == 0, 1, total)  # (..., n)


# %% [markdown]
# ## 1. Predict: one head, four, or sixteen?
#
# {{exercise 07.predicted_readers}}
#
# A word of this little language is a letter with a digit, such as B3. There are 12 words in a sentence,
# and each letter stands there exactly twice. At every word a reader has to name *two* digits of the 8
# there are: that of the word before, and that of the other word with the same letter. It has one layer
# of attention of width 32, and learns for 400 steps. Which share of its answers will have **both**
# digits right, on new sentences, if the width is shared by
#
# 1. 1 head,
# 2. 4 heads,
# 3. 16 heads?
#
# All three have the same number of parameters. Return your guesses in that order, as an array of shape
# `(3,)`, each between 0 and 1. Guess before you run anything: the point is for the guess, right or
# wrong.


# %% nbgrader={"grade": false, "grade_id": "predicted-readers", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "07.predicted_readers", "helpers": ["imports"]}
def predicted_readers():
    """Return three guesses: both digits right with 1 head, with 4 and with 16."""
    ### BEGIN SOLUTION
    return np.array([0.15, 0.9, 0.3])
    ### END SOLUTION


# %%
check("07.predicted_readers", predicted_readers)

# %% [markdown]
# Now measure: three trainings, a few seconds. Were you surprised? (Chapter 7: *A task with two
# relations*.)

# %%
for n_heads in (1, 4, 16):
    torch.manual_seed(0)
    reader = TwinReader(n_heads)
    train_twins(reader, batch_size=16)
    score = score_twins(reader)
    print(
        f"{n_heads:2} heads: word before {score.before:.2f}, same letter {score.twin:.2f}, "
        f"both {score.both:.2f}"
    )

# %% nbgrader={"grade": true, "grade_id": "predicted-readers-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Graded: your guesses for the three readers.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("07.predicted_readers", predicted_readers, points=1)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. By hand: two heads, two words
#
# {{exercise 07.merged_by_hand}}
#
# Two words, a width of 4, two heads. After the projection the values are
#
# | values | column 1 | column 2 | column 3 | column 4 |
# |---|---|---|---|---|
# | first word | 2 | 6 | 1 | 5 |
# | second word | 4 | 0 | 9 | 13 |
#
# and the weights of the heads (a row is the word that looks) are
#
# | first head | first word | second word |
# |---|---|---|
# | first word | 1 | 0 |
# | second word | 1/2 | 1/2 |
#
# | second head | first word | second word |
# |---|---|---|
# | first word | 0 | 1 |
# | second word | 1/4 | 3/4 |
#
# With pencil and paper: what do the heads find, put side by side? Return the merged heads, before the
# output projection, as an array of shape `(2, 4)`: a row for each word. (Chapter 7: *Project, split,
# attend, put side by side, project*.)


# %% nbgrader={"grade": false, "grade_id": "merged-by-hand", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "07.merged_by_hand", "helpers": ["imports"]}
def merged_by_hand():
    """Return what both heads find for both words, side by side, (2, 4)."""
    ### BEGIN SOLUTION
    return np.array([[2, 6, 9, 13], [3, 3, 7, 11]])
    ### END SOLUTION


# %%
check("07.merged_by_hand", merged_by_hand)

# %% nbgrader={"grade": true, "grade_id": "merged-by-hand-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the numbers from your paper.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("07.merged_by_hand", merged_by_hand, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Split the width into heads
#
# {{exercise 07.split_heads}}
#
# Cut the width into heads, and put the heads before the length, so that they are one more leading axis
# for whatever comes next.
#
# - `x` is `(..., T, d_model)`, `n_heads` a whole number that divides `d_model`.
# - Return the heads, `(..., H, T, d_head)`. The first head owns the first `d_head` columns, the second
#   the next, and so on.
# - Do not write a loop.
#
# For example, `x = [[0., 1., 2., 3.], [4., 5., 6., 7.]]` and two heads give
# `[[[0., 1.], [4., 5.]], [[2., 3.], [6., 7.]]]`. Two of the three points are for one sentence, one for
# leading axes.


# %% nbgrader={"grade": false, "grade_id": "split-heads", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "07.split_heads", "helpers": ["imports"]}
def split_heads(x, n_heads):
    """Cut x (..., T, d_model) into heads (..., H, T, d_head)."""
    ### BEGIN SOLUTION
    heads = x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads)  # (..., T, H, d_head)
    return np.swapaxes(heads, -3, -2)  # (..., H, T, d_head)
    ### END SOLUTION


# %%
check("07.split_heads", split_heads)

# %% nbgrader={"grade": true, "grade_id": "split-heads-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the split, 2 points for one sentence, 1 for leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("07.split_heads", split_heads, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. Merge the heads
#
# {{exercise 07.merge_heads}}
#
# The way back: `heads` is `(..., H, T, d_head)`. Return `(..., T, H * d_head)`, the first head's columns
# first. Again without a loop. For example, `[[[0., 1.], [4., 5.]], [[2., 3.], [6., 7.]]]` gives
# `[[0., 1., 2., 3.], [4., 5., 6., 7.]]`. Two of the three points are for one sentence, one for leading
# axes.


# %% nbgrader={"grade": false, "grade_id": "merge-heads", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "07.merge_heads", "helpers": ["imports"]}
def merge_heads(heads):
    """Put heads (..., H, T, d_head) side by side, (..., T, H * d_head)."""
    ### BEGIN SOLUTION
    by_word = np.swapaxes(heads, -3, -2)  # (..., T, H, d_head)
    return by_word.reshape(*by_word.shape[:-2], by_word.shape[-2] * by_word.shape[-1])
    ### END SOLUTION


# %%
check("07.merge_heads", merge_heads)

# %% [markdown]
# Every number below says to which word it belongs: 0, 1 or 2. Two heads of width 3 were split off;
# merged again, each row should hold one word only. Which of the two ways does that?

# %%
marked = split_heads(np.repeat(np.arange(3.0)[:, None], 6, axis=1), 2)  # (2, 3, 3)
print("merged:\n", merge_heads(marked))
print("only reshaped:\n", marked.reshape(3, 6))

# %% nbgrader={"grade": true, "grade_id": "merge-heads-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the merge, 2 points for one sentence, 1 for leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("07.merge_heads", merge_heads, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. Multi-head attention, by a loop
#
# {{exercise 07.multi_head_loop}}
#
# As it is written down, one head after the other. Head `h` makes queries, keys and values by its own
# block of columns of the three matrices, and attends by itself:
#
# $$\text{head}_h = \operatorname{softmax}\!\left(\frac{Q_h K_h^\top}{\sqrt{d_\text{head}}}\right) V_h, \qquad Q_h = X W_Q^{(h)}, \quad K_h = X W_K^{(h)}, \quad V_h = X W_V^{(h)}$$
#
# Then all heads side by side are multiplied by $W_O$.
#
# - `x` is `(T, d_model)`: one sentence, no mask. `w_query`, `w_key`, `w_value` and `w_output` are
#   `(d_model, d_model)` each, and $W_Q^{(h)}$ is the `h`-th block of `d_head` columns of `w_query`,
#   counted from 0.
# - Return the output, `(T, d_model)`.
#
# You may use `softmax`. For example, if `w_query` and `w_key` are all 0, and `w_value` and `w_output` are
# `[[1., 0.], [0., 1.]]`, then `x = [[2., 0.], [4., 6.]]` gives `[[3., 3.], [3., 3.]]` with one head and
# with two. Two of the three points are for two and three heads, one for special cases.


# %% nbgrader={"grade": false, "grade_id": "multi-head-loop", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "07.multi_head_loop", "helpers": ["imports", "softmax"]}
def multi_head_loop(x, w_query, w_key, w_value, w_output, n_heads):
    """Let the words of x (T, d_model) look at each other in n_heads heads; return (T, d_model)."""
    ### BEGIN SOLUTION
    d_head = x.shape[1] // n_heads
    found = []
    for first in range(0, x.shape[1], d_head):
        own = slice(first, first + d_head)  # the columns of this head
        query, key, value = (x @ w[:, own] for w in (w_query, w_key, w_value))  # (T, d_head)
        weights = softmax(query @ key.T / d_head**0.5)  # (T, T)
        found.append(weights @ value)  # (T, d_head)
    return np.concatenate(found, axis=1) @ w_output  # (T, d_model)
    ### END SOLUTION


# %%
check("07.multi_head_loop", multi_head_loop)

# %% nbgrader={"grade": true, "grade_id": "multi-head-loop-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the loop, 2 points for two and three heads, 1 for one head, narrow heads, one word and float32.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("07.multi_head_loop", multi_head_loop, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. Multi-head attention, all heads at once
#
# {{exercise 07.multi_head_attention}}
#
# Now for any leading axes, with a mask, and without a loop over heads.
#
# - `query` is `(..., m, d_model)` and `key` is `(..., n, d_model)`. Queries are made of `query`; keys *and
#   values* are made of `key`.
# - `mask` is boolean and says for every query which keys it may look at. It is `(m, n)`, the same for all
#   sentences, or has the leading axes of `query` as well: `(..., m, n)` or, the same for all queries,
#   `(..., 1, n)`. It knows nothing of heads: what it allows, it allows to every head.
# - `parameters` is a dictionary with the matrices `"w_query"`, `"w_key"`, `"w_value"` and `"w_output"`, each
#   `(d_model, d_model)`, as before.
# - Return the output, `(..., m, d_model)`. Where a query may look at nothing it is 0.
#
# You may use `softmax`, which leaves hidden keys and empty rows at 0 when it gets a mask. For example, if
# `w_query` and `w_key` are all 0, and `w_value` and `w_output` are `[[1., 0.], [0., 1.]]`, then
# `query = [[7., 8.], [9., 9.]]` and `key = [[2., 0.], [4., 6.]]` with the mask
# `[[True, True], [True, False]]` give `[[3., 3.], [2., 0.]]`, with one head and with two. Two of the five
# points are for one sentence with nothing hidden, one for masks, two for several sentences.


# %% nbgrader={"grade": false, "grade_id": "multi-head-attention", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "07.multi_head_attention", "helpers": ["imports", "softmax"]}
def multi_head_attention(query, key, mask, parameters, n_heads):
    """Let query (..., m, d_model) look at key (..., n, d_model) in n_heads heads at once."""
    ### BEGIN SOLUTION

    def heads(x, name):
        projected = x @ parameters[name]  # (..., length, d_model)
        cut = projected.reshape(*projected.shape[:-1], n_heads, -1)  # (..., length, H, d_head)
        return np.swapaxes(cut, -3, -2)  # (..., H, length, d_head)

    q, k, v = heads(query, "w_query"), heads(key, "w_key"), heads(key, "w_value")
    scores = q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5  # (..., H, m, n)
    weights = softmax(scores, mask[..., None, :, :])  # (..., H, m, n)
    merged = np.swapaxes(weights @ v, -3, -2).reshape(query.shape)  # (..., m, d_model)
    return merged @ parameters["w_output"]  # (..., m, d_model)
    ### END SOLUTION


# %%
check("07.multi_head_attention", multi_head_attention)

# %% [markdown]
# The loop and this give the same numbers. And with random matrices, heads look at different places
# already.

# %%
generator = np.random.default_rng(7)
names = ["w_query", "w_key", "w_value", "w_output"]
parameters = {name: generator.standard_normal((16, 16)) / 4 for name in names}
words = ["the", "animal", "did", "not", "cross", "because", "it", "was", "tired"]
x = generator.standard_normal((len(words), 16))
nothing_hidden = np.ones((len(words), len(words)), dtype=bool)
looped = multi_head_loop(x, *parameters.values(), 4)
at_once = multi_head_attention(x, x, nothing_hidden, parameters, 4)
print("largest difference:", np.abs(looped - at_once).max())
_, weights = library.multi_head_attention(x, parameters=parameters, n_heads=4, return_weights=True)
heat_map(
    weights[:, words.index("it")],
    [f"head {h}" for h in range(4)],
    words,
    title="Four random heads: where “it” looks",
)

# %% nbgrader={"grade": true, "grade_id": "multi-head-attention-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Graded: all heads at once, 2 points for one sentence with nothing hidden, 1 for masks, 2 for several sentences.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("07.multi_head_attention", multi_head_attention, points=5)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. A torch module that takes torch's parameters
#
# {{exercise 07.multi_head_module}}
#
# Trained parameters come from elsewhere, and with them come somebody else's names and layout. (New to
# torch? *How to use the course* has a section *As much PyTorch as you need*.) Write a module that can
# load the state of a `torch.nn.MultiheadAttention(d_model, n_heads)` as it is:
#
# | name | shape | what it holds |
# |---|---|---|
# | `in_proj_weight` | `(3 * d_model, d_model)` | the matrices of query, key and value, one under another, each **transposed**: `(out, in)` |
# | `in_proj_bias` | `(3 * d_model,)` | their biases, in the same order |
# | `out_proj.weight` | `(d_model, d_model)` | the output projection, as a `torch.nn.Linear` stores it |
# | `out_proj.bias` | `(d_model,)` | its bias |
#
# - `MultiHeadAttention(d_model, n_heads)` has exactly these parameters. Begin them with any numbers.
# - `forward(query, key, mask)` takes `query (B, m, d_model)`, `key (B, n, d_model)`, of which keys and
#   values are made, and a boolean `mask`, `(B, 1, n)` or `(B, m, n)`, True where a query may look. It
#   returns the output alone, `(B, m, d_model)`.
# - Where a query may look at nothing its weights are 0, so that its output is `out_proj.bias`; no
#   gradient comes through these weights. Never NaN.
#
# Make it of products, `softmax` and the like, not of `torch.nn.MultiheadAttention` itself. Three of the
# six points are for calls without a mask, forwards and backwards; three for masks and float32. Your module
# is built, loaded with parameters, run, and differentiated.


# %% nbgrader={"grade": false, "grade_id": "multi-head-module", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "07.multi_head_module", "helpers": ["imports-torch"]}
class MultiHeadAttention(torch.nn.Module):
    """Multi-head attention with the parameters of torch's own, from query and key to (B, m, d_model)."""

    def __init__(self, d_model, n_heads):
        ### BEGIN SOLUTION
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model) / d_model**0.5)
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, query, key, mask):
        ### BEGIN SOLUTION
        def heads(x, weight, bias):
            projected = x @ weight.T + bias  # (B, length, d_model)
            return projected.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (B, H, length, ·)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5  # (B, H, m, n)
        hidden = ~mask[:, None]  # (B, 1, 1 or m, n)
        # The lowest finite number: hidden keys get no weight, and an empty row makes no NaN …
        looks = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(dim=-1)
        # … and still ends with weights of 0.
        found = looks.masked_fill(hidden, 0.0) @ v  # (B, H, m, d_head)
        return self.out_proj(found.transpose(1, 2).flatten(2))  # (B, m, d_model)
        ### END SOLUTION


# %%
check("07.multi_head_module", MultiHeadAttention)

# %% [markdown]
# Now load a layer of torch's and compare. Its `key_padding_mask` means the opposite of ours by True, so
# it gets ours turned round.

# %%
torch.manual_seed(7)
foreign, ours = torch.nn.MultiheadAttention(12, 3, batch_first=True), MultiHeadAttention(12, 3)
print(ours.load_state_dict(foreign.state_dict()))
query, key = torch.randn(2, 4, 12), torch.randn(2, 5, 12)
keep = torch.tensor([[True, True, True, True, True], [True, True, False, False, False]])
expected, _ = foreign(query, key, key, key_padding_mask=~keep)
difference = (ours(query, key, keep[:, None]) - expected).abs().max().item()
print(f"largest difference: {difference:.0e}")

# %% nbgrader={"grade": true, "grade_id": "multi-head-module-test", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Graded: the module, 3 points without a mask, 3 with masks and float32; all include gradients.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("07.multi_head_module", MultiHeadAttention, points=6)
### END HIDDEN TESTS

# %% [markdown]
# ## 8. Count parameters and operations
#
# {{exercise 07.multi_head_cost}}
#
# What does a layer cost, and how much of it depends on the number of heads? `m` queries look at `n` keys,
# in a width of `d_model`. There are `n_heads` heads of queries, each of width `d_model / n_heads`, and
# `n_kv_heads` heads of keys and values of the same width: usually as many, but sometimes several heads of
# queries share one. (Chapter 7: *Fewer heads for keys and values*.) Count
#
# 1. the **parameters**: four projections, each with a bias;
# 2. the **operations** of the matrix products, for one sentence: the four projections, the scores and the
#    weighted sums. A multiplication and an addition count as *two* operations, so the product of an
#    `(a, b)` and a `(b, c)` matrix takes `2 * a * b * c`. Adding biases, scaling and softmax are left out;
# 3. the **weights**: the numbers in the tables of all heads, after the softmax.
#
# Return a tuple of these three numbers. For example, `m = 1`, `n = 2`, `d_model = 2` and one head (of
# queries and of keys) give `(24, 64, 2)`. Three of the four points are for `n_kv_heads = n_heads`, one for
# shared keys. (Chapter 7: *What more heads cost*.)


# %% nbgrader={"grade": false, "grade_id": "multi-head-cost", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "07.multi_head_cost", "helpers": ["imports"]}
def multi_head_cost(m, n, d_model, n_heads, n_kv_heads):
    """Return a layer's parameters, operations and weights as a tuple of three numbers."""
    ### BEGIN SOLUTION
    d_head = d_model // n_heads
    d_kv = n_kv_heads * d_head  # columns of all keys, and of all values
    parameters = 2 * (d_model * d_model + d_model) + 2 * (d_model * d_kv + d_kv)
    of_queries = 2 * (2 * m * d_model * d_model)  # the projections of query and output
    of_keys = 2 * (2 * n * d_model * d_kv)  # those of key and value
    of_heads = n_heads * 2 * (2 * m * d_head * n)  # scores and weighted sums of each head
    return parameters, of_queries + of_keys + of_heads, n_heads * m * n
    ### END SOLUTION


# %%
check("07.multi_head_cost", multi_head_cost)

# %% [markdown]
# Does it agree with torch, which can count the operations of the products that it is asked for? A
# sentence of 20 words, a width of 24:

# %%
print("heads  keys'   parameters, operations, weights: yours and counted")
for n_heads, n_kv_heads in [(1, 1), (2, 2), (4, 4), (24, 24), (24, 1)]:
    layer = torch_library.MultiHeadAttention(24, n_heads, n_kv_heads=n_kv_heads)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        _, table = layer(torch.zeros(20, 24), return_weights=True)
    n_parameters = sum(parameter.numel() for parameter in layer.parameters())
    counted = n_parameters, counter.get_total_flops(), table.numel()
    yours = multi_head_cost(20, 20, 24, n_heads, n_kv_heads)
    print(f"{n_heads:5} {n_kv_heads:6}   {yours}  {counted}")

# %% nbgrader={"grade": true, "grade_id": "multi-head-cost-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: the counts, 3 points with as many heads of keys as of queries, 1 with shared keys.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("07.multi_head_cost", multi_head_cost, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 9. A program with a fault
#
# This program lets the words of one sentence look at themselves and at earlier words, in heads. To keep it
# short there are no matrices: queries, keys and values are the columns of `x` themselves. It runs, the
# shapes are right, and it can even be trained.


# %% nbgrader={"grade": false, "grade_id": "faulty-heads", "locked": true, "schema_version": 3, "solution": false, "task": false}
def faulty_heads(x, n_heads):
    """Causal self-attention in heads, from x (T, d_model) to (T, d_model). Something is wrong here."""
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head)  # (T, H, d_head)
    heads = heads.swapaxes(0, 1)  # (H, T, d_head)
    scores = heads @ heads.swapaxes(1, 2) / d_head**0.5  # (H, T, T)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads  # (H, T, d_head)
    return context.reshape(length, d_model)


# %% [markdown]
# ### 9a. Find two sentences on which the fault shows
#
# {{exercise 07.counterexample}}
#
# How would you notice, without a right program to compare with? By a *law*. The program is causal, so if
# only the **last** word of a sentence is exchanged, all earlier rows of the result must stay as they were.
# Return `x` and `other`, two sentences `(T, d_model)` that differ in their last word and nowhere else, and
# `n_heads`, so that `faulty_heads(x, n_heads)` and `faulty_heads(other, n_heads)` differ visibly (by more
# than 0.001) in some *earlier* row.


# %% nbgrader={"grade": false, "grade_id": "counterexample", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "07.counterexample", "helpers": ["imports"]}
def counterexample():
    """Return x and other (T, d_model), which differ in their last word, and n_heads."""
    ### BEGIN SOLUTION
    x = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]])
    other = x.copy()
    other[-1] += 1.0
    return x, other, 2
    ### END SOLUTION


# %%
check("07.counterexample", counterexample)

# %% nbgrader={"grade": true, "grade_id": "counterexample-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: whether the last word reaches an earlier row on your sentences.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("07.counterexample", counterexample, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ### 9b. Mend the program
#
# {{exercise 07.heads_together}}
#
# Write the program as it should be: `x` is `(T, d_model)`, the result too. You may copy the faulty one
# and use `softmax`. (Chapter 7: *The merge that shapes do not show*.)


# %% nbgrader={"grade": false, "grade_id": "heads-together", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "07.heads_together", "helpers": ["imports", "softmax"]}
def heads_together(x, n_heads):
    """Let each word of x (T, d_model) look at itself and at earlier ones, in n_heads heads."""
    ### BEGIN SOLUTION
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head).swapaxes(0, 1)  # (H, T, d_head)
    scores = heads @ heads.swapaxes(1, 2) / d_head**0.5  # (H, T, T)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads  # (H, T, d_head)
    return context.swapaxes(0, 1).reshape(length, d_model)  # (T, H, d_head), then (T, d_model)
    ### END SOLUTION


# %%
check("07.heads_together", heads_together)

# %% nbgrader={"grade": true, "grade_id": "heads-together-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the mended program, 1 point for the plain cases, 1 for one head, narrow heads, one word and float32.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("07.heads_together", heads_together, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 10. In your own words
#
# **3 points** · about 10 minutes · marked by a person
#
# A colleague says: *"Our layer has a width of 64 and 4 heads. With 64 heads it would have just as many
# parameters and need just as many operations, so let us take 64: more heads see more, and it costs
# nothing."* In four to six sentences, say what is right and what is wrong about this.
#
# What is looked for, one point each:
#
# 1. why neither the parameters nor the operations of the products depend on the number of heads, and
#    what does grow with it all the same;
# 2. what a head of width 1 has left to tell keys apart by;
# 3. what several heads are good for (what can a single row of weights not do?), and how one would find
#    out, for a given task, which number is best.

# %% [markdown] nbgrader={"grade": true, "grade_id": "in-your-own-words", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# It is right that heads share the width: twice as many heads are half as wide each, so the projections
# stay `(64, 64)`, and scores and weighted sums need as many operations as before. But every head has a
# table of weights of its own: with 64 heads there are 16 times as many weights as with 4, each of which
# needs an exponential and a place in memory, so the layer gets slower and larger. A head of width 1
# compares a query and a key by the product of two single numbers; that can order keys from small to large,
# but cannot pick out one of many kinds. Several heads help where a word needs several others at once,
# because a row of weights sums to one, and half of each of two words is a mixture that does not say what
# came from whom. How many are best must be tried: train with 1, 2, 4, 8, … heads at the same width, each
# with several seeds, and compare on data that were not used for training.
# ### END SOLUTION
