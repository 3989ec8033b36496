"""Losses, marks and the training loop: values, laws, what padding may do, and the messages."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from attnkit import progress as progress_module
from attnkit.torch import fit, fit_on_draws, masked_cross_entropy, one_cycle_schedule
from tests.attnkit.backends import NUMPY, TORCH, normal
from tests.tolerances import assert_close

T, V, S = 5, 7, 4
LOGITS = 3 * normal(1, 2, T, V)
TARGET = np.random.default_rng(2).integers(V, size=(2, T))
MASK = np.array([[True, True, True, False, False], [True, False, True, True, True]])


def loss(backend, logits=LOGITS, target=TARGET, mask=MASK, dtype=None, **keywords):
    """The loss as a float, and its dtype's name."""
    found = backend.functions.masked_cross_entropy(
        backend.array(logits, dtype), backend.array(target), backend.array(mask), **keywords
    )
    name = str(found.dtype).removeprefix("torch.")
    return float(found), name


# --- masked cross-entropy -------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_the_loss_equals_loops(smoothing, backend):
    costs = []
    for b, t in zip(*np.nonzero(MASK), strict=True):
        p = np.exp(LOGITS[b, t]) / np.exp(LOGITS[b, t]).sum()
        wanted = np.full(V, smoothing / V)
        wanted[TARGET[b, t]] += 1 - smoothing
        costs.append(-sum(w * np.log(q) for w, q in zip(wanted, p, strict=True)))
    found, _ = loss(backend, label_smoothing=smoothing)
    assert found == pytest.approx(np.mean(costs), rel=1e-13)


def test_masked_positions_have_no_influence(backend):
    """Neither NaN among the logits nor a target that is no class."""
    logits = np.where(MASK[..., None], LOGITS, np.nan)
    target = np.where(MASK, TARGET, -100)
    assert loss(backend, logits, target) == loss(backend)


def test_the_mean_is_over_positions_not_over_rows(backend):
    """A row with more tokens counts for more; a common slip is a mean of means."""
    row, other = LOGITS[:1], np.zeros((1, T, V))
    mask = np.array([[True] * 4 + [False], [True] + [False] * 4])
    alone, _ = loss(backend, row, TARGET[:1], mask[:1])
    both, _ = loss(backend, np.concatenate([row, other]), TARGET, mask)
    assert both == pytest.approx((4 * alone + np.log(V)) / 5, rel=1e-13)


def test_adding_a_constant_to_all_logits_changes_nothing(backend):
    assert loss(backend, LOGITS + 100.0)[0] == pytest.approx(loss(backend)[0], rel=1e-12)


def test_large_logits_stay_finite(backend):
    certain = np.zeros((1, V))
    certain[0, 3] = 1e4
    right, _ = loss(backend, certain, np.array([3]), np.array([True]))
    wrong, _ = loss(backend, certain, np.array([0]), np.array([True]))
    assert (right, wrong) == (0.0, 1e4)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
def test_any_leading_axes(lead, backend):
    logits, target = normal(1, *lead, T, V), np.random.default_rng(1).integers(V, size=(*lead, T))
    mask = np.random.default_rng(2).random((*lead, T)) < 0.5
    flat = loss(backend, logits.reshape(-1, V), target.reshape(-1), mask.reshape(-1))
    assert loss(backend, logits, target, mask) == flat


def test_nothing_to_score_costs_nothing(backend):
    assert loss(backend, mask=np.zeros_like(MASK))[0] == 0
    assert loss(backend, LOGITS[:0], TARGET[:0], MASK[:0])[0] == 0


def test_dtypes_of_the_loss(backend):
    for dtype in backend.dtypes:
        found, name = loss(backend, dtype=dtype)
        assert name == ("float64" if dtype == "float64" else "float32")
        assert found == pytest.approx(loss(backend)[0], rel=2e-2)
    assert loss(backend, np.ones((2, T, V), int))[1] == backend.default


