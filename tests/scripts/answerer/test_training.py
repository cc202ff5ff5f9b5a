"""Training LoRA adapters on a Llama model so small that a step takes a millisecond, in float32, not compiled."""

import signal
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.progress import Progress

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("gguf", reason="needs the train extra")
if find_spec("peft") is None:  # importing it takes seconds, in each worker
    pytest.skip("needs the train extra", allow_module_level=True)

from safetensors.torch import load_file  # noqa: E402

from models.research.torch_weights import Shape  # noqa: E402
from scripts.answerer import teaching  # noqa: E402
from scripts.answerer.llama import Llama  # noqa: E402
from scripts.answerer.packing import Branch, Row, Tree, packed  # noqa: E402
from scripts.answerer.recipe import Recipe  # noqa: E402
from scripts.answerer.training import Trainer, batches  # noqa: E402
from scripts.training import OtherRecipe  # noqa: E402

pytestmark = pytest.mark.torch

SHAPE = Shape(layers=2, heads=4, kv_heads=2, head=8, epsilon=1e-5, rope_base=10_000.0)
VOCABULARY, WIDTH, INNER = 64, 32, 48
RECIPE = Recipe(rank=4, rate=5e-3)
STEPS = 6


def llama() -> Llama:
    """Return a tiny Llama model with the same random weights each time."""
    model = Llama(SHAPE, VOCABULARY, WIDTH, INNER)
    source = torch.Generator().manual_seed(3)
    for name, weight in model.named_parameters():
        weight.data = torch.randn(weight.shape, generator=source) * 0.2 + name.endswith("norm")
    model.requires_grad_(False)
    return model


def trainer(recipe: Recipe = RECIPE, steps: int = STEPS, threads: int = 1) -> Trainer:
    return Trainer(llama(), recipe, steps, threads, compiled=False)


def trees(count: int, seed: int = 0) -> list[Tree]:
    draw = np.random.default_rng(seed)

    def tokens(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw.integers(0, VOCABULARY, draw.integers(low, high)).tolist())

    results = []
    for _ in range(count):
        said = [(tokens(3, 9), tokens(2, 9)) for _ in range(3)]
        branches = tuple(Branch((*tail, *answer), len(tail), float(draw.uniform(0.2, 2))) for tail, answer in said)
        results.append(Tree("made", tokens(10, 30), branches))
    return results


ROWS = list(packed(trees(60), 256))[: RECIPE.rows * STEPS]
BATCHES = list(batches(ROWS, RECIPE.rows))


def trained(trainer: Trainer, batches: Sequence[Sequence[Row]] = BATCHES) -> Trainer:
    for batch in batches:
        trainer.learn(batch)
    return trainer


def kept(trainer: Trainer, path: Path) -> dict[str, bytes]:
    """Return the bytes of every array in the trainer's state."""
    trainer.save(path)
    return content(path)


def content(path: Path) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in load_file(path).items()}


