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
# # Assignment 9: the Transformer
#
# A Transformer is a pile of layers, and a layer is a chain of sublayers held together by residual
# connections and norms. Here you write the parts (layer norm, the feed-forward network), put them
# together to an encoder layer and a decoder layer, build one of them as a torch module that takes
# over the parameters of torch's own, and write two habits of its training: the warm-up schedule and
# label smoothing. And you find a fault in a program with dropout. Chapter 9, *The Transformer*, tells
# the story.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, and run the `check` below each. If a
# check does not pass it says what was expected, what came, and which known mistake it looks like.
# `hint("09.…", level=1)` prints a hint; levels 2 and 3 say more.
#
# **How to hand in.** Restart the kernel, run all cells, save, and hand in this one file,
# `09_transformer.ipynb`, under its own name.
#
# The dots in `(..., n, d_model)` stand for any number of leading axes, none included. `n` positions
# are the words of one sentence; in the decoder there are `m` words of the target and `n` of the
# source. `B` sentences make a batch. **A mask is boolean, and True means *may be looked at*.** Each
# answer stands by itself: it may use the locked cells that its text names, but not what you wrote for
# another exercise.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "imports-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch

# %% nbgrader={"grade": false, "grade_id": "tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
from attnkit import numpy as library
from attnkit.plot import curves
from coursekit.checks import check, hint

# %% [markdown]
# ## 1. Predict: what is left of a word?
#
# {{exercise 09.predicted_remainder}}
#
# Twelve random words of width 64 go into a stack of 8 encoder layers with random parameters; nothing
# is trained. At the top, take the vector at each position and compare its direction with that of the
# word that went in there, by the cosine between the two: 1 if both point the same way, 0 if they have
# nothing to do with each other. Guess the mean cosine for
#
# 1. pre-norm layers,
# 2. post-norm layers,
# 3. layers *without* residual connections (and with the norm after each sublayer).
#
# Return your three guesses in that order, as an array of shape `(3,)`, each between -1 and 1. Guess
# before you run anything: the point is for the guess, right or wrong. (Chapter 9: *Adding instead of
# replacing: the residual connection*, for a question that is close to this one.)


# %% nbgrader={"grade": false, "grade_id": "predicted-remainder", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.predicted_remainder", "helpers": ["imports"]}
def predicted_remainder():
    """Return three guesses: the cosine for pre-norm, post-norm, and no residual connections."""
    ### BEGIN SOLUTION
    return np.array([0.5, 0.4, 0.0])
    ### END SOLUTION


# %%
check("09.predicted_remainder", predicted_remainder)

# %% [markdown]
# Now measure, over 10 random stacks. Were you surprised? A pre-norm layer only adds to the word. A
# post-norm layer rescales each sum, and with it what is left of the word.

# %%
generator = np.random.default_rng(9)


def layer_parameters(d_model, sublayers=("attention", "feed_forward")):
    """Draw parameters of one layer: products keep the size of what they multiply, biases are 0."""

    def part(rows, columns):
        return generator.standard_normal((rows, columns)) / rows**0.5, np.zeros(columns)

    widths = dict.fromkeys(("query", "key", "value", "output"), (d_model, d_model))
    parameters = {}
    for sublayer in sublayers:
        if sublayer == "feed_forward":
            widths = {"hidden": (d_model, 4 * d_model), "output": (4 * d_model, d_model)}
        parameters[sublayer] = {}
        for name, (rows, columns) in widths.items():
            weight, bias = part(rows, columns)
            parameters[sublayer] |= {f"w_{name}": weight, f"b_{name}": bias}
        parameters[f"{sublayer}_norm"] = {"gain": np.ones(d_model), "bias": np.zeros(d_model)}
    return parameters


def remainder(**options):
    """The mean cosine between what goes into 8 layers and what comes out, over 10 stacks."""
    cosines = []
    for _ in range(10):
        x = y = generator.standard_normal((12, 64))
        for _ in range(8):
            y = library.encoder_layer(y, layer_parameters(64), n_heads=4, **options)
        cosines.append((x * y).sum(-1) / np.linalg.norm(x, axis=-1) / np.linalg.norm(y, axis=-1))
    return np.mean(cosines)


