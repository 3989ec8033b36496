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
# # Assignment 1: the bottleneck
#
# A recurrent network reads a sentence word by word, and what is left in the end is one vector of fixed
# width. Here you write the step of a gated recurrent unit, read single sentences and padded batches with
# a recurrent network, and write the loss and the mark that chapter 1, *The bottleneck*, is about; then
# you build the encoder as a torch module that can be trained, and find a fault in a program that
# computes a mean.
#
# **How to work.** Fill in the cells that say `YOUR CODE HERE`, and run the `check` below each. If a
# check does not pass it says what was expected, what came, and which known mistake it looks like.
# `hint("01.…", level=1)` prints a hint; levels 2 and 3 say more.
#
# **How to hand in.** Restart the kernel, run all cells, save, and hand in this one file,
# `01_bottleneck.ipynb`, under its own name.
#
# `B` is the number of sentences in a batch, `T` their length after padding, `d_in` the width of a word's
# vector, `h` the width of the state. Shapes with dots, `(..., h)`, stand for any number of leading axes,
# none included. A mask is boolean: True marks a real word or token, False padding. Each answer stands by
# itself: it may use the locked cells that its text names, but not what you wrote for another exercise.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "imports-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch

# %% nbgrader={"grade": false, "grade_id": "tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
from attnkit import numpy as library
from attnkit.plot import curves
from coursekit.checks import check, hint

# %% [markdown]
# One helper is given: the step of a recurrent network *without* gates.


# %% nbgrader={"grade": false, "grade_id": "rnn-step", "locked": true, "schema_version": 3, "solution": false, "task": false}
def rnn_step(x, state, parameters):
    """One step of a recurrent network without gates: x (..., d_in), state (..., h) to (..., h)."""
    from_input = x @ parameters["w_input"] + parameters["b_input"]  # (..., h)
    from_state = state @ parameters["w_state"] + parameters["b_state"]  # (..., h)
    return np.tanh(from_input + from_state)


# %% [markdown]
# ## 1. Predict: what does the last state remember?
#
# {{exercise 01.predicted_memory}}
#
# A gated recurrent unit with random parameters and a state of 32 numbers reads a sequence of random
# digits. From its last state alone, the best linear rule tries to tell which digit came *first*. How
# often is it right, as a share of all sequences, if the sequence has 1, 4 or 16 digits? (Guessing
# blindly is right in 0.1 of all cases.)
#
# Return your three guesses in that order, as an array of shape `(3,)`, each between 0 and 1. Guess
# before you run anything: the point is for the guess, right or wrong. (Chapter 1: *Squeeze and unfold*.)


# %% nbgrader={"grade": false, "grade_id": "predicted-memory", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "01.predicted_memory", "helpers": ["imports"]}
def predicted_memory():
    """Return three guesses, for 1, 4 and 16 digits."""
    ### BEGIN SOLUTION
    return np.array([1.0, 0.6, 0.2])
    ### END SOLUTION


# %%
check("01.predicted_memory", predicted_memory)

# %% [markdown]
# Now measure. The rule is fitted to 3000 sequences by least squares and tried on 1000 others. Were you
# surprised?

# %%
generator = np.random.default_rng(1)
for n_digits in (1, 4, 16):
    random_parameters = {
        "w_input": generator.standard_normal((10, 96)),
        "w_state": generator.standard_normal((32, 96)) / np.sqrt(32),
        "b_input": np.zeros(96),
        "b_state": np.zeros(96),
    }
    digits = generator.integers(10, size=(4000, n_digits))
    states = np.zeros((4000, 32))
    for t in range(n_digits):
        states = library.gru_step(np.eye(10)[digits[:, t]], states, random_parameters)
    first = digits[:, 0]
    rule = np.linalg.lstsq(states[:3000], np.eye(10)[first[:3000]], rcond=None)[0]
    right = (states[3000:] @ rule).argmax(axis=1) == first[3000:]
    print(
        f"{n_digits} digits: the first one is read out rightly in {right.mean():.2f} of all cases"
    )