def test_slopes_of_the_loss():
    logits = torch.from_numpy(LOGITS.copy()).requires_grad_()
    target, mask = torch.from_numpy(TARGET), torch.from_numpy(MASK)

    def call(logits):
        return TORCH.functions.masked_cross_entropy(logits, target, mask, label_smoothing=0.1)

    assert gradcheck(call, logits)
    call(logits).backward()
    assert not logits.grad[~mask].any()
    poisoned = torch.where(mask[..., None], logits.detach(), torch.nan).requires_grad_()
    call(poisoned).backward()
    assert_close(poisoned.grad.numpy(), logits.grad.numpy(), "gradient")
    empty = logits.detach().clone().requires_grad_()
    TORCH.functions.masked_cross_entropy(empty, target, torch.zeros_like(mask)).backward()
    assert not empty.grad.any()


def test_messages_of_the_loss(backend):
    with pytest.raises(
        ValueError,
        match=r"target has shape \(2, 4\) but logits without its classes has shape \(2, 5\)",
    ):
        loss(backend, target=TARGET[:, :4], mask=MASK[:, :4])
    with pytest.raises(
        ValueError, match=r"mask has shape .* but target has shape .*position by position"
    ):
        loss(backend, mask=MASK[:1])
    with pytest.raises(
        ValueError, match=r"target must lie between 0 and 6 .* from .* to 7; is padding"
    ):
        loss(backend, target=TARGET + 7 * (TARGET == 0), mask=MASK | True)
    with pytest.raises(
        ValueError, match=r"label_smoothing must be at least 0 and below 1 .*spread over all"
    ):
        loss(backend, label_smoothing=1.0)
    with pytest.raises(TypeError, match="mask must be boolean"):
        loss(backend, mask=MASK.astype(float))
    with pytest.raises(TypeError, match=r"target must be integers but is .*float64; a class"):
        loss(backend, target=TARGET.astype(float))
    with pytest.raises(TypeError, match=r"logits must be real but is .*complex128"):
        loss(backend, LOGITS.astype(complex))


# --- marks ----------------------------------------------------------------------------------------


def match(backend, predicted, target, mask):
    return backend.functions.exact_match(*map(backend.array, (predicted, target, mask)))


def test_exact_match(backend):
    target = np.array([[1, 2, 3], [1, 2, 0], [4, 0, 0], [5, 6, 7]])
    mask = target > 0
    assert match(backend, target, target, mask) == 1.0
    padding_differs = np.where(mask, target, 9)
    assert match(backend, padding_differs, target, mask) == 1.0
    for row in range(4):  # one wrong token anywhere makes exactly one sequence wrong
        for place in range(int(mask[row].sum())):
            wrong = target.copy()
            wrong[row, place] += 1
            assert match(backend, wrong, target, mask) == 0.75
    nothing = mask.copy()
    nothing[3] = False  # a row that is all padding is neither right nor wrong
    assert match(backend, target + (target == 1), target, nothing) == pytest.approx(1 / 3)
    assert match(backend, target[:0], target[:0], mask[:0]) == 0.0


def test_messages_of_exact_match(backend):
    target = np.ones((2, 3), int)
    with pytest.raises(ValueError, match=r"predicted has shape .* but target has shape"):
        match(backend, target[:, :2], target, target > 0)
    with pytest.raises(ValueError, match=r"mask has shape .* but target has shape"):
        match(backend, target, target, np.ones(3, bool))
    with pytest.raises(TypeError, match=r"predicted must be integers but is .*float64"):
        match(backend, target * 1.0, target, target > 0)
    with pytest.raises(TypeError, match="mask must be boolean"):
        match(backend, target, target, target)


def aligned(backend, weights, alignment):
    return backend.functions.alignment_accuracy(backend.array(weights), backend.array(alignment))


def test_alignment_accuracy(backend):
    weights = np.zeros((2, 3, S))
    looked = np.array([[0, 3, 1], [2, 2, 0]])
    np.put_along_axis(weights, looked[..., None], 1.0, axis=-1)
    assert aligned(backend, weights, looked) == 1.0
    right = np.array([[0, 3, 2], [2, -1, -1]])  # four are scored, one of them wrong
    assert aligned(backend, weights, right) == 0.75
    assert aligned(backend, weights, np.full((2, 3), -1)) == 0.0
    assert aligned(backend, weights[:0], right[:0]) == 0.0
    assert aligned(backend, weights[..., :0], np.full((2, 3), -1)) == 0.0


