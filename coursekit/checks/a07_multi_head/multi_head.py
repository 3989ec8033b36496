"""07.multi_head_attention: all heads at once, any leading axes, under a mask that knows no heads."""

import numpy as np

from attnkit.numpy import causal_mask
from attnkit.numpy import multi_head_attention as library_attention

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .given import softmax

NAMES = ("w_query", "w_key", "w_value", "w_output")


def multi_head_attention(query, key, mask, parameters, n_heads):
    """Multi-head attention from the library; keys and values are made of the same words."""
    return library_attention(query, key, mask=mask, parameters=parameters, n_heads=n_heads)


def _request(draw, random, lead, m, n, d_model, n_heads, mask=None, **options):
    mask = np.ones((m, n), bool) if mask is None else np.array(mask, bool)
    return Call(
        {
            "query": draw(random, *lead, m, d_model, **options),
            "key": draw(random, *lead, n, d_model, **options),
            "mask": mask,
            "parameters": {name: draw(random, d_model, d_model, **options) for name in NAMES},
            "n_heads": n_heads,
        }
    )


def _some(random, *shape):
    """True and False, both in every row."""
    mask = random.random(shape) < 0.6
    mask[..., 0], mask[..., -1] = True, False
    return mask


def cases(random):
    an_empty_row = [[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [0, 1, 1, 0, 1]]
    lengths = np.array([[[3]], [[1]], [[4]]])
    return [
        Case(
            "two queries, two keys, width 4, two heads",
            _request(readable, random, (), 2, 2, 4, 2),
        ),
        Case(
            "three queries, five keys, width 6, three heads",
            _request(normal, random, (), 3, 5, 6, 3),
        ),
        Case(
            "five queries, two keys, width 8, two heads",
            _request(normal, random, (), 5, 2, 8, 2),
        ),
        Case(
            "a causal mask",
            _request(normal, random, (), 4, 4, 6, 3, causal_mask(4, 4)),
            "mask",
        ),
        Case(
            "a query that may look at nothing",
            _request(normal, random, (), 3, 5, 4, 2, an_empty_row),
            "mask",
        ),
        Case(
            "two sentences without padding, three heads",
            _request(normal, random, (2,), 3, 4, 6, 3),
            "batch",
        ),
        Case(
            "three sentences with padding, two heads",
            _request(normal, random, (3,), 2, 5, 4, 2, np.arange(5) < lengths),
            "batch",
        ),
        Case(
            "as many sentences as heads, with padding",
            _request(normal, random, (3,), 4, 5, 6, 3, np.arange(5) < lengths),
            "batch",
        ),
        Case(
            "as many sentences as heads, a mask for each sentence",
            _request(normal, random, (2,), 3, 4, 6, 2, _some(random, 2, 3, 4)),
            "batch",
        ),
        Case(
            "leading axes (2, 3), in float32",
            _request(
                normal, random, (2, 3), 4, 5, 8, 4, _some(random, 2, 3, 4, 5), dtype=np.float32
            ),
            "batch",
        ),
    ]


def _hidden_key_exchanged(random):
    mask = _some(random, 3, 4)
    mask[:, 2] = False
    request = _request(normal, random, (), 3, 4, 6, 2, mask)
    key = request.arguments["key"].copy()
    key[2] = normal(random, 6)
    return [request, Call({**request.arguments, "key": key})]


def _sentences_turned_round(random):
    request = _request(normal, random, (3,), 2, 4, 6, 2, _some(random, 3, 1, 4))
    turned = {name: request.arguments[name][::-1] for name in ("query", "key", "mask")}
    return [request, Call({**request.arguments, **turned})]


def mask_meets_the_heads(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    weights = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), mask)
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


def merged_by_reshape(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[..., None, :, :])
    return (weights @ v).reshape(query.shape) @ parameters["w_output"]


