"""The cost of a prompt in a simulated replay of questions, and which states PerCache's tree, matched by text, can
reuse.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from device_app.cache.states.tree import Node
from device_app.inference.local import LocalSource
from device_app.question.answer import Answer
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from scripts.benchmarks.percache_arms import JACKDAW, Outcome
from scripts.benchmarks.percache_priced import AS_PUBLISHED, Charged
from scripts.benchmarks.percache_priced_source import DISCARDED, Book, PricedSource, PricedTree, TextTree
from scripts.benchmarks.percache_prices import Measured, Prices, Samples, fitted
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