print(f"pre-norm: {remainder(norm='pre'):.2f}")
print(f"post-norm: {remainder(norm='post'):.2f}")
print(f"no residual connections: {remainder(residual=False):.2f}")

# %% nbgrader={"grade": true, "grade_id": "predicted-remainder-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Graded: your guesses for what is left of a word.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.predicted_remainder", predicted_remainder, points=1)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. By hand: a norm in two places
#
# {{exercise 09.norms_by_hand}}
#
# A sublayer that can be followed with a pencil: it makes `[2b, 0]` of a row `[a, b]`. The row that
# comes in is `x = [1, 5]`. *Norm* means: subtract the mean of the row, divide by its standard
# deviation (the root of the mean of the squared distances from the mean); there is no eps, no gain
# and no bias. Work out
#
# 1. the norm of `x` itself,
# 2. what leaves a **post-norm** layer: norm(x + sublayer(x)),
# 3. what leaves a **pre-norm** layer: x + sublayer(norm(x)).
#
# Return the three rows in this order, as an array of shape `(3, 2)`.


# %% nbgrader={"grade": false, "grade_id": "norms-by-hand", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.norms_by_hand", "helpers": ["imports"]}
def norms_by_hand():
    """Return three rows: the norm of x, the post-norm layer, the pre-norm layer."""
    ### BEGIN SOLUTION
    return np.array([[-1, 1], [1, -1], [3, 5]])
    ### END SOLUTION


# %%
check("09.norms_by_hand", norms_by_hand)

# %% nbgrader={"grade": true, "grade_id": "norms-by-hand-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the numbers from your paper.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.norms_by_hand", norms_by_hand, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Layer norm
#
# {{exercise 09.layer_norm}}
#
# Give each row mean 0 and variance 1, then let two learnt vectors stretch and move its columns:
#
# $$y = \frac{x - \bar x}{\sqrt{v + \varepsilon}} \odot \text{gain} + \text{bias}$$
#
# where $\bar x$ is the mean of the row and $v$ its variance, the mean of $(x - \bar x)^2$.
#
# - `x` is `(..., d)`; each row of `d` numbers is normalised by itself. `gain` and `bias` are `(d,)`,
#   `eps` is a small number that keeps a row of equal numbers from dividing by 0.
# - Return an array shaped like `x`. Do not change `x`.
#
# For example, with `gain = [1., 1.]`, `bias = [0., 10.]` and an `eps` of nearly 0, the row `[1., 5.]`
# gives `[-1., 11.]`. Half of the three points are for plain tables, half for rows of equal or large
# numbers and for other axes. (Chapter 9: *One scale for all: layer normalisation*.)


# %% nbgrader={"grade": false, "grade_id": "layer-norm", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.layer_norm", "helpers": ["imports"]}
def layer_norm(x, gain, bias, eps):
    """Return the rows of x (..., d) with mean 0 and variance 1, stretched and moved."""
    ### BEGIN SOLUTION
    centred = x - x.mean(axis=-1, keepdims=True)  # (..., d)
    variance = (centred**2).mean(axis=-1, keepdims=True)  # (..., 1)
    return centred / np.sqrt(variance + eps) * gain + bias
    ### END SOLUTION


# %%
check("09.layer_norm", layer_norm)

# %% [markdown]
# One of these rows is a thousand times as large as another, and one lies far from 0. After the norm
# the next sublayer sees them all at one scale.

# %%
rows = np.array([[0.001, 0.002, 0.006], [1.0, 2.0, 6.0], [1001.0, 1002.0, 1006.0]])
print(layer_norm(rows, np.ones(3), np.zeros(3), 1e-12).round(3))
print("with eps = 0.00001 the first row is so small that eps counts:")
print(layer_norm(rows, np.ones(3), np.zeros(3), 1e-5).round(3))

