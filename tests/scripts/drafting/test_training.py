"""Training draft networks so small that a step takes a millisecond: the trained network is the one used, and a stopped
training continues.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("safetensors", reason="needs the train extra")

from models.speculative.network import DraftNetwork, Fusion, Held, Shape  # noqa: E402
from scripts.drafting import measuring  # noqa: E402
from scripts.drafting.collecting import HEAD, READ, WRITTEN, Text  # noqa: E402
from scripts.drafting.recipe import Losses, Precision, Recipe  # noqa: E402
from scripts.drafting.training import Row, Trainer, cross_entropy, frequent, learn, order, row  # noqa: E402
from scripts.training import OtherRecipe  # noqa: E402

pytestmark = pytest.mark.torch

WIDTH, TOKENS = 16, 30
RECIPE = Recipe(epochs=3, rate=1e-2)


def shape(settings: Recipe, drafted: int = TOKENS) -> Shape:
    return Shape(
        settings.fusion, settings.blocks, WIDTH, heads=4, kv_heads=2, head=4, inner=24, tokens=TOKENS, drafted=drafted,
        epsilon=1e-5, rope_base=1e4,
    )  # fmt: skip


def embedding() -> Any:
    return torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(1)).half()


def text(seed: int) -> Text:
    """A training text: a prompt of 9 tokens, the first 3 of which are its head (the instructions), and answers of 6 and
    4 tokens; each token's feature determines the next token.
    """
    draw = np.random.default_rng(seed)
    tokens = draw.integers(0, TOKENS, 19).astype(np.int32)
    parents = np.array([*range(-1, 8), 8, *range(9, 14), 8, *range(15, 18)], np.int32)
    likeliest = ((tokens * 7 + 3) % TOKENS).astype(np.int32)
    features = embedding().numpy()[likeliest] * np.float16(2)
    likeliest[:9] = -1
    parts = np.array([HEAD] * 3 + [READ] * 6 + [WRITTEN] * 10, np.int32)
    return Text(tokens, parents, likeliest, parts, features)


def load(path: Path) -> Text:
    return text(int(path.name))


FILES = [Path(str(seed)) for seed in range(8)]


def trainer(settings: Recipe = RECIPE) -> Trainer:
    head = embedding().float()
    return Trainer(shape(settings), settings, embedding(), head, settings.epochs * len(FILES), threads=1)


def stop_at(step: int) -> Callable[[float], bool]:
    seen: list[float] = []

    def said(loss: float) -> bool:
        seen.append(loss)
        return len(seen) == step

    return said


@pytest.mark.parametrize("fusion", ["gated", "plain"])
@pytest.mark.parametrize("blocks", [1, 2])
def test_what_is_trained_is_what_is_used(fusion: Fusion, blocks: int) -> None:
    own = trainer(Recipe(fusion=fusion, blocks=blocks))
    sample = text(0)
    arrays = {name: weight.detach().numpy() for name, weight in {**own.weights, **own.taken()}.items()}
    network = DraftNetwork(own.shape, {**arrays, "vocabulary": np.arange(TOKENS, dtype=np.int32)})
    with torch.no_grad():
        whole = own.predicted(row(sample)).numpy()
    for path in ([*range(1, 9), *range(9, 15)], [*range(1, 9), *range(15, 19)]):  # the prompt, then either answer
        before = sample.features[sample.parents[path]].astype(np.float32)
        hidden, _ = network.step(Held(own.shape), before, sample.tokens[path], np.arange(1, len(path) + 1))
        assert np.allclose(hidden, whole[[place - 1 for place in path]], atol=1e-4)


@pytest.mark.parametrize(("losses", "precision"), [("ours", "float32"), ("paper", "float32"), ("ours", "bfloat16")])
def test_training_that_was_stopped_goes_on_to_the_same_bytes(
    losses: Losses, precision: Precision, tmp_path: Path
) -> None:
    settings = Recipe(epochs=3, rate=1e-2, losses=losses, precision=precision)
    learn(trainer(settings), FILES, load, tmp_path / "whole", 100, lambda _: False)
    for step in (1, 7, 12):
        with pytest.raises(KeyboardInterrupt):
            learn(trainer(settings), FILES, load, tmp_path / "parts", 100, stop_at(step))
    learn(trainer(settings), FILES, load, tmp_path / "parts", 100, lambda _: False)
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_killed_training_loses_the_steps_since_it_was_saved_alone(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def die(_: float) -> bool:
        if running.step == 9:
            raise Killed
        return False

    running = trainer()
    with pytest.raises(Killed):
        learn(running, FILES, load, tmp_path / "parts", 4, die)
    resumed = trainer()
    resumed.load(tmp_path / "parts")
    assert resumed.step == 8
    learn(trainer(), FILES, load, tmp_path / "parts", 4, lambda _: False)
    learn(trainer(), FILES, load, tmp_path / "whole", 4, lambda _: False)
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_state_of_another_recipe_is_refused(tmp_path: Path) -> None:
    trainer().save(tmp_path / "state")
    with pytest.raises(OtherRecipe, match="made with other settings or other data"):
        trainer(Recipe(epochs=3, rate=1e-2, seed=8)).load(tmp_path / "state")


@pytest.mark.parametrize("fusion", ["gated", "plain"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_it_learns_what_it_reads(fusion: Fusion, precision: Precision) -> None:
    settings = Recipe(fusion=fusion, epochs=20, rate=1e-2, precision=precision)
    own, texts = trainer(settings), [load(file) for file in FILES]
    assert measuring.foreseen(own, texts, range(TOKENS), READ) < 0.2
    for file in order(FILES, settings):
        own.learn(row(load(file)))
    assert measuring.foreseen(own, texts, range(TOKENS), READ) > 0.8


def test_rows_teach_all_but_the_head_and_may_leave_the_prompt_out() -> None:
    sample = text(0)
    whole, own = row(sample), row(sample, since=WRITTEN)
    assert len(whole.tokens) == 18
    assert whole.taught.tolist() == [False] * 2 + [True] * 16
    assert whole.positions.tolist() == [*range(1, 9), *range(9, 15), *range(9, 13)]
    # The first token of each answer is missing: the feature before it is the prompt's.
    assert own.tokens.tolist() == [*sample.tokens[10:15], *sample.tokens[16:19]]
    assert torch.isinf(own.unread[5:, :5]).all()  # the answers do not see each other


def test_the_precision_is_that_of_products_alone() -> None:
    exact, rounded = trainer(), trainer(replace(RECIPE, precision="bfloat16"))
    losses = [each.learn(row(text(0))) for each in (exact, rounded)]
    assert losses[0] != losses[1] == pytest.approx(losses[0], rel=0.02)
    assert {weight.dtype for weight in rounded.weights.values()} == {torch.float32}


def test_a_row_on_another_device_is_there_with_all_its_tensors() -> None:
    moved = row(text(0)).on("meta")
    tensors = [value for name in Row.__slots__ if isinstance(value := getattr(moved, name), torch.Tensor)]
    assert [tensor.device.type for tensor in tensors] == ["meta"] * 7


def test_rows_may_be_read_apart_from_their_prompt() -> None:
    sample = text(0)
    alone, own = row(sample, without_prompt=True), row(sample, since=WRITTEN)
    behind = [*range(9, 14), *range(15, 18)]  # in the row: the answers' tokens but for the first of each
    assert torch.equal(alone.unread[behind][:, behind], own.unread)
    assert torch.isinf(alone.unread[behind][:, [*range(9), 14]]).all()
    assert torch.equal(alone.unread[:8], row(sample).unread[:8])
    assert not torch.isinf(alone.unread.diagonal()).any()
    assert alone.parents.tolist() == [-1, *range(7), 7, *range(8, 13), 7, *range(14, 17)]


def test_in_the_last_epoch_the_network_reads_its_own_predictions_too() -> None:
    own, sample, read = trainer(), row(text(0)), list[Any]()

    class Watched(Trainer):
        def predicted(self, text: Any, before: Any = None) -> Any:
            read.append(before)
            return super().predicted(text, before)

    own.__class__ = Watched
    for step, is_mixed in ((0, False), (15, False), (16, True)):
        own.step = step
        read.clear()
        own.learn(sample)
        changed = (read[-1] != sample.before).any(dim=1)
        assert bool(changed.any()) is is_mixed
        assert not changed[0]  # the token before it is not in the row
        assert not changed.all()


def test_losses_are_those_of_their_definitions() -> None:
    draw = np.random.default_rng(0)
    predicted, target = draw.standard_normal((2, 3, 5))
    soft = np.exp(target) / np.exp(target).sum(-1, keepdims=True)
    logs = predicted - np.log(np.exp(predicted).sum(-1, keepdims=True))
    expected = -(soft * logs).sum(-1).mean()
    assert float(cross_entropy(torch.tensor(predicted), torch.tensor(target))) == pytest.approx(expected)


def test_the_reduced_vocabulary_is_of_the_tokens_that_come_most_often() -> None:
    sample = text(0)
    counted = [*sample.tokens[3:].tolist(), *sample.likeliest[9:].tolist()]
    ids = frequent([sample], 6).tolist()
    assert ids == sorted(ids)
    assert min(map(counted.count, ids)) >= max(counted.count(token) for token in range(TOKENS) if token not in ids)


def test_a_chain_accepts_what_a_perfect_network_drafts() -> None:
    class Perfect(DraftNetwork):
        """A perfect draft network: predicts the next token by the rule that makes `text`, and ignores features."""

        def __init__(self, own: Shape) -> None:
            self.shape, self.vocabulary = own, np.arange(TOKENS)

        def step(self, held: Held, features, tokens, positions, visible=None):  # type: ignore[no-untyped-def]
            held.length += len(tokens)
            ids = (np.asarray(tokens) * 7 + 3) % TOKENS
            return features, np.eye(TOKENS, dtype=np.float32)[ids]

    tokens = [5]
    for _ in range(11):
        tokens.append((tokens[-1] * 7 + 3) % TOKENS)
    ids = np.array(tokens, np.int32)
    sample = Text(
        ids,
        np.arange(-1, 11, dtype=np.int32),
        ((ids * 7 + 3) % TOKENS).astype(np.int32),
        np.array([READ] * 2 + [WRITTEN] * 10, np.int32),
        np.zeros((12, WIDTH), np.float16),
    )
    chain = measuring.chained(Perfect(shape(RECIPE)), [sample])
    assert (chain.passes, chain.tokens) == (2, 10)
    assert chain.accepted == [2, 2, 2, 2]
    without = measuring.chained(Perfect(shape(RECIPE)), [sample], WRITTEN)
    assert (without.passes, without.tokens) == (3, 10)  # nothing is drafted after the first token
