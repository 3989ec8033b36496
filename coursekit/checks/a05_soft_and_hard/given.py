"""What assignment 05 hands to learners in locked cells, word for word: a helper and a faulty program."""

import numpy as np


def softmax(scores):
    """Weights along the last axis, (..., n) to (..., n); a score of -inf gets the weight 0."""
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - highest)  # (..., n), at most 1: nothing overflows
    return exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., n)


def faulty_estimates(scores, guess, key, paid):
    """REINFORCE, (s, n), less what each key was guessed to pay. Something is wrong here."""
    probability = softmax(scores)  # (n,)
    one_hot = np.eye(len(scores))[key]  # (s, n)
    baseline = guess[key]  # (s,)
    return (paid - baseline)[:, None] * (one_hot - probability)