# %% nbgrader={"grade": true, "grade_id": "layer-norm-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: layer norm, 1.5 points for plain tables, 1.5 for special rows and other axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.layer_norm", layer_norm, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. The feed-forward network
#
# {{exercise 09.feed_forward}}
#
# Each position thinks for itself, in one hidden layer:
#
# $$\text{output} = \max(0,\; x\,W_\text{hidden} + b_\text{hidden})\, W_\text{output} + b_\text{output}$$
#
# - `x` is `(..., n, d_model)`. `parameters` is a dictionary of arrays: `w_hidden (d_model, d_ff)`,
#   `b_hidden (d_ff,)`, `w_output (d_ff, d_model)`, `b_output (d_model,)`.
# - Return the output, `(..., n, d_model)`. The residual connection is not made here.
#
# For example, with `w_hidden = [[1., -1.]]`, `w_output = [[1.], [1.]]` and biases of 0, the positions
# `[[3.], [-2.]]` give `[[3.], [2.]]`: two hidden units make the modulus. One point is for one
# sentence, one for leading axes. (Chapter 9: *Thinking alone: the feed-forward sublayer*.)


# %% nbgrader={"grade": false, "grade_id": "feed-forward", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.feed_forward", "helpers": ["imports"]}
def feed_forward(x, parameters):
    """Return what the hidden layer makes of each position of x (..., n, d_model)."""
    ### BEGIN SOLUTION
    hidden = np.maximum(x @ parameters["w_hidden"] + parameters["b_hidden"], 0)  # (..., n, d_ff)
    return hidden @ parameters["w_output"] + parameters["b_output"]  # (..., n, d_model)
    ### END SOLUTION


# %%
check("09.feed_forward", feed_forward)

# %% nbgrader={"grade": true, "grade_id": "feed-forward-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the feed-forward network, 1 point for one sentence, 1 for leading axes.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.feed_forward", feed_forward, points=2)
### END HIDDEN TESTS

# %% [markdown]
# Now the parts are put together. From here on three working parts are given, so that whatever went
# wrong above costs you nothing below. `attend` is the multi-head attention of chapter 7. Its second
# argument, `memory`, is where keys and values come from; in self-attention that is `x` again. `think`
# is the feed-forward network, and `normalise` is layer norm with its gain and bias in a dictionary.


# %% nbgrader={"grade": false, "grade_id": "attend", "locked": true, "schema_version": 3, "solution": false, "task": false}
def attend(x, memory, parameters, n_heads, mask=None):
    """Multi-head attention of x (..., m, d) to memory (..., n, d); mask is True at what may be seen."""

    def heads(rows, name):
        rows = rows @ parameters[f"w_{name}"] + parameters[f"b_{name}"]
        return np.swapaxes(rows.reshape(*rows.shape[:-1], n_heads, -1), -2, -3)

    query, key, value = heads(x, "query"), heads(memory, "key"), heads(memory, "value")
    scores = query @ np.swapaxes(key, -1, -2) / key.shape[-1] ** 0.5  # (..., n_heads, m, n)
    seen = np.bool_(True) if mask is None else np.expand_dims(mask, -3)  # the same in all heads
    scores = np.where(seen, scores, np.finfo(scores.dtype).min)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True)) * seen
    total = weights.sum(axis=-1, keepdims=True)
    found = weights / np.where(total > 0, total, 1) @ value  # (..., n_heads, m, d_k)
    found = np.swapaxes(found, -2, -3)  # (..., m, n_heads, d_k)
    found = found.reshape(*found.shape[:-2], -1)  # (..., m, d)
    return found @ parameters["w_output"] + parameters["b_output"]


# %% nbgrader={"grade": false, "grade_id": "think", "locked": true, "schema_version": 3, "solution": false, "task": false}
def think(x, parameters):
    """The feed-forward sublayer: each position of x (..., n, d) by itself."""
    hidden = np.maximum(x @ parameters["w_hidden"] + parameters["b_hidden"], 0)
    return hidden @ parameters["w_output"] + parameters["b_output"]


# %% nbgrader={"grade": false, "grade_id": "normalise", "locked": true, "schema_version": 3, "solution": false, "task": false}
def normalise(x, parameters):
    """Layer norm of the rows of x (..., d), with the gain and the bias in parameters."""
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    normal = (x - x.mean(axis=-1, keepdims=True)) / deviation
    return normal * parameters["gain"] + parameters["bias"]


