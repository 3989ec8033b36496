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
# # Assignment 4: attention in the translator
#
# A translator that writes one token after the other, and looks back at the source at every step.
# Here you write both classic decoder steps, measure whether the decoder looks at the right words,
# decode, and build attention as a torch module. Chapter 4, *Attention in the translator*, tells the
# story.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, and run the `check` below each. If a
# check does not pass it says what was expected, what came, and which known mistake it looks like.
# `hint("04.…", level=1)` prints a hint; levels 2 and 3 say more. A check sees results and not the way
# to them; where a text asks for a way (*without loops*), keep to it for your own sake.
#
# **How to hand in.** Restart the kernel, run all cells, save, and hand in this one file,
# `04_translator.ipynb`, under its own name.
#
# `B` is the number of sentences in a batch, `n` the number of source words, `T` the number of
# decoding steps, `V` the number of tokens. A mask holds True where something *may be looked at*.
# Each answer stands by itself: it may use the locked cells that its text names, but not what you
# wrote for another exercise.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "imports-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch

# %% nbgrader={"grade": false, "grade_id": "tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
from attnkit import numpy as library
from attnkit.plot import heat_map
from coursekit.checks import check, hint

# %% [markdown]
# Two helpers are given. `masked_softmax` is the softmax of chapter 2 with a mask; `gru_step` moves
# the state of a recurrent unit, as in chapter 1.


# %% nbgrader={"grade": false, "grade_id": "masked-softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
def masked_softmax(scores, mask):
    """Weights along the last axis where mask is True; a row with nothing to look at gets only 0."""
    scores = np.where(mask, scores, -np.inf)
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1), -inf where nothing may be looked at
    exponentials = np.exp(scores - np.where(np.isfinite(highest), highest, 0.0))  # (..., n)
    total = exponentials.sum(axis=-1, keepdims=True)  # (..., 1)
    return exponentials / np.where(total > 0, total, 1.0)


# %% nbgrader={"grade": false, "grade_id": "gru-step", "locked": true, "schema_version": 3, "solution": false, "task": false}
def gru_step(x, state, parameters):
    """One step of a gated recurrent unit: x (..., d_in) and state (..., h) give the new state."""
    from_input = x @ parameters["w_input"] + parameters["b_input"]  # (..., 3h)
    from_state = state @ parameters["w_state"] + parameters["b_state"]  # (..., 3h)
    reset_in, update_in, candidate_in = np.split(from_input, 3, axis=-1)  # (..., h) each
    reset_old, update_old, candidate_old = np.split(from_state, 3, axis=-1)
    reset = (1 + np.tanh((reset_in + reset_old) / 2)) / 2  # the logistic function, by tanh
    update = (1 + np.tanh((update_in + update_old) / 2)) / 2
    candidate = np.tanh(candidate_in + reset * candidate_old)
    return (1 - update) * candidate + update * state


# %% [markdown]
# ## 1. Predict: how much attention leaks into padding?
#
# {{exercise 04.predicted_leak}}
#
# Three sentences of 15, 10 and 5 words are padded to 20 positions; the padding's encoder states are
# zeros. A decoder with random parameters computes additive scores and *forgets the mask*. What share
# of its attention falls on padding, in each of the three sentences?
#
# Return your three guesses in that order, as an array of shape `(3,)`, each between 0 and 1. Guess
# before you run anything: the point is for the guess, right or wrong.


# %% nbgrader={"grade": false, "grade_id": "predicted-leak", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "04.predicted_leak", "helpers": ["imports"]}
def predicted_leak():
    """Return three guesses, for 15, 10 and 5 words among 20 positions."""
    ### BEGIN SOLUTION
    return np.array([0.05, 0.2, 0.5])
    ### END SOLUTION


# %%
check("04.predicted_leak", predicted_leak)

# %% [markdown]
# Now measure, over 1000 random decoders. Were you surprised?

# %%
generator = np.random.default_rng(4)
for n_words in (15, 10, 5):
    encoder_states = generator.standard_normal((1000, 20, 8))
    encoder_states[:, n_words:] = 0.0  # padding
    query = generator.standard_normal((1000, 1, 8))
    w_query, w_key, v = (generator.standard_normal(shape) for shape in ((8, 8), (8, 8), 8))
    weights = library.softmax(library.additive_scores(query, encoder_states, w_query, w_key, v))
    leak = weights[..., n_words:].sum(axis=-1).mean()
    print(f"{n_words} words: {leak:.2f} of the attention falls on padding")

