"""Compacted mistakes: other text, same results."""

import numpy as np

from coursekit.authoring.compaction import compact_mistakes

SOURCE = '''
"""A bank."""

import numpy as np

LIMIT = 3  # stays, with its comment


def reference(query):
    """Stays."""
    total = query.sum()
    return total


def wrong(query, key, *, scale=2.0):
    """Goes."""
    scores = np.zeros((len(query), len(key)))
    for i, row in enumerate(query):
        scores[i] = [sum(row * other) for other in key]
    return scores * scale + LIMIT


class Module:
    def __init__(self, width):
        """Goes too."""
        size = width + LIMIT
        self.size = size


MISTAKES = (Mistake("wrong", wrong, "Why?"), Mistake("module", Module, "Why?"))
'''


def loaded(source):
    namespace = {"Mistake": lambda *arguments: arguments}
    exec(source, namespace)
    return namespace


def test_results_stay_and_text_does_not():
    compacted = compact_mistakes(SOURCE)
    before, after = loaded(SOURCE), loaded(compacted)
    query, key = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(after["wrong"](query, key), before["wrong"](query, key))
    assert after["Module"](width=2).size == 5
    assert before["MISTAKES"][0][0] == after["MISTAKES"][0][0]
    for line in ("scores[i] =", "Goes", "for i, row", "size ="):
        assert line in SOURCE
        assert line not in compacted.replace("self.size =", "")


def test_everything_else_stays_to_the_byte():
    compacted = compact_mistakes(SOURCE)
    assert compacted.startswith(SOURCE[: SOURCE.index("def wrong")])
    assert compacted.endswith(SOURCE[SOURCE.index("MISTAKES = ") :])
    without = SOURCE.replace("MISTAKES", "OTHERS").replace("Mistake(", "print(")
    assert compact_mistakes(without) == without
