"""What assignment 02 hands to learners in a locked cell, word for word: a faulty program."""

import numpy as np


def faulty_mean_value(value, keep):
    """Mean of those rows of value (n, d_v) that keep (n,) marks True. Something is wrong here."""
    kept = np.where(keep[:, None], value, 0.0)  # (n, d_v)
    return kept.mean(axis=0)  # (d_v,)
