"""The records of chapter 9 are of their scripts, whose models are what they say."""

import pytest
import torch

from attnkit.torch import MultiHeadAttention, scaled_dot_product_attention, split_heads
from tests.attnkit.records import read, record, settings


def test_the_ablation_is_of_this_script():
    ours, results = (
        settings("transformer_ablation"),
        read(record("transformer_ablation"))["results"],
    )
    assert results["sizes"] == ours["SIZES"]
    assert (results["n_steps"], results["batch_size"]) == (ours["N_STEPS"], ours["BATCH_SIZE"])
    assert (results["factor"], results["warmup"]) == (ours["FACTOR"], ours["WARMUP"])
    assert list(results["variants"]) == list(ours["VARIANTS"])
    for runs in results["variants"].values():
        assert [run["seed"] for run in runs] == list(ours["SEEDS"])
        for run in runs:
            assert max(map(int, run["exact_match"])) == ours["N_STEPS"]
            assert all(
                0 <= x <= 1 for report in run["exact_match"].values() for x in report.values()
            )


def test_each_variant_lacks_what_it_says():
    """One thing less than the whole each; the scale of the scores is taken back by longer vectors."""
    ours = settings("transformer_ablation")
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 1}
    built = {name: ours["build"](name, 7, 9, sizes) for name in ours["VARIANTS"]}
    whole = built["whole"]
    assert not hasattr(built["no norms"].encoder[0], "attention_norm")
    assert hasattr(whole.encoder[0], "attention_norm")
    assert built["no positions"].positions is None
    assert whole.positions == "sinusoidal"
    assert not built["no residuals"].encoder[0].residual
    assert whole.encoder[0].residual
    assert built["one head"].encoder[0].attention.n_heads == 1
    assert built["no feed-forward"].encoder[0].feed_forward.w_hidden.shape == (8, 0)
    assert not built["no scale of embeddings"].scale_embedding
    schemes = [
        (layer.attention.positions, layer.memory_attention.positions)
        for layer in built["no scale of scores"].decoder
    ]
    assert all(isinstance(scheme, ours["Unscaled"]) for pair in schemes for scheme in pair)


def test_scores_without_their_scale_are_plain_dot_products():
    ours = settings("transformer_ablation")
    torch.manual_seed(0)
    layer = MultiHeadAttention(8, 2, bias=False).double()
    layer.positions = ours["Unscaled"]()
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    _, weights = layer(x, return_weights=True)
    query, key, value = (split_heads(part, 2) for part in (x @ layer.w_input).chunk(3, -1))
    _, expected = scaled_dot_product_attention(query, key, value, scale=1.0, return_weights=True)
    torch.testing.assert_close(weights, expected)


def test_the_norms_are_of_this_script():
    ours, results = settings("transformer_norms"), read(record("transformer_norms"))["results"]
    assert results["sizes"] == ours["SIZES"]
    assert (results["n_steps"], results["batch_size"]) == (ours["N_STEPS"], ours["BATCH_SIZE"])
    found = {(run["norm"], run["warmup"], run["peak"], run["seed"]) for run in results["runs"]}
    assert found == {
        (norm, warmup, peak, seed)
        for norm in ours["NORMS"]
        for warmup in ours["WARMUPS"]
        for peak in ours["PEAKS"]
        for seed in ours["SEEDS"]
    }
    assert len(results["runs"]) == len(found)


@pytest.mark.parametrize("warmup", [0, 100])
def test_both_schedules_of_the_norms_are_the_same_after_the_warm_up(warmup):
    rate_of = settings("transformer_norms")["rate_of"]
    rate = rate_of(0.5, warmup)
    assert rate(100) == 0.5
    assert rate(400) == pytest.approx(0.25)
    assert rate(10) == pytest.approx(0.05 if warmup else 0.5)


def test_the_translators_are_of_this_script():
    ours = settings("transformer_translators")
    results = read(record("transformer_translators"))["results"]
    assert list(results["translators"]) == list(ours["MODELS"]) == list(results["time_of_a_step"])
    for name, kind in results["translators"].items():
        assert kind["n_steps"] == ours["N_STEPS"][name]
        assert [run["seed"] for run in kind["runs"]] == list(ours["SEEDS"])
        # One thread cannot compute for longer than anybody waits; both are rounded.
        for run in kind["runs"]:
            assert 0 < run["training_cpu_seconds"] <= run["training_wall_seconds"] + 0.1
            assert run["load"] >= 0
    # The batches are drawn by the seed alone: as many tokens a step, whatever reads them.
    tokens = {
        name: sum(run["training_tokens"] for run in kind["runs"]) / kind["n_steps"]
        for name, kind in results["translators"].items()
    }
    assert max(tokens.values()) < 1.1 * min(tokens.values())
    assert results["tokens_a_step"] == ours["TOKENS_A_STEP"]
    for costs in results["time_of_a_step"].values():
        assert [int(length) for length in costs] == list(ours["LENGTHS"])
        assert all(0 < cost["low"] <= cost["ratio"] <= cost["high"] for cost in costs.values())


def test_a_training_step_reads_as_many_tokens_whatever_the_length():
    """And it leaves gradients: the whole step is timed, forward and back."""
    ours = settings("transformer_translators")
    model = ours["build"]("Transformer", 100, 100, d_model=8, n_heads=2, n_layers=1)
    read_tokens = []

    def note(_, arguments, output):
        read_tokens.append(tuple(arguments[0].shape))

    model.source_embedding.register_forward_hook(note)
    for length in (4, 8):
        ours["training_step"](model, length, 32)()
        assert model.output.weight.grad.any()
    assert read_tokens == [(8, 4), (4, 8)]