def test_the_rows_of_a_batch_are_of_one_length_but_for_what_is_left() -> None:
    rows = [*packed(trees(90), 256), *packed(trees(90), 512)]
    made = list(batches(rows, 4))
    assert sorted(map(id, rows)) == sorted(id(row) for part in made for row in part)
    whole = sum(count // 4 for count in Counter(len(row.tokens) for row in rows).values())
    assert len(made) > whole > 1
    assert all(len(part) == 4 and len({len(row.tokens) for row in part}) == 1 for part in made[:whole])


def test_a_packed_row_teaches_what_its_questions_teach_one_by_one() -> None:
    made = trees(4)
    [together] = packed(made, 512)
    alone = [row for part in made for branch in part.branches for row in packed([Tree("made", part.trunk, (branch,))])]
    assert len(alone) == 12
    training = trainer()
    for weight in training.adapter.values():  # what is learnt begins as nothing, and its gradient as half of nothing
        torch.nn.init.normal_(weight, std=0.2, generator=torch.Generator().manual_seed(len(weight)))
    loss, slopes = training.slopes(together)
    losses, each = zip(*map(training.slopes, alone), strict=True)
    assert loss == pytest.approx(sum(losses), rel=1e-4)
    for slope, parts in zip(slopes, zip(*each, strict=True), strict=True):
        assert slope.abs().max() > 0
        torch.testing.assert_close(slope, sum(parts), rtol=1e-3, atol=1e-5)


def test_what_is_taught_is_learnt_and_the_base_is_left_alone() -> None:
    training = trainer(Recipe(rank=4, rate=2e-2), steps=40)
    before = {
        name: weight.clone() for name, weight in training.model.named_parameters() if name not in training.adapter
    }
    losses = [training.learn(BATCHES[0]) for _ in range(40)]
    assert losses[-1] < 0.7 * losses[0]
    assert all(
        torch.equal(weight, before[name]) for name, weight in training.model.named_parameters() if name in before
    )


def test_the_model_computes_with_what_is_kept_exactly() -> None:
    model = trained(trainer())
    assert model.step == STEPS
    assert all(torch.equal(model.adapter[name], weight) for name, weight in model.exact.items())
    assert {name.split(".")[2] for name in model.exact} == {"attn_q", "attn_v", "attn_output", "ffn_up", "ffn_down"}


@pytest.mark.parametrize("steps", [0, 1, 4, STEPS])
def test_stopped_anywhere_it_goes_on_to_the_same_bytes(tmp_path: Path, steps: int) -> None:
    state = tmp_path / "state.safetensors"
    trained(trainer(), BATCHES[:steps]).save(state)
    after = trainer()
    after.load(state)
    assert after.step == steps
    assert kept(trained(after, BATCHES[steps:]), state) == kept(trained(trainer()), tmp_path / "whole.safetensors")


def test_any_number_of_threads_learns_the_same_bytes(tmp_path: Path) -> None:
    model, two = (kept(trained(trainer(threads=threads)), tmp_path / f"{threads}.safetensors") for threads in (1, 2))
    assert model == two


def test_another_seed_learns_something_else(tmp_path: Path) -> None:
    other = trained(trainer(Recipe(rank=4, rate=5e-3, seed=8)))
    assert kept(other, tmp_path / "8.safetensors") != kept(trained(trainer()), tmp_path / "7.safetensors")


@pytest.mark.parametrize(
    ("recipe", "steps"), [(Recipe(rank=8, rate=5e-3), STEPS), (Recipe(rank=4, rate=1e-3), STEPS), (RECIPE, STEPS + 1)]
)
def test_a_state_of_another_recipe_is_refused(tmp_path: Path, recipe: Recipe, steps: int) -> None:
    state = tmp_path / "state.safetensors"
    trained(trainer(), BATCHES[:2]).save(state)
    other = trainer(recipe, steps)
    with pytest.raises(OtherRecipe, match="6 steps, Recipe"):
        other.load(state)
    assert other.step == 0


AT = 3


class Interrupted(Trainer):
    """Simulates Ctrl-C in the middle of a training step, once or twice.

    The rows of a step are read in the main thread, the only one that gets signals.
    """

    def __init__(self, times: int = 1) -> None:
        super().__init__(llama(), RECIPE, STEPS, 1, compiled=False)
        self._times = times
        self._side_by_side: Any = SimpleNamespace(map=map)

    def slopes(self, row: Row) -> tuple[float, Sequence[Any]]:
        if self.step == AT:
            for _ in range(self._times):
                signal.raise_signal(signal.SIGINT)
            self._times = 0
        return super().slopes(row)


def test_ctrl_c_ends_the_step_keeps_the_state_and_the_next_run_goes_on(tmp_path: Path) -> None:
    state = tmp_path / "state.safetensors"
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        teaching.learn(Interrupted(), ROWS, state, Progress(disable=True), "run 1 of 1")
    assert signal.getsignal(signal.SIGINT) is before
    after = trainer()
    after.load(state)
    assert after.step == AT + 1
    after = trainer()
    teaching.learn(after, ROWS, state, Progress(disable=True), "run 1 of 1")
    assert content(state) == kept(trained(trainer()), tmp_path / "whole.safetensors")


def test_a_second_ctrl_c_ends_it_at_once_with_the_last_state_that_was_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teaching, "KEPT_EVERY", 2)
    state = tmp_path / "state.safetensors"
    with pytest.raises(KeyboardInterrupt):
        teaching.learn(Interrupted(times=2), ROWS, state, Progress(disable=True), "run 1 of 1")
    after = trainer()
    after.load(state)
    assert after.step == 2