# %% nbgrader={"grade": true, "grade_id": "predicted-leak-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Graded: your guesses for the leak.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("04.predicted_leak", predicted_leak, points=1)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. By hand: greedy is not always best
#
# {{exercise 04.greedy_by_hand}}
#
# A tiny decoder chooses two words. The probability of each next word, given the last one:
#
# | | he | she |
# |---|---|---|
# | *start* | 0.6 | 0.4 |
#
# | | sleeps | runs | sings |
# |---|---|---|---|
# | he | 0.5 | 0.3 | 0.2 |
# | she | 0 | 0.1 | 0.9 |
#
# Greedy decoding takes the most probable word at each step. With pencil and paper, work out
#
# 1. the probability of the two-word sequence that greedy decoding finds,
# 2. the probability of the most probable two-word sequence of all.
#
# Return both in this order, as an array of shape `(2,)`.


# %% nbgrader={"grade": false, "grade_id": "greedy-by-hand", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "04.greedy_by_hand", "helpers": ["imports"]}
def greedy_by_hand():
    """Return the probability of the greedy sequence and that of the best one."""
    ### BEGIN SOLUTION
    return np.array([0.30, 0.36])
    ### END SOLUTION


# %%
check("04.greedy_by_hand", greedy_by_hand)

# %% nbgrader={"grade": true, "grade_id": "greedy-by-hand-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the numbers from your paper.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("04.greedy_by_hand", greedy_by_hand, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Bahdanau's step
#
# {{exercise 04.bahdanau_step}}
#
# One step of the first decoder that had attention. The *previous* state asks; the context that comes
# back is read together with the last token:
#
# $$e_j = v \cdot \tanh(s\,W_q + h_j W_k), \qquad w = \text{softmax}(e), \qquad c = \sum_j w_j h_j, \qquad s' = \text{GRU}([\text{embedded}; c],\, s)$$
#
# - `embedded` is `(B, d_in)`, the last token; `state` is `(B, h)`; `encoder_states` is `(B, n, d)`,
#   one row $h_j$ for each source word.
# - `parameters` is a dictionary: `w_query (h, d_a)`, `w_key (d, d_a)`, `v (d_a,)` for the scores;
#   for the GRU what `gru_step` expects, with an input of width `d_in + d`.
# - `key_mask` is `(B, n)`, True for words and False for padding, wherever it stands. A sentence
#   without any words gets weights of 0 and a context of 0.
# - Return three arrays: the new state `(B, h)`, the context `(B, d)`, the weights `(B, n)`.
#
# You may use `masked_softmax` and `gru_step`. Three of the five points are for sentences without
# padding, two for those with. (Chapter 4: *Looking first, then moving: Bahdanau*; for the score,
# chapter 3: *The additive score, written in two ways*.)


# %% nbgrader={"grade": false, "grade_id": "bahdanau-step", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "04.bahdanau_step", "helpers": ["imports", "masked-softmax", "gru-step"]}
def bahdanau_step(embedded, state, encoder_states, parameters, key_mask):
    """Return the new state (B, h), the context (B, d) and the weights (B, n)."""
    ### BEGIN SOLUTION
    query = state @ parameters["w_query"]  # (B, d_a)
    key = encoder_states @ parameters["w_key"]  # (B, n, d_a)
    scores = np.tanh(query[:, None, :] + key) @ parameters["v"]  # (B, n)
    weights = masked_softmax(scores, key_mask)  # (B, n)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)  # (B, d)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)  # (B, h)
    return state, context, weights
    ### END SOLUTION


# %%
check("04.bahdanau_step", bahdanau_step)

# %% nbgrader={"grade": true, "grade_id": "bahdanau-step-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Graded: Bahdanau's step, 3 points for sentences without padding, 2 for those with.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("04.bahdanau_step", bahdanau_step, points=5)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. Luong's step
#
# {{exercise 04.luong_step}}
#
# A year later the order was turned round. The state moves *first*, then the new state asks, and what
# it finds is combined with it into an *attentional* vector, from which the next token is predicted
# and which the next step reads again (*input feeding*):
#
# $$s' = \text{GRU}([\text{embedded}; a],\, s), \qquad e_j = s'\, W_g\, h_j^\top, \qquad w = \text{softmax}(e), \qquad c = \sum_j w_j h_j, \qquad a' = \tanh([c; s']\, W_c)$$
#
# - `embedded` is `(B, d_in)`, `state` is `(B, h)`, `attentional` is the previous vector $a$, `(B, a)`,
#   `encoder_states` is `(B, n, d)`, `key_mask` is `(B, n)` as before.
# - `parameters` holds `w_general (h, d)`, `w_combine (d + h, a)`, and what `gru_step` expects, with
#   an input of width `d_in + a`.
# - Return three arrays: the new state `(B, h)`, the new attentional vector `(B, a)`, the weights
#   `(B, n)`.
#
# You may use `masked_softmax` and `gru_step`. Three of the five points are for sentences without
# padding, two for those with. (Chapter 4: *Moving first, then looking: Luong*; for the score, chapter 3:
# *Four ways to say how well a key fits*.)


