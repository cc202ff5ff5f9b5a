"""The folder of KV states computed ahead: within its limit, most used passages first, complete at any moment, no
outdated states.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cloud_server.engine.saved_states import SavedStates
from cloud_server.pipelines.states_ahead import StatesReport, StatesWriter
from cloud_server.retrieval.opened import StoredPassages
from models.engine import KVSlice
from models.fake import FakeEngine
from models.verdict import Verdict
from shared.errors import StoreFull, UsageError
from shared.prompt import CHATML, build
from storage.blobs import Blobs
from storage.public_passages import PassageFiles, PassageText, write_passages

SERIES, COUNT = 3, 6
ROOM = 12_000
"""A limit in bytes that holds the states of only some passages: each takes at most about 3,500 bytes with the fake
engine.
"""

Make = Callable[..., StatesWriter]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    texts = [PassageText(f"Title {number}", "", f"Text {number}. " * 5) for number in range(COUNT)]
    write_passages(tmp_path / "0.passages", texts)
    passages = StoredPassages(SERIES, PassageFiles([tmp_path / "0.passages"]))

    def made(
        hottest: Sequence[int] = (), engine: FakeEngine | None = None, kv_key: str = "fake", verdict: Any = None
    ) -> StatesWriter:
        engine = engine or FakeEngine()
        engine._info = replace(engine.info, kv_key=kv_key, verdict=verdict or engine.info.verdict)
        ids = [(SERIES << 32) + number for number in hottest]
        return StatesWriter(engine, CHATML, passages, SavedStates(tmp_path / "states", kv_key), ids)

    return made


def fill(writer: StatesWriter, limit: int = 10_000_000) -> StatesReport:
    return writer.fill(limit, lambda _: None)


def files(tmp_path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (tmp_path / "states").iterdir()}


def test_all_states_are_made_once(make: Make, tmp_path: Path) -> None:
    first = fill(make())
    assert (first.passages, first.of, first.computed, first.removed) == (COUNT, COUNT, COUNT + 1, 0)
    made = files(tmp_path)
    assert first.bytes == sum(map(len, made.values()))
    engine = FakeEngine()
    assert fill(make(engine=engine)).computed == 0
    assert (engine.computed, files(tmp_path)) == (0, made)


def test_the_hottest_fit_into_the_limit_and_colder_ones_go(make: Make, tmp_path: Path) -> None:
    some = fill(make(hottest=[4]), ROOM)
    assert 0 < some.passages < COUNT
    assert some.bytes <= ROOM
    other = fill(make(hottest=[5, 3]), ROOM)
    assert (other.passages, other.removed) == (some.passages, 2)
    assert fill(make(), 100).passages == 0
    assert files(tmp_path) == {}


def test_ids_of_an_earlier_index_are_passed_over(make: Make) -> None:
    assert fill(make(hottest=[-5, 900, 1])).passages == COUNT


@pytest.mark.parametrize("calls", range(0, COUNT + 2, 2))
def test_an_interrupt_loses_nothing(make: Make, tmp_path: Path, calls: int) -> None:
    class Interrupted(FakeEngine):
        left = calls

        def prefill(self, sequence: int, tokens: Sequence[int]) -> Any:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().prefill(sequence, tokens)

    if calls <= COUNT:
        with pytest.raises(KeyboardInterrupt):
            fill(make(engine=Interrupted()))
    before = files(tmp_path) if calls else {}
    report = fill(make())
    assert report.computed == COUNT + 1 - len(before)
    assert report.damaged == 0
    assert before.items() <= files(tmp_path).items()


def test_a_flipped_byte_and_a_short_file_are_replaced(make: Make, tmp_path: Path) -> None:
    fill(make())
    made = files(tmp_path)
    flipped, short, *_ = made
    content = bytearray(made[flipped])
    content[-1] ^= 1
    (tmp_path / "states" / flipped).write_bytes(content)
    (tmp_path / "states" / short).write_bytes(made[short][:50])
    report = fill(make())
    assert (report.damaged, report.computed) == (2, 2)
    assert files(tmp_path) == made


def test_states_of_another_adapter_are_replaced(make: Make, tmp_path: Path) -> None:
    fill(make(kv_key="fake adapter"))
    report = fill(make())
    assert (report.removed, report.computed) == (COUNT + 1, COUNT + 1)
    assert all(map(SavedStates(tmp_path / "states", "fake").fits, files(tmp_path)))


def test_a_full_disk_is_named_and_what_was_written_stays(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, left = Blobs.write, iter(range(3))

    def full(self: Blobs, name: str, parts: Any) -> int:
        if next(left, None) is None:
            raise StoreFull("The disk is full. Lower cache.kv_mb.")
        return write(self, name, parts)

    with monkeypatch.context() as patch:
        patch.setattr(Blobs, "write", full)
        with pytest.raises(StoreFull, match="--limit-mb"):
            fill(make())
    assert len(files(tmp_path)) == 3
    assert fill(make()).computed == COUNT + 1 - 3


def test_where_states_are_not_exact_none_is_made(make: Make, tmp_path: Path) -> None:
    for failed in ("slices", "rows"):
        with pytest.raises(UsageError, match="could differ"):
            fill(make(verdict=Verdict(inexact=frozenset({failed}))))
    assert not (tmp_path / "states").exists()


@pytest.mark.parametrize("made", [False, True])
def test_each_passage_is_tokenized_once_and_each_state_read_once(
    make: Make, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    if made:
        fill(make())
    tokenized, read = Counter[str](), Counter[tuple[int, ...]]()
    tokenize, read_state = FakeEngine.tokenize, SavedStates.read

    def counting_tokenize(engine: FakeEngine, text: str, *, special: bool = False) -> list[int]:
        tokenized[text] += 1
        return tokenize(engine, text, special=special)

    def counting_read(saved: SavedStates, tokens: Sequence[int], start: int) -> KVSlice | None:
        read[tuple(tokens)] += 1
        return read_state(saved, tokens, start)

    monkeypatch.setattr(FakeEngine, "tokenize", counting_tokenize)
    monkeypatch.setattr(SavedStates, "read", counting_read)
    assert fill(make()).passages == COUNT
    assert [count for text, count in tokenized.items() if "Text " in text] == [1] * COUNT
    assert list(read.values()) == [1] * (COUNT + 1)


def test_states_behind_kept_instructions_equal_those_computed_from_the_start(make: Make, tmp_path: Path) -> None:
    fill(make())
    made = files(tmp_path)
    saved, engine = SavedStates(tmp_path / "states", "fake"), FakeEngine()
    head = [token for part in build("", ()).head for token in engine.tokenize(part.text, special=part.special)]
    kept = saved.name(head)
    assert kept in made
    for name in made.keys() - {kept}:
        (tmp_path / "states" / name).unlink()
    report = fill(make(engine=engine))
    assert (report.computed, report.tokens_computed) == (COUNT, engine.computed)
    assert files(tmp_path) == made