# %% [markdown]
# ## 5. The encoder layer, with the norm in either place
#
# {{exercise 09.encoder_layer}}
#
# Two sublayers, first attention, then the feed-forward network. What each of them finds is *added* to
# what it was given. `norm` says where the norms stand:
#
# $$\text{post:}\quad x \leftarrow \text{norm}(x + \text{sublayer}(x)) \qquad\qquad \text{pre:}\quad x \leftarrow x + \text{sublayer}(\text{norm}(x))$$
#
# - `x` is `(..., n, d_model)`, `n_heads` a whole number, `norm` is `"post"` or `"pre"`.
# - `parameters` is a dictionary of dictionaries: `"attention"` as `attend` takes it, `"feed_forward"`
#   as `think` takes it, and `"attention_norm"` and `"feed_forward_norm"` as `normalise` takes them.
# - `mask` is boolean and broadcasts against `(..., n, n)`: `(1, n)`, `(B, 1, n)`, `(n, n)`, …
# - Return the output, `(..., n, d_model)`. Do not change `x`.
#
# Use `attend`, `think` and `normalise`. For example, where all weights and biases of both sublayers
# are 0 they find nothing: then a pre-norm layer returns `x` as it came, and a post-norm layer its
# norm. Two of the four points are for post-norm, one for pre-norm, one for masks. (Chapter 9: *Adding
# instead of replacing: the residual connection*.)


# %% nbgrader={"grade": false, "grade_id": "encoder-layer", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.encoder_layer", "helpers": ["imports", "attend", "think", "normalise"]}
def encoder_layer(x, parameters, n_heads, mask, norm):
    """Return x (..., n, d_model) after attention and feed-forward, with the norms "post" or "pre"."""
    ### BEGIN SOLUTION
    attention, network = parameters["attention"], parameters["feed_forward"]
    first, second = parameters["attention_norm"], parameters["feed_forward_norm"]
    if norm == "pre":
        normal = normalise(x, first)
        x = x + attend(normal, normal, attention, n_heads, mask)
        return x + think(normalise(x, second), network)
    x = normalise(x + attend(x, x, attention, n_heads, mask), first)
    return normalise(x + think(x, network), second)
    ### END SOLUTION


# %%
check("09.encoder_layer", encoder_layer)

# %% [markdown]
# How long are the vectors on their way up? In a stack of 16 of your layers, after each layer:

# %%
everywhere = np.ones((1, 12), dtype=bool)
lengths = {}
for norm in ("post", "pre"):
    x = generator.standard_normal((12, 64))
    lengths[f"{norm}-norm"] = []
    for _ in range(16):
        x = encoder_layer(x, layer_parameters(64), 4, everywhere, norm)
        lengths[f"{norm}-norm"].append(np.linalg.norm(x, axis=-1).mean())

curves(
    range(1, 17),
    lengths,
    x_label="layers",
    y_label="mean length of a vector",
    title="Post-norm keeps the length, pre-norm only ever adds",
)

# %% [markdown]
# So a new sublayer changes less and less in a pre-norm stack: what it adds is of one size, and what
# it is added to has grown. (A last norm at the top brings the result back to one scale.)

# %% nbgrader={"grade": true, "grade_id": "encoder-layer-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: the encoder layer, 2 points for post-norm, 1 for pre-norm, 1 for masks.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.encoder_layer", encoder_layer, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. The decoder layer
#
# {{exercise 09.decoder_layer}}
#
# Three sublayers, each followed by sum and norm (post-norm, as in the paper):
#
# 1. self-attention over the target, in which no position sees a later one,
# 2. attention to the source: queries from the target, keys and values from `memory`,
# 3. the feed-forward network.
#
# - `x` is `(..., m, d_model)`, the target; `memory` is `(..., n, d_model)`, what the encoder made.
# - `parameters` has `"attention"`, `"memory_attention"` and `"feed_forward"`, and for each of them
#   its norm: `"attention_norm"`, `"memory_attention_norm"`, `"feed_forward_norm"`.
# - `memory_mask` is boolean and says which of the source may be looked at, `(1, n)` or `(B, 1, n)`.
#   The triangle of the target is for you to make.
# - Return the output, `(..., m, d_model)`.
#
# Use `attend`, `think` and `normalise`. Here a mask is not only what comes in: two of the three
# sublayers look, and each has its own. Two of the four points are for sources without padding, two
# for sources with padding. (Chapter 9: *The decoder: not ahead, and across*.)


