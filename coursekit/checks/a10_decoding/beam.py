"""10.beam_decode: the best few hypotheses at every step, from a table of log-probabilities."""

import numpy as np

from attnkit.numpy import beam_search

from ..draw import normal
from ..model import Case, Contents, Exercise, Law, Mistake, Part
from ..surface import Call


def beam_decode(table, start, end, max_length, beam_width, length_penalty):
    """Beam search of a table, by the library's decoder, for one sequence."""
    tokens, scores = beam_search(
        lambda token, state: (table[token], state),
        [start],
        end=end,
        max_length=max_length,
        beam_width=beam_width,
        length_penalty=length_penalty,
    )
    return tokens[0], scores[0]


def _table(random, n_tokens, end, end_share):
    """Log-probabilities in which each token is followed by the end with about this probability."""
    scores = 1.5 * normal(random, n_tokens, n_tokens)
    scores[:, end] = -np.inf
    shares = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    ends = end_share * random.uniform(0.7, 1.3, (n_tokens, 1))
    shares *= 1 - ends
    shares[:, end] = ends[:, 0]
    # After the end anything may follow but the end, and nearly for free: nobody should look there.
    shares[end] = np.where(np.arange(n_tokens) == end, 0.1, 0.9 / (n_tokens - 1))
    return np.log(shares)


def _garden_path(random):
    """A table whose best first token leads nowhere good: token 0 starts, 3 ends."""
    shares = np.full((4, 4), 0.02)
    shares[0, [1, 2]] = 0.5, 0.4
    shares[1, [0, 1, 2]] = 0.31, 0.3, 0.33
    shares[2, 2] = 0.92
    shares *= random.uniform(0.95, 1.05, (4, 4))
    return np.log(shares / shares.sum(axis=-1, keepdims=True))


def _request(table, start, end, max_length, beam_width, length_penalty=0.0):
    return Call(
        {
            "table": table,
            "start": start,
            "end": end,
            "max_length": max_length,
            "beam_width": beam_width,
            "length_penalty": length_penalty,
        }
    )


def _ends_early(random, n_tokens, end):
    """A table and a start whose best four hypotheses differ in length, and with the penalty."""
    while True:
        table = _table(random, n_tokens, end, 0.5)
        start = int(random.choice(np.delete(np.arange(n_tokens), end)))
        plain, *others = (
            beam_decode(table, start, end, 7, 4, penalty)[0] for penalty in (0.0, 1.0, -1.0)
        )
        lengths = (plain != end).sum(axis=-1)
        # A length that is off by one shows in the ranks of few tables.
        counted, _ = start_counted_in_the_length(table, start, end, 7, 4, 1.0)
        alike = any(np.array_equal(plain, other) for other in (*others, counted))
        alike = alike or np.array_equal(counted, others[0])
        if len(set(lengths)) >= 3 and lengths.max() < 7 and not alike:
            return table, start


def cases(random):
    plain, longer = _table(random, 6, 2, 1e-4), _table(random, 9, 5, 1e-4)
    ending, start = _ends_early(random, 6, 3)
    impossible = plain.copy()
    impossible[np.arange(6), random.permutation(6)] = -np.inf
    return [
        Case("a good first token that leads nowhere", _request(_garden_path(random), 0, 3, 3, 2)),
        Case("six tokens, three steps, two hypotheses", _request(plain, 0, 2, 3, 2)),
        Case("nine tokens, six steps, four hypotheses", _request(longer, 1, 5, 6, 4)),
        Case("one hypothesis", _request(longer, 3, 5, 5, 1)),
        Case("hypotheses that end early", _request(ending, start, 3, 7, 4), "care"),
        Case("length penalty 1", _request(ending, start, 3, 7, 4, 1.0), "care"),
        Case("length penalty 0.6", _request(ending, start, 3, 6, 2, 0.6), "care"),
        Case(
            "more hypotheses than tokens, so that the first step cannot fill them",
            _request(_garden_path(random), 0, 3, 3, 7),
            "care",
        ),
        Case(
            "a best hypothesis that ends at once",
            _request(_table(random, 5, 0, 0.7), 1, 0, 6, 2),
            "care",
        ),
        Case(
            "tokens that cannot follow, with -inf in the table",
            _request(impossible, 0, 2, 4, 2),
            "care",
        ),
    ]


def _tokens_renamed(random):
    """The same table with its tokens under other numbers."""
    table, start = _ends_early(random, 6, 3)
    name = np.array([4, 2, 5, 0, 1, 3])  # token i is called name[i]
    renamed = np.empty_like(table)
    renamed[np.ix_(name, name)] = table
    return [
        _request(table, start, 3, 7, 4),
        _request(renamed, int(name[start]), int(name[3]), 7, 4),
    ]


