"""07.multi_head_cost: parameters, operations and weights of a layer, against the number of heads."""

from ..model import Case, Contents, Exercise, Law, Mistake, Part
from ..surface import Call


def multi_head_cost(m, n, d_model, n_heads, n_kv_heads):
    """Parameters, operations and weights of a layer.

    The tests compare it with the parameters of the library's module and with torch's own counter
    of operations.
    """
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    projections = 2 * (2 * m * d_model * d_model + 2 * n * d_model * d_kv)
    attention = 2 * 2 * m * n * d_model
    return float(parameters), float(projections + attention), float(n_heads * m * n)


def _request(m, n, d_head, n_heads, n_kv_heads):
    return Call(
        {
            "m": int(m),
            "n": int(n),
            "d_model": int(d_head * n_heads),
            "n_heads": int(n_heads),
            "n_kv_heads": int(n_kv_heads),
        }
    )


def cases(random):
    m, d_head = random.integers(3, 7), random.integers(2, 6)
    more = random.integers(1, 4)
    return [
        Case("two heads, fewer queries than keys", _request(m, m + more, d_head, 2, 2)),
        Case("three heads, more queries than keys", _request(m + more, m, d_head + 1, 3, 3)),
        Case("one head", _request(m, m + 2, d_head + 3, 1, 1)),
        Case("eight heads", _request(m + 1, m + 4, d_head, 8, 8)),
        Case("four heads of queries, two of keys", _request(m, m + more, d_head, 4, 2), "grouped"),
        Case("six heads of queries, one of keys", _request(m + 2, m, d_head, 6, 1), "grouped"),
    ]