# %% nbgrader={"grade": false, "grade_id": "decoder-layer", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.decoder_layer", "helpers": ["imports", "attend", "think", "normalise"]}
def decoder_layer(x, memory, parameters, n_heads, memory_mask):
    """Return the target x (..., m, d_model) after a look back, a look at memory, and a thought."""
    ### BEGIN SOLUTION
    m = x.shape[-2]
    found = attend(x, x, parameters["attention"], n_heads, np.tri(m, dtype=bool))
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])
    ### END SOLUTION


# %%
check("09.decoder_layer", decoder_layer)

# %% [markdown]
# Why training is parallel: with the triangle, *one* call for the whole target gives at every position
# what a call for the words up to there would give.

# %%
parameters = layer_parameters(64, ("attention", "memory_attention", "feed_forward"))
target, memory = generator.standard_normal((2, 9, 64))
seen = np.ones((1, 9), dtype=bool)
at_once = decoder_layer(target, memory, parameters, 4, seen)
in_turn = [decoder_layer(target[: t + 1], memory, parameters, 4, seen)[-1] for t in range(9)]
print(f"1 call against 9 calls, largest difference: {np.abs(at_once - in_turn).max():.0e}")

# %% nbgrader={"grade": true, "grade_id": "decoder-layer-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: the decoder layer, 2 points without padding in the source, 2 with it.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.decoder_layer", decoder_layer, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. The encoder layer as a torch module
#
# {{exercise 09.encoder_layer_module}}
#
# Now a layer that can be trained, and that can take over what others have trained. torch has one,
# `torch.nn.TransformerEncoderLayer`. Write your own, with the same parameters under the same names:
#
# - `EncoderLayer(d_model, n_heads, d_ff, pre_norm)`; `pre_norm` is True or False.
# - Its parts are `self_attn`, a `torch.nn.MultiheadAttention`; `linear1` (`d_model` to `d_ff`) and
#   `linear2` (back), each a `torch.nn.Linear`; and `norm1` and `norm2`, each a `torch.nn.LayerNorm`.
#   With these names the parameters are called as torch's are: `self_attn.in_proj_weight`,
#   `linear1.weight`, and so on.
# - `forward(x, mask)` takes `x (B, T, d_model)` and a boolean `mask (B, 1, T)`, True where there is a
#   word, and returns the output alone, `(B, T, d_model)`. Each sentence has at least one word. The rows
#   of the padding are computed like all others, from the words. There is no dropout.
#
# Two of the five points are for post-norm, one for pre-norm, two for padding. Your module is built,
# loaded with parameters, run, and differentiated: every gradient is compared, too. (Do not just wrap
# torch's layer; what is asked for are the lines inside.)


# %% nbgrader={"grade": false, "grade_id": "encoder-layer-module", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.encoder_layer_module", "helpers": ["imports-torch"]}
class EncoderLayer(torch.nn.Module):
    """An encoder layer: x (B, T, d_model) and mask (B, 1, T) to the output (B, T, d_model)."""

    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        ### BEGIN SOLUTION
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.linear1 = torch.nn.Linear(d_model, d_ff)
        self.linear2 = torch.nn.Linear(d_ff, d_model)
        self.norm1 = torch.nn.LayerNorm(d_model)
        self.norm2 = torch.nn.LayerNorm(d_model)
        self.pre_norm = pre_norm
        ### END SOLUTION

    def forward(self, x, mask):
        ### BEGIN SOLUTION
        padding = ~mask[:, 0]  # (B, T): torch's True means "ignore"

        def attend(rows):
            return self.self_attn(rows, rows, rows, key_padding_mask=padding)[0]

        def think(rows):
            return self.linear2(torch.relu(self.linear1(rows)))

        if self.pre_norm:
            x = x + attend(self.norm1(x))
            return x + think(self.norm2(x))
        x = self.norm1(x + attend(x))
        return self.norm2(x + think(x))
        ### END SOLUTION


# %%
check("09.encoder_layer_module", EncoderLayer)

# %% [markdown]
# Take over the parameters of a layer of torch's, in both settings, and compare on two sentences of
# which one has padding.