def _broken_renamed(requests, values):
    name = np.array([4, 2, 5, 0, 1, 3])
    (tokens, scores), (other_tokens, other_scores) = values
    valid = ((tokens >= 0) & (tokens < 6)).all()
    if not valid or not np.array_equal(name[tokens.astype(int)], other_tokens):
        return "with the tokens under other numbers, other hypotheses were found."
    if not np.allclose(scores, other_scores, rtol=1e-9, atol=1e-12):
        return "with the tokens under other numbers, the scores were others."
    return None


def all_begin_alike(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.full((beam_width, 1), start), np.zeros(beam_width)
    lengths, done = np.zeros(beam_width), np.zeros(beam_width, bool)
    for _ in range(max_length):
        if done.all():
            break
        steps = np.where(done[:, None], -np.inf, table[tokens[:, -1]])
        steps[done, end] = 0.0
        lengths = lengths + ~done
        candidates = scores[:, None] + steps
        rank = candidates / lengths[:, None] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return tokens[:, 1:], scores


def each_for_itself(table, start, end, max_length, beam_width, length_penalty):
    best = np.argsort(-table[start], kind="stable")[:beam_width]
    tokens, scores = best[:, None], table[start][best]
    done = best == end
    while tokens.shape[1] < max_length and not done.all():
        steps = table[tokens[:, -1]]
        token = np.where(done, end, steps.argmax(axis=-1))
        scores = scores + np.where(done, 0.0, steps.max(axis=-1))
        tokens = np.concatenate([tokens, token[:, None]], axis=1)
        done = token == end
    lengths = np.minimum((tokens != end).sum(axis=1) + 1, tokens.shape[1])
    order = np.argsort(-scores / lengths**length_penalty, kind="stable")
    return tokens[order], scores[order]


def parents_forgotten(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.full((beam_width, 1), start), np.full(beam_width, -np.inf)
    scores[0] = 0.0
    lengths, done = np.zeros(beam_width), np.zeros(beam_width, bool)
    for _ in range(max_length):
        if done.all():
            break
        steps = np.where(done[:, None], -np.inf, table[tokens[:, -1]])
        steps[done, end] = 0.0
        lengths = lengths + ~done
        candidates = scores[:, None] + steps
        rank = candidates / lengths[:, None] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens, token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return tokens[:, 1:], scores


def going_on_after_the_end(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    for n_steps in range(1, max_length + 1):
        candidates = scores[:, None] + table[tokens[:, -1]]
        rank = candidates / n_steps**length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores = candidates[parent, token]
        if (token == end).all():
            break
    return tokens[:, 1:], scores


def end_paid_again(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    lengths, done = np.zeros(1), np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.all():
        steps = table[tokens[:, -1]].copy()
        closing = steps[done, end]
        steps[done] = -np.inf
        steps[done, end] = closing
        lengths = lengths + ~done
        candidates = scores[:, None] + steps
        rank = candidates / lengths[:, None] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return tokens[:, 1:], scores


def length_always_grows(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    lengths, done = np.zeros(1), np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.all():
        steps = np.where(done[:, None], -np.inf, table[tokens[:, -1]])
        steps[done, end] = 0.0
        lengths = lengths + 1
        candidates = scores[:, None] + steps
        rank = candidates / lengths[:, None] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return tokens[:, 1:], scores


def penalty_ignored(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    done = np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.all():
        steps = np.where(done[:, None], -np.inf, table[tokens[:, -1]])
        steps[done, end] = 0.0
        candidates = scores[:, None] + steps
        best = np.argsort(-candidates, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores = candidates[parent, token]
        done = token == end
    return tokens[:, 1:], scores


def penalty_multiplied(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    lengths, done = np.zeros(1), np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.all():
        steps = np.where(done[:, None], -np.inf, table[tokens[:, -1]])
        steps[done, end] = 0.0
        lengths = lengths + ~done
        candidates = scores[:, None] + steps
        rank = candidates * lengths[:, None] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return tokens[:, 1:], scores


def ranks_for_scores(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    lengths, done = np.zeros(1), np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.all():
        steps = np.where(done[:, None], -np.inf, table[tokens[:, -1]])
        steps[done, end] = 0.0
        lengths = lengths + ~done
        candidates = scores[:, None] + steps
        rank = candidates / lengths[:, None] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return tokens[:, 1:], scores / lengths**length_penalty


def stops_with_the_first(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    done = np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.any():
        candidates = scores[:, None] + table[tokens[:, -1]]
        rank = candidates / tokens.shape[1] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores = candidates[parent, token]
        done = token == end
    return tokens[:, 1:], scores


def always_to_the_limit(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    lengths, done = np.zeros(1), np.zeros(1, bool)
    for _ in range(max_length):
        steps = np.where(done[:, None], -np.inf, table[tokens[:, -1]])
        steps[done, end] = 0.0
        lengths = lengths + ~done
        candidates = scores[:, None] + steps
        rank = candidates / lengths[:, None] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return tokens[:, 1:], scores


def start_included(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    lengths, done = np.zeros(1), np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.all():
        steps = np.where(done[:, None], -np.inf, table[tokens[:, -1]])
        steps[done, end] = 0.0
        lengths = lengths + ~done
        candidates = scores[:, None] + steps
        rank = candidates / lengths[:, None] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return tokens, scores


def worst_first(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    lengths, done = np.zeros(1), np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.all():
        steps = np.where(done[:, None], -np.inf, table[tokens[:, -1]])
        steps[done, end] = 0.0
        lengths = lengths + ~done
        candidates = scores[:, None] + steps
        rank = candidates / lengths[:, None] ** length_penalty
        best = np.argsort(rank, axis=None, kind="stable")[-beam_width:]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return tokens[:, 1:], scores


def probabilities_for_scores(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    lengths, done = np.zeros(1), np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.all():
        steps = np.where(done[:, None], -np.inf, table[tokens[:, -1]])
        steps[done, end] = 0.0
        lengths = lengths + ~done
        candidates = scores[:, None] + steps
        rank = candidates / lengths[:, None] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return tokens[:, 1:], np.exp(scores)


def last_step_alone(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    done = np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.all():
        steps = np.where(done[:, None], -np.inf, table[tokens[:, -1]])
        steps[done, end] = 0.0
        best = np.argsort(-steps, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores = scores[parent] + steps[parent, token]
        done = token == end
    return tokens[:, 1:], scores


def start_counted_in_the_length(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    lengths, done = np.ones(1), np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.all():
        steps = table[tokens[:, -1]].copy()
        steps[done] = -np.inf
        steps[done, end] = 0.0
        lengths = lengths + ~done
        candidates = scores[:, None] + steps
        rank = candidates / lengths[:, None] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return tokens[:, 1:], scores


def one_greedy_text(table, start, end, max_length, beam_width, length_penalty):
    tokens, score = [start], 0.0
    while len(tokens) <= max_length and (len(tokens) == 1 or tokens[-1] != end):
        step = table[tokens[-1]]
        tokens.append(int(step.argmax()))
        score += step.max()
    return np.array([tokens[1:]]), np.array([score])


def scores_first(table, start, end, max_length, beam_width, length_penalty):
    tokens, scores = np.array([[start]]), np.zeros(1)
    lengths, done = np.zeros(1), np.zeros(1, bool)
    while tokens.shape[1] <= max_length and not done.all():
        steps = table[tokens[:, -1]].copy()
        steps[done] = -np.inf
        steps[done, end] = 0.0
        lengths = lengths + ~done
        candidates = scores[:, None] + steps
        rank = candidates / lengths[:, None] ** length_penalty
        best = np.argsort(-rank, axis=None, kind="stable")[:beam_width]
        parent, token = np.divmod(best, len(table))
        tokens = np.concatenate([tokens[parent], token[:, None]], axis=1)
        scores, lengths = candidates[parent, token], lengths[parent]
        done = token == end
    return scores, tokens[:, 1:]


def ended_ones_set_aside(table, start, end, max_length, beam_width, length_penalty):
    beam, ended = [([], 0.0)], []
    for _ in range(max_length):
        grown = [
            ([*text, token], score + step)
            for text, score in beam
            for token, step in enumerate(table[text[-1] if text else start])
        ]
        grown.sort(key=lambda pair: -pair[1] / len(pair[0]) ** length_penalty)
        ended += [pair for pair in grown[:beam_width] if pair[0][-1] == end]
        beam = [pair for pair in grown[:beam_width] if pair[0][-1] != end]
        if len(ended) >= beam_width or not beam:
            break
    best = sorted(ended + beam, key=lambda pair: -pair[1] / len(pair[0]) ** length_penalty)
    longest = max(len(text) for text, _ in best[:beam_width])
    filled = [text + [end] * (longest - len(text)) for text, _ in best[:beam_width]]
    return np.array(filled), np.array([score for _, score in best[:beam_width]])


MISTAKES = (
    Mistake(
        "all hypotheses begin alike",
        all_begin_alike,
        "You begin with the same hypothesis several times over, so the same continuation wins "
        "several times and the beam holds copies. At first there is one hypothesis, the empty one.",
    ),
    Mistake(
        "each hypothesis for itself",
        each_for_itself,
        "Each hypothesis goes on with its own best token. In a beam they compete: the best "
        "continuations of all together are kept, and these may all come from one hypothesis.",
    ),
    Mistake(
        "parents forgotten",
        parents_forgotten,
        "The scores are right in the beginning, but tokens are hung on to the wrong hypotheses. A new "
        "hypothesis in place i does not continue the old one in place i: take the tokens of its "
        "parent first.",
    ),
    Mistake(
        "going on after the end",
        going_on_after_the_end,
        "Hypotheses that have ended are continued. They keep tokens and score, are filled with end, "
        "and compete with the others as they are.",
    ),
    Mistake(
        "the end paid again",
        end_paid_again,
        "A hypothesis that has ended is filled with end, and at each step you charge it the "
        "log-probability of an end after an end. It keeps the score that it had.",
    ),
    Mistake(
        "the length penalty ignored",
        penalty_ignored,
        "length_penalty is never used, or once at the end, or every hypothesis has the same length, "
        "those that have ended too. In every step hypotheses are ranked by "
        "score / length ** length_penalty, each with its own length.",
    ),
    Mistake(
        "a length that always grows",
        length_always_grows,
        "The length of a hypothesis that has ended goes on growing, so all lengths are equal and the "
        "penalty changes nothing. A hypothesis keeps the length it had with its first end.",
        same_as="the length penalty ignored",
    ),
    Mistake(
        "multiplied by the length",
        penalty_multiplied,
        "Scores are negative: multiplied by a length they fall, and long hypotheses suffer twice. "
        "Divide.",
    ),
    Mistake(
        "ranks in place of scores",
        ranks_for_scores,
        "You return what hypotheses are ranked by. Asked for are the scores themselves, the sums of "
        "log-probabilities.",
    ),
    Mistake(
        "stopping with the first",
        stops_with_the_first,
        "The search stops when *one* hypothesis has ended. Others may still overtake it: stop when "
        "all have ended.",
    ),
    Mistake(
        "always to the limit",
        always_to_the_limit,
        "You always make max_length steps. Stop as soon as all hypotheses have ended.",
    ),
    Mistake(
        "the start token included",
        start_included,
        "The first column holds the start token. It was given; hypotheses begin with the first token "
        "that was chosen.",
    ),
    Mistake(
        "worst first",
        worst_first,
        "The right hypotheses, the best one last. np.argsort sorts upwards: sort the negative ranks, "
        "or turn the result round.",
    ),
    Mistake(
        "probabilities in place of scores",
        probabilities_for_scores,
        "These are probabilities. Asked for are their logarithms, the sums.",
    ),
    Mistake(
        "the last step alone",
        last_step_alone,
        "You rank continuations by their last token only. A hypothesis is as good as the *sum* of "
        "all its log-probabilities: add the score up to there first.",
    ),
    Mistake(
        "the start token in the length",
        start_counted_in_the_length,
        "Your lengths are one too large, so ranks are others: the start token was given. Count "
        "the tokens that were chosen, the end included.",
    ),
    Mistake(
        "one greedy text",
        one_greedy_text,
        "This is greedy decoding: one text, always with the best next token. Keep beam_width "
        "hypotheses and rank the continuations of all of them together.",
    ),
    Mistake(
        "scores first",
        scores_first,
        "Tokens and scores have changed places: return (tokens, scores).",
    ),
    Mistake(
        "what has ended set aside",
        ended_ones_set_aside,
        "You take hypotheses that have ended out of the beam and go on with the others. Some "
        "libraries do so. Here what has ended keeps its place, competes as it is, and is dropped "
        "if others are better.",
    ),
)

EXERCISE = Exercise(
    identifier="10.beam_decode",
    assignment="10_decoding",
    title="Beam search",
    kind="function",
    answer="beam_decode",
    points=6,
    difficulty=3,
    minutes=40,
    hints=(
        "What must be known of each hypothesis: its tokens, its score, and what else? How many are "
        "there before the first step?",
        "In each step make a table of all continuations, a row for each hypothesis and a column for "
        "each token: the score so far plus the row of `table`. For a hypothesis that has ended, the "
        "row is 0 at `end` and -inf elsewhere. Rank all entries together, keep the best; entry number "
        "i belongs to hypothesis `i // V` and token `i % V`.",
        "Begin with one hypothesis: `tokens = np.array([[start]])`, `scores = np.zeros(1)`, nobody "
        "done, length 0. `np.argsort(-rank, axis=None)[:beam_width]` are the best entries, "
        "`np.divmod(best, len(table))` their parents and tokens. Take tokens, lengths and scores *of "
        "the parents*, and hang the new tokens on. The first column, start, is cut off at the end.",
    ),
    returns=("tokens", "scores"),
    cases=cases,
    laws=(
        Law(
            "The numbers by which tokens are called do not matter",
            _tokens_renamed,
            _broken_renamed,
            "care",
        ),
    ),
    parts=(
        Part("plain", "the cases in which no hypothesis ends", 0.5),
        Part("care", "those with an end, a length penalty, few tokens or -inf", 0.5),
    ),
    contents=lambda: Contents(beam_decode, MISTAKES),
)