# %% nbgrader={"grade": false, "grade_id": "luong-step", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "04.luong_step", "helpers": ["imports", "masked-softmax", "gru-step"]}
def luong_step(embedded, state, attentional, encoder_states, parameters, key_mask):
    """Return the new state (B, h), the new attentional vector (B, a) and the weights (B, n)."""
    ### BEGIN SOLUTION
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)  # (B, h)
    query = state @ parameters["w_general"]  # (B, d)
    scores = (query[:, None, :] * encoder_states).sum(axis=-1)  # (B, n)
    weights = masked_softmax(scores, key_mask)  # (B, n)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)  # (B, d)
    combined = np.concatenate([context, state], axis=-1)  # (B, d + h)
    return state, np.tanh(combined @ parameters["w_combine"]), weights
    ### END SOLUTION


# %%
check("04.luong_step", luong_step)

# %% nbgrader={"grade": true, "grade_id": "luong-step-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Graded: Luong's step, 3 points for sentences without padding, 2 for those with.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("04.luong_step", luong_step, points=5)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. Alignment error, by a loop
#
# {{exercise 04.alignment_error_loop}}
#
# Does the decoder look at the right word? In the date translations of the course the right source
# position of every target token is known. A step is *wrong* if its largest weight lies elsewhere.
# (Chapter 4: *Where it looks*.)
#
# - `weights` is `(T, n)`, a row of weights for each step.
# - `alignment` is `(T,)` and holds whole numbers: the right position, from 0 on, or -1 where a token
#   has no partner. Such steps are left out.
# - Return one number: the share of wrong steps among those that have a partner. Where none has one,
#   return 0. If the largest weight occurs twice, the first counts.
#
# For example, the weights `[[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]]` and the alignment `[0, 1, -1]` give
# `0.5`.


# %% nbgrader={"grade": false, "grade_id": "alignment-error-loop", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "04.alignment_error_loop", "helpers": ["imports"]}
def alignment_error_loop(weights, alignment):
    """Return the share of steps whose largest weight (T, n) is not where alignment (T,) says."""
    ### BEGIN SOLUTION
    wrong = total = 0
    for t in range(len(alignment)):
        if alignment[t] >= 0:
            total += 1
            if np.argmax(weights[t]) != alignment[t]:
                wrong += 1
    return wrong / total if total else 0.0
    ### END SOLUTION


# %%
check("04.alignment_error_loop", alignment_error_loop)

# %% nbgrader={"grade": true, "grade_id": "alignment-error-loop-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the alignment error by a loop, on other numbers than the check's.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("04.alignment_error_loop", alignment_error_loop, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. Alignment error, for a batch
#
# {{exercise 04.alignment_error}}
#
# The same for a batch, without loops: `weights` is `(B, T, n)`, `alignment` is `(B, T)`. Return one
# number, the share of wrong steps among all steps of the batch that have a partner, every step
# weighing the same. Where none has one, return 0. Of equal weights the first counts, as before.
#
# Two of the three points are for the plain cases, one for equal weights and for batches in which
# sentences have few steps to score, or none.


# %% nbgrader={"grade": false, "grade_id": "alignment-error", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "04.alignment_error", "helpers": ["imports"]}
def alignment_error(weights, alignment):
    """Return the share of wrong steps of a batch, weights (B, T, n) and alignment (B, T)."""
    ### BEGIN SOLUTION
    scored = alignment >= 0  # (B, T)
    wrong = scored & (weights.argmax(axis=-1) != alignment)  # (B, T)
    return wrong.sum() / max(scored.sum(), 1)
    ### END SOLUTION


# %%
check("04.alignment_error", alignment_error)