# %%
torch.manual_seed(0)
x = torch.randn(2, 5, 32)
words = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
for pre_norm in (False, True):
    theirs = torch.nn.TransformerEncoderLayer(
        32, 4, 128, dropout=0.0, norm_first=pre_norm, batch_first=True
    )
    ours = EncoderLayer(32, 4, 128, pre_norm)
    ours.load_state_dict(theirs.state_dict())
    difference = ours(x, words[:, None]) - theirs(x, src_key_padding_mask=~words)
    largest = difference[words].abs().max().item()
    print(f"pre_norm={pre_norm}: largest difference at a word {largest:.0e}")

# %% nbgrader={"grade": true, "grade_id": "encoder-layer-module-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Graded: the module, 2 points for post-norm, 1 for pre-norm, 2 for padding; all include gradients.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.encoder_layer_module", EncoderLayer, points=5)
### END HIDDEN TESTS

# %% [markdown]
# ## 8. The warm-up schedule
#
# {{exercise 09.warmup_schedule}}
#
# The learning rate of the paper climbs in a straight line for `warmup` steps and then sinks with the
# root of the step:
#
# $$\text{rate}(s) = d_\text{model}^{-1/2} \cdot \min\left(s^{-1/2},\; s \cdot w^{-3/2}\right)$$
#
# - `step` is an array `(k,)` of whole numbers from 1 on, in any order: the steps $s$. `d_model` and
#   `warmup` ($w$) are whole numbers.
# - Return the rates, `(k,)`.
#
# For example, `step = [1, 2, 4, 16]` with `d_model = 4` and `warmup = 4` gives `[0.0625, 0.125, 0.25,
# 0.125]`. One point is for the plain cases, one for a warm-up of a single step or of thousands.
# (Chapter 9: *How it is trained: warm-up, dropout, smoothing*.)


# %% nbgrader={"grade": false, "grade_id": "warmup-schedule", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.warmup_schedule", "helpers": ["imports"]}
def warmup_schedule(step, d_model, warmup):
    """Return the learning rate of each step (k,), counted from 1."""
    ### BEGIN SOLUTION
    return d_model**-0.5 * np.minimum(step**-0.5, step * warmup**-1.5)
    ### END SOLUTION


# %%
check("09.warmup_schedule", warmup_schedule)

# %%
steps = np.arange(1, 1001)
curves(
    steps,
    {f"w = {w}": warmup_schedule(steps, 64, w) for w in (50, 200, 400)},
    x_label="step",
    y_label="learning rate",
    title="Your schedule at width 64",
)

# %% nbgrader={"grade": true, "grade_id": "warmup-schedule-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the schedule, 1 point for the plain cases, 1 for short and long warm-up.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.warmup_schedule", warmup_schedule, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 9. Label smoothing at one position, by a loop
#
# {{exercise 09.smoothed_cost_loop}}
#
# Plain cross-entropy asks for the right class and nothing else. With smoothing, each of the `V`
# classes gets a share $q_c$ of what is asked for: a share of $\varepsilon$ is spread over **all**
# classes alike, the right one included, and the rest, $1 - \varepsilon$, is for the right class $r$:
#
# $$\text{cost} = -\sum_{c} q_c \log p_c, \qquad q_c = \frac{\varepsilon}{V} + (1 - \varepsilon)\,[c = r], \qquad p = \text{softmax}(\text{logits})$$
#
# - `logits` is `(V,)`, `target` is the number of the right class, `epsilon` lies between 0 and 1.
# - Return the cost, one number. Go over the classes one by one, as the formula does.
# - Logits may be near 1000, and one may lie 800 below the others; the cost is finite all the same.
#   (Chapter 2: *A softmax that does not overflow*, for the largest; for the smallest, remember that
#   $\log p_c$ is the logit minus the logarithm of the sum of all exponentials.)
#
# For example, the logits `[0., 0.]` cost $\log 2 \approx 0.693$, whatever `target` and `epsilon` are.
# One point is for the plain cases, one for extreme logits.