def _other_heads(random):
    m, n = (int(size) for size in random.integers(2, 9, 2))
    return [_request(m, n, 24 // heads, heads, heads) for heads in (1, 2, 8)]


def _heads_matter(requests, values):
    for name, at in (("parameters", 0), ("operations", 1)):
        counts = [f"{float(value[at]):g}" for value in values]
        if len(set(counts)) > 1:
            return f"with 1, 2 and 8 heads the {name} were {', '.join(counts)}."
    return None


def each_once(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 2 * m * d_model**2 + 2 * n * d_model * d_kv + 2 * m * n * d_model
    return parameters, operations, n_heads * m * n


def whole_width_for_each_head(m, n, d_model, n_heads, n_kv_heads):
    width, d_kv = n_heads * d_model, n_kv_heads * d_model
    parameters = (d_model + 1) * width + 2 * (d_model + 1) * d_kv + (width + 1) * d_model
    operations = 4 * m * d_model * width + 4 * n * d_model * d_kv + 4 * m * n * width
    return parameters, operations, n_heads * m * n


def output_forgotten(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 2 * m * d_model**2 + 4 * n * d_model * d_kv + 4 * m * n * d_model
    return parameters, operations, n_heads * m * n


def biases_forgotten(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    operations = 4 * m * d_model**2 + 4 * n * d_model * d_kv + 4 * m * n * d_model
    return 2 * d_model**2 + 2 * d_model * d_kv, operations, n_heads * m * n


def output_bias_forgotten(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv - d_model
    operations = 4 * m * d_model**2 + 4 * n * d_model * d_kv + 4 * m * n * d_model
    return parameters, operations, n_heads * m * n


def mixing_forgotten(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 4 * m * d_model**2 + 4 * n * d_model * d_kv + 2 * m * n * d_model
    return parameters, operations, n_heads * m * n


def projections_forgotten(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    return parameters, 4 * m * n * d_model, n_heads * m * n


def scores_of_the_whole_width(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 4 * m * d_model**2 + 4 * n * d_model * d_kv + 4 * m * n * d_model * n_heads
    return parameters, operations, n_heads * m * n


def scores_of_one_head(m, n, d_model, n_heads, n_kv_heads):
    d_head = d_model // n_heads
    d_kv = n_kv_heads * d_head
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 4 * m * d_model**2 + 4 * n * d_model * d_kv + 4 * m * n * d_head
    return parameters, operations, n_heads * m * n


def queries_and_keys_alike(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 4 * m * d_model**2 + 4 * m * d_model * d_kv + 4 * m * m * d_model
    return parameters, operations, n_heads * m * m


def keys_projected_for_queries(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 4 * m * d_model**2 + 4 * m * d_model * d_kv + 4 * m * n * d_model
    return parameters, operations, n_heads * m * n


def one_table(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 4 * m * d_model**2 + 4 * n * d_model * d_kv + 4 * m * n * d_model
    return parameters, operations, m * n


def groups_ignored(m, n, d_model, n_heads, n_kv_heads):
    parameters = 4 * (d_model + 1) * d_model
    operations = 4 * m * d_model**2 + 4 * n * d_model**2 + 4 * m * n * d_model
    return parameters, operations, n_heads * m * n


def groups_save_scores(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 4 * m * d_model**2 + 4 * n * d_model * d_kv + 4 * m * n * d_kv
    return parameters, operations, n_heads * m * n


def groups_save_tables(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 4 * m * d_model**2 + 4 * n * d_model * d_kv + 4 * m * n * d_model
    return parameters, operations, n_kv_heads * m * n


def attention_forgotten(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    return parameters, 4 * m * d_model**2 + 4 * n * d_model * d_kv, n_heads * m * n


def biases_added(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 4 * m * d_model**2 + 4 * n * d_model * d_kv + 4 * m * n * d_model
    return parameters, operations + 2 * m * d_model + 2 * n * d_kv, n_heads * m * n


def operations_of_the_output_forgotten(m, n, d_model, n_heads, n_kv_heads):
    d_kv = n_kv_heads * (d_model // n_heads)
    parameters = 2 * (d_model + 1) * d_model + 2 * (d_model + 1) * d_kv
    operations = 2 * m * d_model**2 + 4 * n * d_model * d_kv + 4 * m * n * d_model
    return parameters, operations, n_heads * m * n


MISTAKES = (
    Mistake(
        "a multiplication and an addition counted as one",
        each_once,
        "Your operations are half of what was expected. A multiplication and the addition that follows "
        "it count as two.",
    ),
    Mistake(
        "the whole width for each head",
        whole_width_for_each_head,
        "You gave every head the whole width. Heads *share* it: each has d_model / n_heads columns, so "
        "all together have d_model.",
    ),
    Mistake(
        "the output projection forgotten",
        output_forgotten,
        "One projection is missing, that of the output: d_model × d_model and its bias, used once for "
        "each query.",
    ),
    Mistake(
        "the biases forgotten",
        biases_forgotten,
        "Each of the four projections has a bias, one parameter for each column.",
    ),
    Mistake(
        "the bias of the output forgotten",
        output_bias_forgotten,
        "Three biases are there; that of the output, d_model parameters, is missing.",
    ),
    Mistake(
        "the weighted sums forgotten",
        mixing_forgotten,
        "You counted the scores, but not the weighted sums of the values, which take as many "
        "operations again.",
    ),
    Mistake(
        "the projections forgotten",
        projections_forgotten,
        "These are the operations of scores and weighted sums. The four projections are products too.",
    ),
    Mistake(
        "scores of the whole width in every head",
        scores_of_the_whole_width,
        "In your count every head compares d_model components. A head compares d_head of them; all "
        "heads together compare d_model.",
    ),
    Mistake(
        "the scores of one head",
        scores_of_one_head,
        "Scores and weighted sums were counted for one head. There are n_heads of them.",
    ),
    Mistake(
        "as many keys as queries",
        queries_and_keys_alike,
        "You took m for n. There are m queries and n keys; they are equal in self-attention only.",
    ),
    Mistake(
        "keys projected for each query",
        keys_projected_for_queries,
        "Keys and values are made once for each of the n words that are looked at. You counted them m "
        "times.",
    ),
    Mistake(
        "one table of weights",
        one_table,
        "Every head has a table of weights of its own, of m rows and n columns.",
    ),
    Mistake(
        "shared keys ignored",
        groups_ignored,
        "With fewer heads of keys and values their projections are narrower: n_kv_heads * d_head "
        "columns each.",
    ),
    Mistake(
        "shared keys save scores",
        groups_save_scores,
        "Shared keys save projections, and memory, but no scores: every head of queries still compares "
        "each of its queries with each key.",
    ),
    Mistake(
        "shared keys save weights",
        groups_save_tables,
        "Heads that share their keys still ask different questions: each head of queries has a table of "
        "its own.",
    ),
    Mistake(
        "scores and weighted sums forgotten",
        attention_forgotten,
        "These are the operations of the four projections. Scores and weighted sums are products, too: "
        "two in every head.",
    ),
    Mistake(
        "the biases' additions counted",
        biases_added,
        "You counted adding the biases among the operations. Only the matrix products are asked for.",
    ),
    Mistake(
        "the operations of the output projection forgotten",
        operations_of_the_output_forgotten,
        "The output projection is among your parameters, but not among your operations: d_model × "
        "d_model, once for each query.",
    ),
)

EXERCISE = Exercise(
    identifier="07.multi_head_cost",
    assignment="07_multi_head",
    title="Count parameters and operations",
    kind="function",
    answer="multi_head_cost",
    points=4,
    difficulty=2,
    minutes=20,
    hints=(
        "List the matrix products of the layer, with the shapes of both factors. How many operations "
        "does the product of an (a, b) and a (b, c) matrix take?",
        "Such a product takes 2·a·b·c. There are four projections, and in each head one product for "
        "the scores and one for the weighted sums. Which of them happen for queries, which for keys?",
        "The projections of query and output are (d_model, d_model) and meet m rows; those of key and "
        "value are (d_model, d_kv) and meet n rows, with `d_kv` = n_kv_heads times the width of a "
        "head. In one head the scores take 2·m·d_head·n, and the weighted sums as much.",
    ),
    returns=("number of parameters", "number of operations", "number of weights"),
    cases=cases,
    laws=(
        Law(
            "Heads share the width, so their number changes neither parameters nor operations",
            _other_heads,
            _heads_matter,
        ),
    ),
    parts=(
        Part("plain", "the cases with as many heads of keys as of queries", 0.75),
        Part("grouped", "those with shared keys", 0.25),
    ),
    whole_numbers_pass=True,
    contents=lambda: Contents(multi_head_cost, MISTAKES),
)