# %% nbgrader={"grade": true, "grade_id": "alignment-error-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: the alignment error of a batch, 2 points for the plain cases, 1 for equal weights and uneven batches.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("04.alignment_error", alignment_error, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. Greedy decoding
#
# {{exercise 04.greedy_decode}}
#
# A decoder gives the probability of each next token. Greedy decoding takes the best one, again and
# again. To keep the networks out of it, the decoder here is a table.
#
# - `table` is `(V, V)`: row `i` holds the logarithms of the probabilities of what may follow token
#   `i`, -inf for what cannot. The largest is the most probable; of equals the lowest token wins.
# - `start` is `(B,)`, the token each sequence begins with; it is not part of the result. `end` is the
#   token that closes a sequence.
# - Stop when every sequence has produced `end`, or after `max_length` steps. After its first `end` a
#   sequence holds nothing but `end`.
# - Return whole numbers of shape `(B, L)`: a row for each sequence, a column for each step taken.
#
# For example, with `table = np.log([[.8, .1, .1], [.2, .1, .7], [.6, .3, .1]])` and `end = 0`, the
# starts `[1, 2]` give `[[2, 0], [0, 0]]`.
#
# Half of the points are for the plain cases, the other half for sequences of unequal length, without
# an end, with -inf in the table, or with equal probabilities.


# %% nbgrader={"grade": false, "grade_id": "greedy-decode", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "04.greedy_decode", "helpers": ["imports"]}
def greedy_decode(table, start, end, max_length):
    """Return the tokens (B, L) that greedy decoding finds from start (B,) in table (V, V)."""
    ### BEGIN SOLUTION
    token = start
    done = np.zeros(len(start), dtype=bool)
    tokens = []
    while len(tokens) < max_length and not done.all():
        best = table[token].argmax(axis=-1)  # (B,)
        token = np.where(done, end, best)  # (B,)
        done = done | (token == end)
        tokens.append(token)
    return np.stack(tokens, axis=1)  # (B, L)
    ### END SOLUTION


# %%
check("04.greedy_decode", greedy_decode)

# %% nbgrader={"grade": true, "grade_id": "greedy-decode-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: greedy decoding, 2 points for the plain cases, 2 for unequal lengths, no end, and ties.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("04.greedy_decode", greedy_decode, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 8. Additive attention as a torch module
#
# {{exercise 04.additive_attention}}
#
# In NumPy you computed; in torch the parameters can be trained. (New to torch? *How to use the course*
# has a section *As much PyTorch as you need*.) Write a module:
#
# - `AdditiveAttention(d_query, d_key, d_attention)` has three parameters, each a
#   `torch.nn.Parameter` under this very name: `w_query (d_query, d_attention)`,
#   `w_key (d_key, d_attention)` and `v (d_attention,)`. Begin them with any numbers.
# - `forward(query, key, value, mask)` takes `query (B, m, d_query)`, `key (B, n, d_key)`,
#   `value (B, n, d_v)` and a boolean `mask`, `(B, 1, n)` or `(B, m, n)`, and returns the context
#   alone, `(B, m, d_v)`.
# - Scores are additive: $\tanh(\text{query}\, W_q + \text{key}\, W_k) \cdot v$.
# - Where a query may look at nothing, the context is 0 and every gradient is 0. Never NaN.
#
# Half of the points are for calls without a mask, forwards and backwards; the other half for masks.
# Your module is built, loaded with parameters, run, and differentiated.


# %% nbgrader={"grade": false, "grade_id": "additive-attention", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "04.additive_attention", "helpers": ["imports-torch"]}
class AdditiveAttention(torch.nn.Module):
    """Attention with additive scores: (query, key, value, mask) to the context (B, m, d_v)."""

    def __init__(self, d_query, d_key, d_attention):
        ### BEGIN SOLUTION
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention) / d_query**0.5)
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention) / d_key**0.5)
        self.v = torch.nn.Parameter(torch.randn(d_attention) / d_attention**0.5)
        ### END SOLUTION

    def forward(self, query, key, value, mask):
        ### BEGIN SOLUTION
        from_query = (query @ self.w_query)[:, :, None, :]  # (B, m, 1, d_a)
        from_key = (key @ self.w_key)[:, None, :, :]  # (B, 1, n, d_a)
        scores = torch.tanh(from_query + from_key) @ self.v  # (B, m, n)
        # A finite number, so that no NaN arises in a row with nothing to look at …
        weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1)
        # … and such a row still ends with weights of 0.
        return weights.masked_fill(~mask, 0.0) @ value  # (B, m, d_v)
        ### END SOLUTION


# %%
check("04.additive_attention", AdditiveAttention)

# %% [markdown]
# Your module can learn. Here it is trained to copy the value at a position that the query names.

# %%
torch.manual_seed(0)
module = AdditiveAttention(8, 8, 16)
names = torch.randn(10, 8)  # ten names, each a vector
optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
for _ in range(300):
    asked = torch.randint(6, (64, 1))
    order = torch.stack([torch.randperm(10)[:6] for _ in range(64)])  # six names a sentence
    key, value = names[order], torch.randn(64, 6, 3)
    query = key.gather(1, asked[:, :, None].expand(-1, -1, 8))
    target = value.gather(1, asked[:, :, None].expand(-1, -1, 3))
    loss = (
        (module(query, key, value, torch.ones(64, 1, 6, dtype=torch.bool)) - target).square().mean()
    )
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
weights = module(key[:1], key[:1], torch.eye(6)[None], torch.ones(1, 1, 6, dtype=torch.bool))
heat_map(
    weights[0].detach().numpy(),
    [f"asks for {i}" for i in range(6)],
    [f"name {i}" for i in range(6)],
    title=f"After 300 steps, loss {loss.item():.2f}",
)

