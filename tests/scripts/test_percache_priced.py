"""The cost of a prompt in a simulated replay of questions, and which states PerCache's tree, matched by text, can
reuse.
"""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from device_app.cache.states.tree import Node
from device_app.inference.local import LocalSource
from device_app.question.answer import Answer
from models.catalog import Weights
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from scripts.benchmarks import percache_calibration
from scripts.benchmarks.percache_arms import JACKDAW, Outcome
from scripts.benchmarks.percache_calibration import reshaped
from scripts.benchmarks.percache_priced import AS_PUBLISHED, PRICED, Charged, _at, run
from scripts.benchmarks.percache_priced_source import DISCARDED, Book, PricedSource, PricedTree, TextTree
from scripts.benchmarks.percache_prices import Measured, Prices, Samples, fitted
from scripts.inflation.shapes import SMALL_SHAPE, CannotInflate
from scripts.inflation.targets import shape_of
from scripts.places import CannotRun
from shared.prompt import CHATML, Prompt, Segment
from shared.trace import Trace
from storage.blobs import Blobs
from storage.counters import Counters
from storage.database import Database
from storage.kv_slices import KVSlices

PRICES = Prices(
    linear=2.0, quadratic=0.001, decoded=10.0, decoded_in_rows=15.0, joined=0.01, projections=0.12, planes=2.5
)
TOKENS = 10
"""The number of tokens of each text in these tests."""


def node(name: str, passage: int | None = None) -> Node:
    return Node((Segment(name, passage=passage),), range(TOKENS))


HEAD, ONE, FIVE, SEVEN, NINE = node("head"), node("one", 1), node("five", 5), node("seven", 7), node("nine", 9)


def tree(kind: type[PricedTree], folder: Path, limit: int = 1 << 30) -> PricedTree:
    database = Database(folder / "tree.db")
    return kind(KVSlices(database), Blobs(folder / "kv"), Counters(database), limit, "lfu", token_bytes=100)


def matched(kind: type[PricedTree], folder: Path, kept: Sequence[Sequence[Node]], asked: Sequence[Node]) -> int:
    engine, own = FakeEngine(), tree(kind, folder)
    for path in kept:
        own.keep(engine, 0, path)
    return own.matched(engine.info.kv_key, asked)


def test_what_is_cached_is_joined_or_saves_its_projections_only() -> None:
    whole, first = PRICES.prefill(0, 600), PRICES.prefill(0, 450)
    assert PRICES.prefill(450, 150) == pytest.approx(whole - first + 4.5)
    assert PRICES.prefill(450, 150, "projections") == pytest.approx(whole * (1 - 0.12 * 0.75) + 4.5 * 2.5)
    assert PRICES.prefill(0, 600, "projections") == whole
    assert PRICES.prefill(0, 0) == PRICES.prefill(0, 0, "projections") == 0
    assert (PRICES.decode(3), PRICES.decode(3, rows=2)) == (30, 45)


def test_prices_are_fitted_to_what_was_computed() -> None:
    answers = [Measured(n, 1, 10, 3 * n + 0.002 * n * n, 200) for n in (100, 300, 900)]
    assert fitted(answers) == pytest.approx((3, 0.002))
    samples = Samples([*answers, Measured(400, 3, 10, 1000, 350)])
    prices = samples.prices(0.01, 0.1, 2.5)
    assert (prices.decoded, prices.decoded_in_rows) == (20, 35)
    assert samples.error(prices) == pytest.approx(0)


def test_no_coefficient_is_negative() -> None:
    linear, quadratic = fitted([Measured(n, 1, 0, 100 + n, 0) for n in (100, 300, 900)])
    assert linear > 0
    assert quadratic == 0


@pytest.mark.parametrize(
    ("kept", "asked", "expected"),
    [
        ([], [HEAD, ONE], 0),
        ([[HEAD, ONE, FIVE]], [HEAD, ONE, FIVE], 3 * TOKENS - DISCARDED),
        # The chunk after the last one of the match is another: its end is computed again.
        ([[HEAD, ONE, FIVE]], [HEAD, ONE, NINE], 2 * TOKENS - DISCARDED),
        ([[HEAD, ONE, FIVE]], [HEAD, FIVE, ONE], TOKENS - DISCARDED),
        ([[HEAD, ONE, FIVE, SEVEN], [HEAD, ONE, FIVE, NINE]], [HEAD, ONE, FIVE, NINE, SEVEN], 4 * TOKENS - DISCARDED),
    ],
)
def test_chunks_are_matched_one_by_one_by_their_text(
    kept: Sequence[Sequence[Node]], asked: Sequence[Node], expected: int, tmp_path: Path
) -> None:
    assert matched(TextTree, tmp_path, kept, asked) == expected


def test_the_apps_tree_matches_whole_chunks(tmp_path: Path) -> None:
    assert matched(PricedTree, tmp_path, [[HEAD, ONE, FIVE]], [HEAD, ONE, NINE]) == 2 * TOKENS


def test_the_last_common_chunk_is_kept_once_for_each_chunk_after_it(tmp_path: Path) -> None:
    engine, own = FakeEngine(), tree(TextTree, tmp_path)
    assert own.keep(engine, 0, [HEAD, ONE, FIVE, SEVEN]) == 4
    assert own.keep(engine, 0, [HEAD, ONE, FIVE, NINE]) == 2
    assert own.rows.bytes() == 6 * TOKENS * 100