# %% nbgrader={"grade": false, "grade_id": "smoothed-cost-loop", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.smoothed_cost_loop", "helpers": ["imports"]}
def smoothed_cost_loop(logits, target, epsilon):
    """Return what one position costs: logits (V,), the right class, and the share for all."""
    ### BEGIN SOLUTION
    highest = max(logits)
    total = 0.0
    for logit in logits:
        total += np.exp(logit - highest)
    log_total = highest + np.log(total)
    cost = 0.0
    for c in range(len(logits)):
        share = epsilon / len(logits)
        if c == target:
            share += 1 - epsilon
        cost -= share * (logits[c] - log_total)
    return cost
    ### END SOLUTION


# %%
check("09.smoothed_cost_loop", smoothed_cost_loop)

# %% nbgrader={"grade": true, "grade_id": "smoothed-cost-loop-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the cost of one position, 1 point for the plain cases, 1 for extreme logits.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.smoothed_cost_loop", smoothed_cost_loop, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 10. Label smoothing
#
# {{exercise 09.label_smoothing}}
#
# The same for a batch, without loops, and with padding: the mean cost over the positions that count.
#
# - `logits` is `(B, T, V)`, `target` `(B, T)` holds whole numbers, `mask` `(B, T)` is True where a
#   position counts, `epsilon` is a number.
# - Return the loss, one number. Where no position counts it is 0.
# - What stands at a position that does not count must not matter, be it NaN.
#
# For example, with `logits = [[[0., 0.], [7., 7.]]]`, `target = [[0, 1]]` and `mask = [[True,
# False]]` (arrays for the lists) the loss is $\log 2$. One of the three points is for batches without
# padding, one for padding, one for NaN, extreme logits and a batch in which nothing counts. (Chapter
# 9: *How it is trained: warm-up, dropout, smoothing*.)


# %% nbgrader={"grade": false, "grade_id": "label-smoothing", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.label_smoothing", "helpers": ["imports"]}
def smoothed_cross_entropy(logits, target, mask, epsilon):
    """Return the mean smoothed cost over the positions of logits (B, T, V) that mask counts."""
    ### BEGIN SOLUTION
    logits, target = logits[mask], target[mask]  # (counted, V), (counted,)
    if len(target) == 0:
        return 0.0
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))  # (counted, V)
    right = log_p[np.arange(len(target)), target]  # (counted,)
    return -((1 - epsilon) * right + epsilon * log_p.mean(axis=-1)).mean()
    ### END SOLUTION


# %%
check("09.label_smoothing", smoothed_cross_entropy)

# %% [markdown]
# How certain does each loss want a model to be? One position, 50 classes; the right one is ahead of
# all others by more and more.

# %%
leads = np.linspace(0, 15, 61)
rows = np.zeros((61, 1, 1, 50))
rows[:, 0, 0, 0] = leads
right, counts = np.zeros((1, 1), dtype=int), np.ones((1, 1), dtype=bool)
curves(
    leads,
    {
        f"ε = {epsilon}": [smoothed_cross_entropy(row, right, counts, epsilon) for row in rows]
        for epsilon in (0.0, 0.1, 0.3)
    },
    x_label="lead of the right logit",
    y_label="loss",
    title="With smoothing there is such a thing as too certain",
)