def split_by_reshape(query, key, mask, parameters, n_heads):
    def split(x):
        *lead, length, d_model = x.shape
        return x.reshape(*lead, n_heads, length, d_model // n_heads)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[..., None, :, :])
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


def both_by_reshape(query, key, mask, parameters, n_heads):
    def split(x):
        *lead, length, d_model = x.shape
        return x.reshape(*lead, n_heads, length, d_model // n_heads)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[..., None, :, :])
    return (weights @ v).reshape(query.shape) @ parameters["w_output"]


def scale_forgotten(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    weights = softmax(q @ np.swapaxes(k, -1, -2), mask[..., None, :, :])
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


def root_of_the_model_width(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores, mask[..., None, :, :])
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


def output_forgotten(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[..., None, :, :])
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape)


def mask_ignored(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    weights = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


def mask_turned_round(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, ~mask[..., None, :, :])
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


def every_so_many_columns(query, key, mask, parameters, n_heads):
    def split(x):
        return np.moveaxis(x.reshape(*x.shape[:-1], -1, n_heads), -1, -3)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[..., None, :, :])
    return np.moveaxis(weights @ v, -3, -1).reshape(query.shape) @ parameters["w_output"]


def words_split_first(query, key, mask, parameters, n_heads):
    d_head = query.shape[-1] // n_heads
    heads = []
    for h in range(n_heads):
        part = slice(h * d_head, (h + 1) * d_head)
        q, k, v = (
            x[..., part] @ parameters[name][part, part]
            for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
        )
        heads.append(softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(d_head), mask) @ v)
    return np.concatenate(heads, axis=-1) @ parameters["w_output"]


def matrices_transposed(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name].T)
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[..., None, :, :])
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"].T


def heads_compete(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = np.moveaxis(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -3, -1)
    weights = np.moveaxis(softmax(scores, mask[..., None]), -1, -3)
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


def weights_averaged(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k = split(query @ parameters["w_query"]), split(key @ parameters["w_key"])
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[..., None, :, :]).mean(axis=-3)
    return weights @ (key @ parameters["w_value"]) @ parameters["w_output"]


def values_not_projected(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k = split(query @ parameters["w_query"]), split(key @ parameters["w_key"])
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[..., None, :, :])
    merged = np.swapaxes(weights @ split(key), -3, -2).reshape(query.shape)
    return merged @ parameters["w_output"]


def pair_returned(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[..., None, :, :])
    merged = np.swapaxes(weights @ v, -3, -2).reshape(query.shape)
    return merged @ parameters["w_output"], weights


def heads_axis_in_front(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[None])
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


def axes_from_the_front(query, key, mask, parameters, n_heads):
    def split(x):
        return x.reshape(len(x), n_heads, -1).transpose(1, 0, 2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    weights = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]), mask)
    return (weights @ v).transpose(1, 0, 2).reshape(query.shape) @ parameters["w_output"]


def masked_after_softmax(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores) * mask[..., None, :, :]
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