def test_messages_of_alignment_accuracy(backend):
    weights = np.ones((2, 3, S))
    with pytest.raises(
        ValueError,
        match=r"alignment has shape \(3, 2\) but weights without its keys has shape \(2, 3\)",
    ):
        aligned(backend, weights, np.zeros((3, 2), int))
    with pytest.raises(
        ValueError, match="alignment names source position 4 but weights has 4 of them, 0 to 3"
    ):
        aligned(backend, weights, np.full((2, 3), S))
    with pytest.raises(TypeError, match=r"alignment must be integers but is .*float64"):
        aligned(backend, weights, np.zeros((2, 3)))


def test_weights_of_any_number_are_aligned_and_complex_ones_refused(backend):
    seen = np.array([[True, False], [False, True]])
    for kind in (bool, np.uint8, np.float16):
        assert aligned(backend, seen.astype(kind), np.array([0, 0])) == 0.5
    with pytest.raises(TypeError, match=r"weights must be real but is .*complex128; .*real part"):
        aligned(backend, seen + 0j, np.array([0, 1]))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("masked_cross_entropy", ("logits", "target", "mask")),
        ("exact_match", ("predicted", "target", "mask")),
        ("alignment_accuracy", ("weights", "alignment")),
    ],
)
def test_torch_takes_tensors(name, arguments):
    right = {"logits": np.ones((2, 3)), "weights": np.ones((2, 3)), "mask": np.ones(2, bool)}
    right = {key: torch.from_numpy(right.get(key, np.ones(2, int))) for key in arguments}
    for stranger in arguments:
        for kind in (np.asarray, list):
            wrong = right | {stranger: kind(right[stranger].numpy())}
            with pytest.raises(TypeError, match=f"{stranger} must be a torch.Tensor but is"):
                getattr(TORCH.functions, name)(**wrong)


@pytest.mark.parametrize("words", ["words", [["a", "b"]], object()])
def test_numpy_takes_numbers(words):
    functions = NUMPY.functions
    with pytest.raises(TypeError, match=r"logits must be real but is .*numbers only"):
        functions.masked_cross_entropy([words, words], [0, 1], [True, True])
    with pytest.raises(TypeError, match=r"weights must be real but is .*numbers only"):
        functions.alignment_accuracy([words, words], [0, 1])


def test_both_back_ends_give_plain_floats():
    for backend in (NUMPY, TORCH):
        assert type(match(backend, TARGET, TARGET, MASK)) is float
        assert type(aligned(backend, LOGITS, np.zeros((2, T), int))) is float


# --- the loop -------------------------------------------------------------------------------------


def line():
    """A model of one slope and the points it should meet."""
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 16)[:, None]
    return torch.nn.Linear(1, 1), x, 3 * x - 2


def test_fit_finds_a_line_and_reports():
    model, x, y = line()
    seen = []

    def report():
        seen.append((model.training, torch.is_grad_enabled()))
        return model.weight.item()

    history = fit(
        model,
        lambda step: (model(x) - y).square().mean(),
        n_steps=300,
        learning_rate=0.1,
        report=report,
        report_at=[1, 300],
    )
    assert model.weight.item() == pytest.approx(3, abs=0.01)
    assert model.bias.item() == pytest.approx(-2, abs=0.01)
    assert len(history.loss) == 300
    assert history.loss[-1] < 1e-4 < history.loss[0]
    assert list(history.reports) == [1, 300]
    assert history.reports[300] == pytest.approx(3, abs=0.01)
    assert seen == [(False, False)] * 2
    assert not model.training
    assert history.cpu_seconds > 0


def test_fit_is_deterministic():
    def run():
        model, x, y = line()
        history = fit(
            model, lambda step: (model(x) - y).square().mean(), n_steps=5, learning_rate=0.1
        )
        return history.loss

    assert run() == run()


def test_fit_follows_its_schedule_and_counts_from_one():
    model, x, y = line()
    asked, steps = [], []

    def rate(step):
        asked.append(step)
        return 0.0

    def batch_loss(step):
        steps.append(step)
        return (model(x) - y).square().mean()

    before = model.weight.item()
    fit(model, batch_loss, n_steps=4, learning_rate=rate)
    assert asked == steps == [1, 2, 3, 4]
    assert model.weight.item() == before  # rate zero