# %% nbgrader={"grade": true, "grade_id": "predicted-memory-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Graded: your guesses for the memory.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("01.predicted_memory", predicted_memory, points=1)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. One step of a gated recurrent unit
#
# {{exercise 01.gru_step}}
#
# Two gates, numbers between 0 and 1, decide for each component of the state how much of the old is
# looked at (*reset*, $r$) and how much of it is kept (*update*, $z$):
#
# $$r = \sigma(a_r + b_r), \qquad z = \sigma(a_z + b_z), \qquad \tilde{s} = \tanh(a_c + r \odot b_c), \qquad s' = (1 - z) \odot \tilde{s} + z \odot s$$
#
# where $a = x\,W_\text{input} + \text{b}_\text{input}$ comes from the input and $b = s\,W_\text{state} + \text{b}_\text{state}$
# from the old state, both cut into three blocks of width `h`; $\sigma(u) = 1/(1 + e^{-u})$, and $\odot$
# multiplies component by component.
#
# - `x` is `(..., d_in)`, `state` is `(..., h)`, with the same leading axes.
# - `parameters` is a dictionary: `w_input (d_in, 3h)`, `w_state (h, 3h)`, `b_input (3h,)`,
#   `b_state (3h,)`. The three blocks of columns are **reset, update, candidate**, in this order, as in
#   torch.
# - Return the new state, `(..., h)`. Leave `state` as it is. Inputs may be very large.
#
# For example, with all parameters zero both gates are 0.5 and the candidate is 0: half of the state
# stays. Three of the four points are for plain cases, one for large inputs, other axes and float32.
# (Chapter 1: *A network that reads*.)


# %% nbgrader={"grade": false, "grade_id": "gru-step", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "01.gru_step", "helpers": ["imports"]}
def gru_step(x, state, parameters):
    """Move the state (..., h) of a gated recurrent unit by one step; return the new state."""

    ### BEGIN SOLUTION
    def logistic(u):
        return 0.5 + 0.5 * np.tanh(u / 2)  # 1 / (1 + exp(-u)), without any overflow

    width = state.shape[-1]
    a = x @ parameters["w_input"] + parameters["b_input"]  # (..., 3h)
    b = state @ parameters["w_state"] + parameters["b_state"]  # (..., 3h)
    r = logistic(a[..., :width] + b[..., :width])  # (..., h)
    z = logistic(a[..., width : 2 * width] + b[..., width : 2 * width])  # (..., h)
    c = np.tanh(a[..., 2 * width :] + r * b[..., 2 * width :])  # (..., h)
    return c + z * (state - c)
    ### END SOLUTION


# %%
check("01.gru_step", gru_step)

# %% [markdown]
# What is the update gate for? Push it open by a bias of 4, and an empty input leaves nearly everything
# as it was; push it shut, and the state is gone after one step.

# %%
for bias in (4.0, 0.0, -4.0):
    parameters = {"w_input": np.zeros((1, 3)), "w_state": np.zeros((1, 3)), "b_input": np.zeros(3)}
    parameters["b_state"] = np.array([0.0, bias, 0.0])  # reset, update, candidate
    state, kept = np.ones(1), []
    for _ in range(5):
        state = gru_step(np.zeros(1), state, parameters)
        kept.append(f"{state[0]:.3f}")
    print(f"bias {bias:+.0f} of the update gate: the state, step by step, is {', '.join(kept)}")

# %% nbgrader={"grade": true, "grade_id": "gru-step-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: the GRU step, 3 points for plain cases, 1 for large inputs, other axes and float32.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("01.gru_step", gru_step, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Encode a sentence, by a loop
#
# {{exercise 01.last_state_loop}}
#
# Read a sentence from its first word to its last. The state begins with zeros; what one step returns,
# the next step begins with. Use the given `rnn_step`, which has no gates (so this exercise does not
# depend on the one before).
#
# - `x` is `(T, d_in)`, a row for each word, and `T` may be 0. `parameters` is what `rnn_step` expects:
#   `w_input (d_in, h)`, `w_state (h, h)`, `b_input (h,)`, `b_state (h,)`.
# - Return the state after the last word, `(h,)`.