def test_an_answer_is_charged_by_the_prices_of_another_model() -> None:
    trace = Trace()
    trace.tokens_cached, trace.tokens_prefilled, trace.tokens_decoded = 450, 150, 20
    outcome = Outcome(Answer("text", (), None, trace, "model"), 0, 0, 0, 0)
    slower = replace(PRICES, linear=40.0, decoded=200.0)
    own = 7 + PRICES.prefill(450, 150)
    assert list(Charged(outcome, 7, 1).at(PRICES, JACKDAW)) == pytest.approx([own, own + 200])
    first, last = Charged(outcome, 7, 1).at(slower, JACKDAW)
    assert [first, last - first] == pytest.approx([7 + slower.prefill(450, 150), 4000])
    saves_less = Charged(outcome, 7, 1).at(slower, AS_PUBLISHED)
    assert saves_less[0] == pytest.approx(7 + slower.prefill(450, 150, "projections"))


def test_mean_times_at_another_pace_follow_from_the_counts_of_each_answer() -> None:
    def charged(cached: int, decoded: int, rows: int) -> Charged:
        trace = Trace()
        trace.tokens_cached, trace.tokens_prefilled, trace.tokens_decoded = cached, 100 - cached, decoded
        return Charged(Outcome(Answer("text", (), None, trace, "model"), 0, 0, 0, 0), 5, rows)

    prices = Prices(linear=10, quadratic=0, decoded=20, decoded_in_rows=30, joined=1, projections=0.5, planes=2)
    answers = {name: [charged(0, 10, 1), charged(0, 10, 1)] for name in PRICED}
    answers["jackdaw"] = [charged(60, 10, 1), charged(100, 20, 2)]
    answers["percache"] = [charged(60, 10, 1), charged(0, 10, 1)]
    figures = _at(prices, answers, PRICED)
    assert figures["naive"] == {"mean_ms": 1205, "ttft_ms": 1005}
    assert figures["jackdaw"] == {"mean_ms": (665 + 705) / 2, "ttft_ms": (465 + 105) / 2}
    assert figures["percache"] == {"mean_ms": (1025 + 1205) / 2, "ttft_ms": (825 + 1005) / 2}
    assert figures["below"]["jackdaw_naive"] == pytest.approx(1 - 685 / 1205, abs=1e-4)
    assert figures["below"]["jackdaw_published"] == pytest.approx(1 - 685 / 1115, abs=1e-4)


@pytest.mark.parametrize(
    ("target", "planes", "projections", "states"),
    [
        ("135m-q8_0", 2.5, 0.1, 1),
        ("360m-q8_0", 2.5, 0.1, 160 / 90),
        ("1.7b-q8_0", 1.5, 0.1918, 12),
        ("3b-q8_0", 3, 0.0649, 3.6),
    ],
)
def test_what_was_measured_in_torch_is_taken_to_another_shape(
    target: str, planes: float, projections: float, states: float
) -> None:
    shape = shape_of(target)
    prices = reshaped(replace(PRICES, projections=0.1), shape)
    assert (prices.planes, prices.linear) == (planes, PRICES.linear)
    assert prices.projections == pytest.approx(projections, abs=1e-3)
    assert shape.states / SMALL_SHAPE.states == pytest.approx(states)


@pytest.mark.parametrize("given", ["9b", "135m-q8_0,9b", ","])
def test_unknown_targets_are_named_before_anything_is_measured(given: str) -> None:
    with pytest.raises(CannotRun, match=r"9b|no target"):
        run(Namespace(targets=given))


def test_a_target_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> NoReturn:
        raise CannotInflate("the disk is full")

    monkeypatch.setattr(percache_calibration, "weights_of", fails)
    with pytest.raises(CannotRun, match=r"1\.7b-q8_0 cannot be measured: the disk is full"):
        percache_calibration.prices_of("1.7b-q8_0", Weights(Path(), ""), (), 1, {})


def test_a_full_tree_evicts(tmp_path: Path) -> None:
    engine, own = FakeEngine(), tree(PricedTree, tmp_path, limit=2 * TOKENS * 100)
    own.keep(engine, 0, [HEAD, ONE, FIVE])
    assert own.matched(engine.info.kv_key, [HEAD, ONE, FIVE]) == 2 * TOKENS


def test_rows_are_charged_for_what_they_do_not_share(tmp_path: Path) -> None:
    source, own = LocalSource(FakeEngine(), CHATML), tree(PricedTree, tmp_path)
    priced = PricedSource(source.engine, CHATML, book=Book(source), prices=PRICES)
    passages = tuple((Segment(f"{name}\n", passage=number),) for number, name in enumerate(("one", "three"), 1))
    prompt = Prompt((Segment("head"),), passages, (Segment("tail"),))
    how: dict[str, Any] = {"max_tokens": 8, "similarities": (0.5, 0.4), "tree": own}
    traces = [Trace(), Trace()]
    said = ["".join(piece.text for piece in priced.stream(prompt, SamplingSettings(), trace=traces[0], **how))]
    priced.keep(prompt, own)
    said.append("".join(piece.text for piece in priced.stream(prompt, SamplingSettings(), trace=traces[1], **how)))
    assert said[0] == said[1]
    # The engine's tokens are bytes: the head once, both passages, and the tail in each row.
    assert [(trace.tokens_cached, trace.tokens_prefilled) for trace in traces] == [(0, 4 + 4 + 6 + 8), (4 + 4 + 6, 8)]
    assert priced.shape == [2]
    assert len(priced.book.answers) == 1