# %% nbgrader={"grade": true, "grade_id": "label-smoothing-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: label smoothing, 1 point without padding, 1 with it, 1 for NaN, extremes and nothing.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.label_smoothing", smoothed_cross_entropy, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 11. A program with a fault
#
# Dropout makes the same input give another result at every call. That is meant to end when training
# ends and the model is *in use* (`training` is False). In this sublayer it does not. The attention is
# the bare one, without parameters; the random numbers come in from outside, so that you can choose
# them.


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
def softmax(scores):
    """Weights along the last axis: positive, and they sum to one."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


# %% nbgrader={"grade": false, "grade_id": "dropout", "locked": true, "schema_version": 3, "solution": false, "task": false}
def dropout(x, uniform, rate, training=True):
    """In training zero where uniform < rate, and the rest larger by 1 / (1 - rate); else x itself."""
    if not training:
        return x
    return np.where(uniform < rate, 0.0, x / (1 - rate))


# %% nbgrader={"grade": false, "grade_id": "faulty-attention-sublayer", "locked": true, "schema_version": 3, "solution": false, "task": false}
def faulty_attention_sublayer(x, uniform_weights, uniform_found, rate, training):
    """Bare self-attention (Q = K = V = x) with dropout and a residual. Something is wrong here."""
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))  # (n, n)
    weights = dropout(weights, uniform_weights, rate)  # (n, n)
    found = weights @ x  # (n, d)
    return x + dropout(found, uniform_found, rate, training)


# %%
generator = np.random.default_rng(11)
x = generator.standard_normal((3, 2))
for call in (1, 2):
    chance = generator.random((3, 3)), generator.random((3, 2))
    print(f"in use, call {call}:", faulty_attention_sublayer(x, *chance, 0.3, False)[0].round(3))

# %% [markdown]
# ### 11a. Find arguments on which the fault shows
#
# {{exercise 09.counterexample}}
#
# Return arguments for `faulty_attention_sublayer` on which its result is *not* what it should be: `x`
# of shape `(n, d)`, `uniform_weights` `(n, n)` and `uniform_found` `(n, d)` of numbers from 0 up to 1
# (1 excluded), `rate` (at least 0, below 1) and `training` (True or False), as a tuple of five. Write
# them down as numbers; no random generator is needed.


# %% nbgrader={"grade": false, "grade_id": "counterexample", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.counterexample", "helpers": ["imports"]}
def counterexample():
    """Return x, uniform_weights, uniform_found, rate and training on which the fault shows."""
    ### BEGIN SOLUTION
    x = np.array([[1.0, 0.0], [0.0, 1.0]])
    return x, np.full((2, 2), 0.1), np.full((2, 2), 0.9), 0.5, False
    ### END SOLUTION


# %%
check("09.counterexample", counterexample)

# %% nbgrader={"grade": true, "grade_id": "counterexample-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: whether the fault shows on your arguments.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.counterexample", counterexample, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ### 11b. Mend the program
#
# {{exercise 09.attention_sublayer}}
#
# Write the program as it should be: in training both dropouts work, in use neither does. The
# arguments are those of the faulty one; the result is `(n, d)`. Do not change the arguments. You may
# use `softmax` and `dropout`. One point is for use, one for training.


# %% nbgrader={"grade": false, "grade_id": "attention-sublayer", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "09.attention_sublayer", "helpers": ["imports", "softmax", "dropout"]}
def attention_sublayer(x, uniform_weights, uniform_found, rate, training):
    """Return x plus what bare self-attention finds, with dropout in training only."""
    ### BEGIN SOLUTION
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))  # (n, n)
    weights = dropout(weights, uniform_weights, rate, training)  # (n, n)
    found = weights @ x  # (n, d)
    return x + dropout(found, uniform_found, rate, training)
    ### END SOLUTION


# %%
check("09.attention_sublayer", attention_sublayer)

# %% nbgrader={"grade": true, "grade_id": "attention-sublayer-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the mended program, 1 point in use, 1 in training.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("09.attention_sublayer", attention_sublayer, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 12. In your own words
#
# **3 points** · about 10 minutes · marked by a person
#
# *"A Transformer is parallel, an RNN is not, so the Transformer is always faster."* In four to six
# sentences, say what is right about this sentence and what is not. (Chapter 9: *Who has to wait for
# whom* and *On the clock*.)
#
# What is looked for, one point each:
#
# 1. why a decoder layer can be trained on all positions of a target in one call, with the part that
#    the mask plays;
# 2. why a recurrent network cannot, even one with attention, and how the chain of steps that wait for
#    each other grows with the length;
# 3. where the sentence fails: writing, and a case in which the RNN is not slower in training.

# %% [markdown] nbgrader={"grade": true, "grade_id": "in-your-own-words", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# In training the whole target is known. The causal mask hides from each position what comes later, so
# one call computes at every position what a call for the words up to there would, and all positions
# can be done side by side: the chain of operations that wait for each other has as many links as
# there are layers, however long the sentence. A recurrent network makes its state at a word from its
# state at the word before. So it has to take as many steps one after the other as there are words,
# and attention to the source is computed within each step and changes nothing about that. In writing,
# the next word is not known, and the Transformer has to go word by word too. And being able to do
# things side by side helps only where there is something that does them side by side: on one
# processor and short sentences a small RNN does less work for each word and was not slower in our
# measurements. On long sentences it was.
# ### END SOLUTION