# %% nbgrader={"grade": false, "grade_id": "last-state-loop", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "01.last_state_loop", "helpers": ["imports", "rnn-step"]}
def last_state_loop(x, parameters):
    """Read x (T, d_in) word by word; return the state (h,) after the last word."""
    ### BEGIN SOLUTION
    state = np.zeros(parameters["w_state"].shape[0])
    for t in range(len(x)):
        state = rnn_step(x[t], state, parameters)
    return state
    ### END SOLUTION


# %%
check("01.last_state_loop", last_state_loop)

# %% nbgrader={"grade": true, "grade_id": "last-state-loop-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: one sentence, on other numbers than the check's.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("01.last_state_loop", last_state_loop, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. Encode a padded batch
#
# {{exercise 01.last_state}}
#
# Many sentences at once are faster than one after the other, but they have different lengths. They are
# filled up with padding, and the padding must not be read: where a sentence has no word, its state stays
# what it was.
#
# - `x` is `(B, T, d_in)`. `keep` is `(B, T)` and boolean: True for words, False for padding, wherever it
#   stands. `parameters` as before.
# - Return the state of each sentence after its last word, `(B, h)`. A sentence without any words keeps
#   its zeros.
# - What stands in the padding must not matter, not even NaN.
#
# One loop, over the positions, is needed: a step cannot begin before the last one has ended. There is no
# loop over sentences. You may use `rnn_step`. Two of the three points are for the plain cases, one for
# scattered padding, empty sentences, NaN and float32. (Chapter 1: *A network that reads*.)


# %% nbgrader={"grade": false, "grade_id": "last-state", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "01.last_state", "helpers": ["imports", "rnn-step"]}
def last_state(x, keep, parameters):
    """Read x (B, T, d_in) where keep (B, T) is True; return the last states (B, h)."""
    ### BEGIN SOLUTION
    state = np.zeros((x.shape[0], parameters["w_state"].shape[0]))  # (B, h)
    for t in range(x.shape[1]):
        moved = rnn_step(x[:, t], state, parameters)  # (B, h)
        state = np.where(keep[:, t][:, None], moved, state)  # (B, 1) chooses for each sentence
    return state
    ### END SOLUTION


# %%
check("01.last_state", last_state)

# %% nbgrader={"grade": true, "grade_id": "last-state-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Graded: a padded batch, 2 points for the plain cases, 1 for scattered padding, empty sentences, NaN and float32.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("01.last_state", last_state, points=3)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. By hand: a loss and a match
#
# {{exercise 01.loss_by_hand}}
#
# A decoder wrote two sentences. At every position it gave the right token some chance, and then wrote
# its likeliest token, which was the right one or not:
#
# | | position 1 | position 2 | position 3 |
# |---|---|---|---|
# | sentence 1: chance of the right token | 1/2 | 1/4 | *padding* (1/2) |
# | right token written? | yes | yes | *padding* (no) |
# | sentence 2: chance of the right token | 1/2 | 1/2 | 1/8 |
# | right token written? | yes | yes | no |
#
# A token costs minus the logarithm, here with base 2, of the chance that its right token was given: the
# cost is in *bits*. With pencil and paper, work out
#
# 1. the loss: the mean cost of the tokens that are no padding, in bits,
# 2. the exact match: the share of sentences in which every token that is no padding is right.
#
# Return both in this order, as an array of shape `(2,)`. (Chapter 1: *Learning to write: the teacher,
# and the padding*.)


# %% nbgrader={"grade": false, "grade_id": "loss-by-hand", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "01.loss_by_hand", "helpers": ["imports"]}
def loss_by_hand():
    """Return the loss in bits and the exact match."""
    ### BEGIN SOLUTION
    return np.array([1.6, 0.5])
    ### END SOLUTION


# %%
check("01.loss_by_hand", loss_by_hand)