def test_long_gradients_are_clipped():
    """Adam forgets the size of a gradient, but the length handed to it can be read off."""
    model, x, y = line()
    for clip_norm in (0.5, None):
        fit(
            model,
            lambda step: 1e3 * (model(x) - y).square().mean(),
            n_steps=1,
            learning_rate=lambda step: 0.0,
            clip_norm=clip_norm,
        )
        length = torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item()
        assert length == pytest.approx(0.5, rel=1e-4) if clip_norm else length > 100


def test_a_loss_that_is_not_finite_stops_the_run():
    model, x, _ = line()
    with pytest.raises(FloatingPointError, match="nan at step 3"):
        fit(
            model,
            lambda step: model(x).mean() * (torch.nan if step == 3 else 1.0),
            n_steps=5,
            learning_rate=0.1,
        )


def test_messages_of_fit():
    model, _, _ = line()
    with pytest.raises(ValueError, match=r"n_steps must be at least 0 but is -1; .*"):
        fit(model, None, n_steps=-1, learning_rate=0.1)
    with pytest.raises(
        ValueError, match=r"report_at must lie .* n_steps = 2 but .* 3; steps count"
    ):
        fit(model, None, n_steps=2, learning_rate=0.1, report=list, report_at=[3])
    with pytest.raises(
        ValueError, match=r"report must be a function .*\(1 of them\) but is None; was it"
    ):
        fit(model, None, n_steps=2, learning_rate=0.1, report_at=[1])


@pytest.mark.parametrize("seed", [0, 3])
def test_fit_on_draws_is_fit_with_batches_drawn_one_after_the_other(seed):
    """The batches are those of one generator; what does not count is not learnt."""

    def draw(generator):
        left, right = torch.from_numpy(generator.random((2, 6, 4), dtype=np.float32))
        counts = torch.from_numpy(generator.random(6) < 0.5)
        return [left, right], (left > right).long().argmax(-1), counts

    class Difference(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(4, 4)

        def forward(self, left, right):
            return self.layer(left - right)

    ours, theirs = Difference(), Difference()
    generator = np.random.default_rng(seed)

    def batch_loss(step):
        (left, right), target, counts = draw(generator)
        return masked_cross_entropy(theirs(left, right), target, counts)

    settings = {"n_steps": 7, "learning_rate": 0.1}
    expected = fit(theirs, batch_loss, **settings)
    found = fit_on_draws(ours, draw, seed=seed, **settings)
    assert found.loss == expected.loss
    assert torch.equal(ours.layer.weight, theirs.layer.weight)


def test_fit_on_draws_names_its_bar(capfd, monkeypatch):
    monkeypatch.setattr(progress_module, "someone_watches", lambda: True)

    def draw(generator):
        return [torch.ones(1, 2)], torch.zeros(1).long(), torch.ones(1).bool()

    fit_on_draws(torch.nn.Linear(2, 2), draw, n_steps=1, learning_rate=0.1, label="a bar")
    assert "a bar" in capfd.readouterr().out


def test_training_on_empty_batches_is_refused():
    """A loss of 0 would look like a task that is learnt."""

    def draw(generator):
        return [torch.ones(0, 2)], torch.zeros(0, dtype=torch.long), torch.zeros(0) > 0

    with pytest.raises(ValueError, match=r"batch of shape \(0,\), but .* batch_size 0"):
        fit_on_draws(torch.nn.Linear(2, 2), draw, n_steps=1, learning_rate=0.1)


@pytest.mark.parametrize("n_steps", [1, 2, 10, 37, 100])
def test_the_schedule_is_that_of_torch(n_steps):
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    if n_steps > 3:  # below, torch divides by a climb of no length
        theirs = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=0.6, total_steps=n_steps)
        for step in range(1, n_steps + 1):
            expected = optimiser.param_groups[0]["lr"]
            assert one_cycle_schedule(step, n_steps, 0.6) == pytest.approx(expected, rel=1e-9)
            optimiser.step()
            if step < n_steps:
                theirs.step()
    rates = [one_cycle_schedule(step, n_steps, 0.6) for step in range(1, n_steps + 1)]
    assert all(0 < rate <= 0.6 for rate in rates)