# %% nbgrader={"grade": true, "grade_id": "additive-attention-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: the module, 2 points without a mask, 2 with masks; both include gradients.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("04.additive_attention", AdditiveAttention, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 9. A program with a fault
#
# This program computes attention weights for a batch of padded sentences. It worked in every test of
# its author, who always translated single sentences. Then someone trained on batches of 32 sentences
# with 32 target tokens each, and the translations got mysteriously bad, without any error.


# %% nbgrader={"grade": false, "grade_id": "faulty-attention-weights", "locked": true, "schema_version": 3, "solution": false, "task": false}
def faulty_attention_weights(scores, keep):
    """Weights for scores (B, m, n); keep (B, n) marks each sentence's words. Something is wrong."""
    return masked_softmax(scores, keep)  # (B, m, n)


# %% [markdown]
# ### 9a. Find numbers on which the fault shows
#
# {{exercise 04.counterexample}}
#
# A test needs data on which right and wrong programs differ. Return such data: `scores` of shape
# `(B, m, n)` and `keep` of shape `(B, n)`, True for words, so that
# `faulty_attention_weights(scores, keep)` runs without an error and yet returns wrong weights.


# %% nbgrader={"grade": false, "grade_id": "counterexample", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "04.counterexample", "helpers": ["imports"]}
def counterexample():
    """Return scores (B, m, n) and keep (B, n) on which the faulty program gives wrong weights."""
    ### BEGIN SOLUTION
    return np.zeros((2, 2, 3)), np.array([[True, True, True], [True, False, False]])
    ### END SOLUTION


# %%
check("04.counterexample", counterexample)

# %% nbgrader={"grade": true, "grade_id": "counterexample-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: whether the fault shows on your arrays.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("04.counterexample", counterexample, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ### 9b. Mend the program
#
# {{exercise 04.attention_weights}}
#
# Write the program as it should be. `scores` is `(B, m, n)`, `keep` is `(B, n)` and holds True for
# words, wherever they stand; return weights `(B, m, n)`. Scores may be of any size, those of padding
# too. A sentence without words gets weights of 0. Do not change the arguments. You may use the given
# `masked_softmax`.


# %% nbgrader={"grade": false, "grade_id": "attention-weights", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "04.attention_weights", "helpers": ["imports", "masked-softmax"]}
def attention_weights(scores, keep):
    """Return the weights (B, m, n) of scores (B, m, n) over the words that keep (B, n) marks."""
    ### BEGIN SOLUTION
    return masked_softmax(scores, keep[:, None, :])  # (B, 1, n) reaches every query
    ### END SOLUTION


# %%
check("04.attention_weights", attention_weights)

# %% nbgrader={"grade": true, "grade_id": "attention-weights-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the mended program, 1 point for the plain cases, 1 for scattered padding and extreme scores.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("04.attention_weights", attention_weights, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 10. In your own words
#
# **3 points** · about 10 minutes · marked by a person
#
# Without attention, the translator of chapter 1 got worse as sentences grew; with attention, that of
# chapter 4 does not. In four to six sentences, explain why, and what an alignment error of 0 does
# *not* prove.
#
# What is looked for, one point each:
#
# 1. what the decoder without attention has to work from, and why that gets harder with length;
# 2. what the context gives each step instead, with a word on what the weights depend on;
# 3. that a weight lies on an encoder *state*, which has read its neighbours too, so that looking at
#    the right position does not show which words the decoder used (or another sound limit).

# %% [markdown] nbgrader={"grade": true, "grade_id": "in-your-own-words", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# Without attention all the decoder ever sees of the source is one vector of fixed width. Every word
# that is added has to share it with the others, and what was read first has to survive every later
# step, so long sentences lose details. With attention each step gets a context of its own, a mixture
# of all encoder states whose weights depend on the decoder's state, so a detail can be fetched when
# it is needed and need not be carried along. The path from a source word to the step that needs it
# has one step, whatever the length. An alignment error of 0 says where the largest weight lies. But
# the state at that position has also read its neighbours, and the rest of the weight lies elsewhere,
# so it does not prove that the decoder used that word alone.
# ### END SOLUTION