# %% nbgrader={"grade": true, "grade_id": "loss-by-hand-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the numbers from your paper.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("01.loss_by_hand", loss_by_hand, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. Masked cross-entropy
#
# {{exercise 01.masked_cross_entropy}}
#
# The same loss for a batch, from the network's raw scores:
#
# $$\text{loss} = \frac{1}{N} \sum_{(b,\,t)\ \text{counted}} -\ln p_{b,t,\text{target}_{b,t}}, \qquad p = \text{softmax}(\text{logits})$$
#
# - `logits` is `(B, T, V)`, scores of `V` classes before softmax; `target` is `(B, T)`, the number of the
#   right class; `mask` is `(B, T)`, True where a position counts. $N$ is how many count.
# - Return one number, with the natural logarithm. Where nothing counts, return 0.
# - Padding has no influence, whatever stands there: logits of NaN, or a target of -1.
# - Logits may be large. (Chapter 2: *A softmax that does not overflow*.)
#
# For example, the logits `[[[0., 0.], [9., 9.]]]`, target `[[1, 0]]` and mask `[[True, False]]` give
# 0.6931, the logarithm of 2. Two of the four points are for the plain cases, two for NaN, large logits,
# nothing that counts and float32.


# %% nbgrader={"grade": false, "grade_id": "masked-cross-entropy", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "01.masked_cross_entropy", "helpers": ["imports"]}
def masked_cross_entropy(logits, target, mask):
    """Return what a token costs on average, over the positions where mask (B, T) is True."""
    ### BEGIN SOLUTION
    counted = mask.sum()
    if counted == 0:
        return 0.0
    scores, right = logits[mask], target[mask]  # (N, V), (N,)
    highest = scores.max(axis=-1)  # (N,)
    log_total = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=-1))  # (N,)
    return (log_total - scores[np.arange(counted), right]).mean()
    ### END SOLUTION


# %%
check("01.masked_cross_entropy", masked_cross_entropy)

# %% nbgrader={"grade": true, "grade_id": "masked-cross-entropy-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded: the loss, 2 points for the plain cases, 2 for NaN, large logits, nothing that counts and float32.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("01.masked_cross_entropy", masked_cross_entropy, points=4)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. Exact match
#
# {{exercise 01.exact_match}}
#
# A date with a wrong year is a wrong date, however many of its tokens are right.
#
# - `predicted` and `target` are `(B, T)` and hold tokens, whole numbers. `mask` is `(B, T)`, True where a
#   position counts.
# - Return one number: the share of sentences in which *every* position that counts is right. A sentence
#   in which no position counts is left out. Where none is left, return 0.
#
# One of the two points is for the plain cases, one for empty sentences and scattered padding. (Chapter 1:
# *One, two, three dates*.)


# %% nbgrader={"grade": false, "grade_id": "exact-match", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "01.exact_match", "helpers": ["imports"]}
def exact_match(predicted, target, mask):
    """Return the share of sentences (B, T) whose counted positions are all right."""
    ### BEGIN SOLUTION
    wrong = (mask & (predicted != target)).any(axis=1)  # (B,)
    scored = mask.any(axis=1)  # (B,)
    return 1 - wrong[scored].mean() if scored.any() else 0.0
    ### END SOLUTION


# %%
check("01.exact_match", exact_match)

# %% [markdown]
# If each token is right with a chance of 0.95, independently of the others, how many sentences are
# right? Run the simulation and compare with $0.95^T$.

# %%
generator = np.random.default_rng(7)
lengths = np.array([1, 2, 4, 8, 16, 32])
matches = []
for length in lengths:
    target = np.zeros((5000, length), dtype=int)
    predicted = (generator.random(target.shape) > 0.95).astype(int)  # 1 is a wrong token
    matches.append(exact_match(predicted, target, np.ones(target.shape, dtype=bool)))
curves(
    lengths,
    {"measured": np.array(matches), "0.95 to the power T": 0.95**lengths},
    x_label="length T",
    y_label="exact match",
    x_scale="log",
)