def test_the_schedule_refuses_steps_outside():
    for step in (0, 11):
        with pytest.raises(ValueError, match="step must lie between 1 and n_steps = 10"):
            one_cycle_schedule(step, 10, 1.0)


@pytest.mark.parametrize(("d_model", "warmup"), [(1, 1), (16, 7), (512, 4000)])
def test_the_warm_up_climbs_in_a_line_and_sinks_with_the_root(d_model, warmup, backend):
    """Stated by its shape, not by the formula: a peak, a line before it, a law after it."""

    def rate(step):
        return backend.functions.warmup_schedule(step, d_model, warmup)

    peak = rate(warmup)
    assert peak == pytest.approx(1 / np.sqrt(d_model * warmup), rel=1e-13)
    for step in {1, max(1, warmup // 3), max(1, warmup - 1)}:
        assert rate(step) == pytest.approx(peak * step / warmup, rel=1e-13)
    for times in (4, 9):
        assert rate(times * warmup) == pytest.approx(peak / np.sqrt(times), rel=1e-13)


@pytest.mark.parametrize("name", ["step", "d_model", "warmup"])
def test_the_warm_up_refuses_what_has_no_meaning(name, backend):
    arguments = {"step": 3, "d_model": 4, "warmup": 5}
    with pytest.raises(ValueError, match=f"{name} must be at least 1"):
        backend.functions.warmup_schedule(**arguments | {name: 0})
    with pytest.raises(TypeError, match=name):
        backend.functions.warmup_schedule(**arguments | {name: 2.5})


# --- the progress bar -----------------------------------------------------------------------------


def test_nobody_watches_a_test(capfd):
    with progress_module.progress(3, "training") as advance:
        for _ in range(3):
            advance("loss 1.0")
    assert capfd.readouterr() == ("", "")


def test_a_person_sees_a_bar_that_is_wiped(capfd, monkeypatch):
    monkeypatch.setattr(progress_module, "someone_watches", lambda: True)
    with progress_module.progress(2, "training") as advance:
        advance("loss 2.0")
        advance("loss 1.0")
    out, err = capfd.readouterr()
    assert err == ""
    drawings = out.split("\r")
    assert "training" in drawings[1]
    assert "1/2 loss 2.0" in drawings[1]
    assert "2/2 loss 1.0" in drawings[2]
    assert drawings[-2].strip() == ""
    assert len(drawings[-2]) == len(drawings[2])


class Kernel:
    """As much of a Jupyter kernel as is asked."""

    def __init__(self, content):
        self.content = content

    def get_parent(self, channel):
        assert channel == "shell"
        return {"content": self.content} if self.content is not None else {}


@pytest.mark.parametrize(
    ("content", "watched"),
    [({"allow_stdin": True}, True), ({"allow_stdin": False}, False), ({}, False), (None, False)],
    ids=["live notebook", "book", "old protocol", "no request"],
)
def test_a_notebook_is_watched_where_somebody_could_answer(content, watched, monkeypatch):
    monkeypatch.setattr(progress_module, "_kernel", lambda: Kernel(content))
    assert progress_module.someone_watches() is watched


def test_a_terminal_is_watched(monkeypatch):
    for watched in (True, False):
        monkeypatch.setattr(sys.stdout, "isatty", lambda watched=watched: watched, raising=False)
        assert progress_module.someone_watches() is watched


@pytest.mark.slow
def test_an_executed_page_is_not_watched():
    """The program that executes the pages of the book says that nobody can answer."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    source = "from attnkit.progress import someone_watches\nsomeone_watches()"
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbclient.NotebookClient(page, kernel_name="python3").execute()
    assert page.cells[0].outputs[0]["data"]["text/plain"] == "False"


def test_training_prints_nothing_and_needs_no_notebook():
    """In a process of its own, as a page's script would run it."""
    program = (
        "import json, sys, torch\n"
        "from attnkit.torch import fit\n"
        "model = torch.nn.Linear(1, 1)\n"
        "loss = lambda step: model(torch.ones(1, 1)).square().mean()\n"
        "fit(model, loss, n_steps=3, learning_rate=0.1)\n"
        "print(json.dumps(sorted({'IPython', 'babel', 'matplotlib'} & set(sys.modules))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []
    assert done.stderr == ""