def values_of_the_queries(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (query, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[..., None, :, :])
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


def large_negative_score(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(np.where(mask[..., None, :, :], scores, -1e9))
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


def heads_axis_among_the_queries(query, key, mask, parameters, n_heads):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)

    q, k, v = (
        split(x @ parameters[name])
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = softmax(scores, mask[..., None, :])
    return np.swapaxes(weights @ v, -3, -2).reshape(query.shape) @ parameters["w_output"]


MISTAKES = (
    Mistake(
        "the mask meets the heads",
        mask_meets_the_heads,
        "The scores are (..., H, m, n), and the mask has no axis for heads. For one sentence it "
        "stretches over all of them. With a batch its first axis is lined up with the *heads*: an "
        "error at best, and if there are as many sentences as heads, head i silently gets sentence i's "
        "mask. Give the mask an axis of size 1 for the heads, third from the end.",
    ),
    Mistake(
        "the new axis of the mask in front",
        heads_axis_in_front,
        "An axis in front of all others changes nothing: shapes are lined up from the end. The axis "
        "for the heads stands just before (m, n).",
        same_as="the mask meets the heads",
    ),
    Mistake(
        "merged by a plain reshape",
        merged_by_reshape,
        "The heads were merged with a plain reshape: the first rows of the result hold the first head "
        "of several words. Let heads and length change places first.",
    ),
    Mistake(
        "split by a plain reshape",
        split_by_reshape,
        "The width was split with a plain reshape, straight to (..., H, length, d_head): whole words "
        "went to the first head. Cut the last axis in two, then let heads and length change places.",
    ),
    Mistake(
        "split and merged by a plain reshape",
        both_by_reshape,
        "Split and merge undo each other, but both are plain reshapes: between them a head holds whole "
        "words in place of its columns of every word. Heads and length must change places, after the "
        "cut and before the merge.",
    ),
    Mistake(
        "the scale forgotten",
        scale_forgotten,
        "The scores are not scaled: divide by the square root of d_head.",
    ),
    Mistake(
        "the root of the model width",
        root_of_the_model_width,
        "You divide by the square root of d_model. A score of a head is a sum over d_head components.",
    ),
    Mistake(
        "the output projection forgotten",
        output_forgotten,
        "These are the merged heads. The last product, with w_output, is missing.",
    ),
    Mistake(
        "the mask ignored",
        mask_ignored,
        "Hidden keys get weight: the mask is never handed to softmax.",
    ),
    Mistake(
        "the mask turned round",
        mask_turned_round,
        "All the weight lies on hidden keys. True means *may look* here.",
    ),
    Mistake(
        "every so many columns",
        every_so_many_columns,
        "Each head got every H-th column. A head owns neighbouring columns: in the reshape heads come "
        "before columns. (Split and merge fit each other here, but not the matrices.)",
    ),
    Mistake(
        "the words split before they are projected",
        words_split_first,
        "You cut the words, so a head sees a part of each word only. Project the whole words first and "
        "cut the result.",
    ),
    Mistake(
        "matrices transposed",
        matrices_transposed,
        "Your matrices are transposed, as in torch's Linear. Here words multiply them from the left, "
        "x @ w; and because they are square no shape warns you.",
    ),
    Mistake(
        "heads compete",
        heads_compete,
        "Softmax went over the heads. Each head spreads its own weight over the keys, the last axis.",
    ),
    Mistake(
        "weights averaged over heads",
        weights_averaged,
        "You averaged the weights of all heads. Then they all look at the same; each head mixes its "
        "own values by its own weights.",
    ),
    Mistake(
        "values not projected",
        values_not_projected,
        "The values are the words themselves. They have a projection of their own, w_value.",
    ),
    Mistake(
        "output and weights returned",
        pair_returned,
        "Both came back. The output alone is asked for; whoever calls this would take the pair for "
        "one array.",
    ),
    Mistake(
        "axes counted from the front",
        axes_from_the_front,
        "For one sentence this is right. With leading axes the first axis is the batch: count axes "
        "from the end.",
    ),
    Mistake(
        "the mask after the softmax",
        masked_after_softmax,
        "Hidden keys have taken their share before you set them to 0, so a row sums to less than one. "
        "Hand the mask to softmax.",
    ),
    Mistake(
        "values made of the queries",
        values_of_the_queries,
        "Your values are made of `query`. Keys *and values* are made of `key`: what is looked at.",
    ),
    Mistake(
        "equal weights where nothing may be looked at",
        large_negative_score,
        "When all scores of a row are the same large negative number they are equal again, and hidden "
        "keys share the weight. softmax with the mask leaves such a row at 0.",
    ),
    Mistake(
        "the axis for the heads in the wrong place",
        heads_axis_among_the_queries,
        "mask[..., None, :] puts the new axis between queries and keys, so the mask's queries are lined "
        "up with the heads. It belongs before both: mask[..., None, :, :].",
    ),
)

EXERCISE = Exercise(
    identifier="07.multi_head_attention",
    assignment="07_multi_head",
    title="Multi-head attention, all heads at once",
    kind="function",
    answer="multi_head_attention",
    points=5,
    difficulty=3,
    minutes=25,
    hints=(
        "Write down the shape after every step: projected, split, scores, weights, mixed, merged, "
        "projected. Heads are just one more leading axis for `@` and `softmax`.",
        "Project the whole words, then split queries, keys and values. The scores are "
        "`(..., H, m, n)`; the mask knows nothing of heads and needs an axis of size 1 at their place. "
        "Which place is that, counted from the end?",
        "A little function inside yours that splits saves writing it three times: `reshape`, then "
        "`np.swapaxes` of axes -3 and -2. For the mask, `mask[..., None, :, :]`. After the merge the "
        "shape is that of `query` again.",
    ),
    returns=("output",),
    cases=cases,
    laws=(
        same(
            "What stands at a hidden key does not matter",
            _hidden_key_exchanged,
            "with another word at a place that no query may look at, other outputs came out.",
            part="mask",
        ),
        same(
            "Sentences do not influence each other",
            _sentences_turned_round,
            "with the sentences in reverse order, the outputs were not just reversed.",
            undo=lambda output: output[::-1],
            part="batch",
        ),
    ),
    parts=(
        Part("plain", "the cases with one sentence and nothing hidden", 0.4),
        Part("mask", "those with a mask", 0.2),
        Part("batch", "those with several sentences", 0.4),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(multi_head_attention, MISTAKES),
)