# %% nbgrader={"grade": true, "grade_id": "exact-match-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the exact match, 1 point for the plain cases, 1 for empty sentences and scattered padding.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("01.exact_match", exact_match, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 8. The encoder as a torch module
#
# {{exercise 01.gru_encoder}}
#
# In NumPy you computed; in torch the parameters can be trained. (New to torch? *How to use the course*
# has a section *As much PyTorch as you need*.) Write a module:
#
# - `GRUEncoder(d_in, d_state)` has four parameters, each a `torch.nn.Parameter` under this very name:
#   `w_input (d_in, 3 * d_state)`, `w_state (d_state, 3 * d_state)`, `b_input (3 * d_state,)` and
#   `b_state (3 * d_state,)`. The blocks of columns are reset, update, candidate, as in exercise 2. Begin
#   them with any numbers.
# - `forward(x, keep)` takes `x (B, T, d_in)` and a boolean `keep (B, T)`, True for words, and returns the
#   state of each sentence after its last word, `(B, d_state)`. States begin with zeros and stay what they
#   are where there is no word.
# - Gradients reach every word and every parameter, and are 0 for padding.
#
# Three of the five points are for batches without padding, forwards and backwards; two for padding. Your
# module is built, loaded with parameters, run, and differentiated.


# %% nbgrader={"grade": false, "grade_id": "gru-encoder", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "01.gru_encoder", "helpers": ["imports-torch"]}
class GRUEncoder(torch.nn.Module):
    """Read x (B, T, d_in) where keep (B, T) is True; return the last states (B, d_state)."""

    def __init__(self, d_in, d_state):
        ### BEGIN SOLUTION
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.randn(d_in, 3 * d_state) / d_in**0.5)
        self.w_state = torch.nn.Parameter(torch.randn(d_state, 3 * d_state) / d_state**0.5)
        self.b_input = torch.nn.Parameter(torch.zeros(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.zeros(3 * d_state))
        ### END SOLUTION

    def forward(self, x, keep):
        ### BEGIN SOLUTION
        from_words = x @ self.w_input + self.b_input  # (B, T, 3 * d_state), all words at once
        state = x.new_zeros(x.shape[0], self.w_state.shape[0])  # (B, d_state)
        for t in range(x.shape[1]):
            r_word, z_word, c_word = from_words[:, t].chunk(3, dim=-1)  # (B, d_state) each
            r_state, z_state, c_state = (state @ self.w_state + self.b_state).chunk(3, dim=-1)
            candidate = torch.tanh(c_word + torch.sigmoid(r_word + r_state) * c_state)
            moved = torch.lerp(candidate, state, torch.sigmoid(z_word + z_state))
            state = torch.where(keep[:, t].unsqueeze(-1), moved, state)
        return state
        ### END SOLUTION


# %%
check("01.gru_encoder", GRUEncoder)

# %% [markdown]
# Your module can learn what the random network of exercise 1 could not: to keep the *first* of 16 digits
# in a state of 32 numbers. (It is told what to keep. A translator must keep everything.) The training
# runs twice: with an update gate that begins half open, and with one that begins wide open, as in the
# experiment of exercise 2. Which will learn sooner?

# %%
seen, curve = np.arange(0, 301, 20), {}
for bias in (0.0, 2.0):
    torch.manual_seed(0)
    encoder, reader = GRUEncoder(10, 32), torch.nn.Linear(32, 10)
    with torch.no_grad():  # the same beginning for every solution of the exercise
        for parameter in encoder.parameters():
            parameter.normal_(std=0.2)
        encoder.b_state[32:64] = bias  # of the update gate
    optimiser = torch.optim.Adam([*encoder.parameters(), *reader.parameters()], lr=0.01)
    shares = []
    for _ in range(301):
        digits = torch.randint(10, (64, 16))
        state = encoder(torch.eye(10)[digits], torch.ones(64, 16, dtype=torch.bool))
        logits = reader(state)
        loss = torch.nn.functional.cross_entropy(logits, digits[:, 0])
        shares.append((logits.argmax(dim=1) == digits[:, 0]).float().mean().item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    curve[f"update gate's bias {bias:.0f}"] = np.array(shares)[seen]
curves(seen, curve, x_label="training steps", y_label="first digit read out rightly")

# %% nbgrader={"grade": true, "grade_id": "gru-encoder-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Graded: the module, 3 points without padding, 2 with; both include gradients.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("01.gru_encoder", GRUEncoder, points=5)
### END HIDDEN TESTS

# %% [markdown]
# ## 9. A program with a fault
#
# This program computes what a token costs on average. Its author tried it on batches of equally long
# sentences, and it was right. Then two trainings were compared that sort their sentences into batches in
# different ways, and the one with the worse translations had the better loss.


# %% nbgrader={"grade": false, "grade_id": "faulty-mean-loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
def faulty_mean_loss(cost, mask):
    """What a token costs on average: cost (B, T), mask (B, T). Something is wrong here."""
    total = (cost * mask).sum(axis=1)  # (B,)
    each = total / mask.sum(axis=1)  # (B,)
    return each.mean()


# %% [markdown]
# ### 9a. Find numbers on which the fault shows
#
# {{exercise 01.counterexample}}
#
# A test needs data on which right and wrong programs differ. Return such data: `cost` of shape `(B, T)`,
# numbers of at least 0, and a boolean `mask` of the same shape, True where a token counts, so that
# `faulty_mean_loss(cost, mask)` returns an ordinary number that is not the mean cost of the tokens that
# count.


# %% nbgrader={"grade": false, "grade_id": "counterexample", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "01.counterexample", "helpers": ["imports"]}
def counterexample():
    """Return cost (B, T) and mask (B, T) on which the faulty program gives a wrong mean."""
    ### BEGIN SOLUTION
    return np.array([[1.0, 1.0], [4.0, 0.0]]), np.array([[True, True], [True, False]])
    ### END SOLUTION


# %%
check("01.counterexample", counterexample)

# %% nbgrader={"grade": true, "grade_id": "counterexample-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: whether the fault shows on your numbers.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("01.counterexample", counterexample, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ### 9b. Mend the program
#
# {{exercise 01.mean_loss}}
#
# Write the program as it should be: the mean of `cost` over all positions of the batch where `mask` is
# True, every token counting the same. Where nothing counts, return 0. What stands in the padding must not
# matter, not even NaN.


# %% nbgrader={"grade": false, "grade_id": "mean-loss", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "01.mean_loss", "helpers": ["imports"]}
def mean_loss(cost, mask):
    """Return what a token costs on average, over the positions where mask (B, T) is True."""
    ### BEGIN SOLUTION
    return cost[mask].mean() if mask.any() else 0.0
    ### END SOLUTION


# %%
check("01.mean_loss", mean_loss)

# %% nbgrader={"grade": true, "grade_id": "mean-loss-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Graded: the mended program, 1 point for the plain cases, 1 for scattered padding, nothing that counts and NaN.
### BEGIN HIDDEN TESTS
from coursekit.checks import mark

mark("01.mean_loss", mean_loss, points=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 10. In your own words
#
# **3 points** · about 10 minutes · marked by a person
#
# A friend has seen the curve of chapter 1 (one date is translated well, three are not) and says: "this
# proves that a vector of this width cannot hold three dates". In four to six sentences, explain what the
# bottleneck is, and why the curve alone does not prove that.
#
# What is looked for, one point each:
#
# 1. what the decoder gets of the source, and that its width does not grow with the source;
# 2. that a network must *learn* what to keep, and how, with an observation from this notebook (what a
#    random and a trained state remember);
# 3. what else could explain the curve, or which experiment would tell (a larger state, more training,
#    fewer sentences, another network).

# %% [markdown] nbgrader={"grade": true, "grade_id": "in-your-own-words", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The decoder sees nothing of the source but the last state of the encoder, one vector whose width is the
# same for three words and for thirty. Everything the decoder will need has to be in it, and what was read
# first has to survive every later step. That room is limited does not say how soon it is full, though. In
# the first exercise a random state of 32 numbers had lost the first of 16 digits, while in exercise 8 a
# trained state of the same width kept it: so keeping is a matter of learning too. Three dates are far
# fewer bits than the vector could hold, and a training that is too short, or a loss that is hard to
# descend, would give the same curve. To tell them apart, one would train longer and with wider states,
# and see whether the curve moves.
# ### END SOLUTION
