"""KV states on disk: used where they match the prompt, never elsewhere, and the answer is the same with and without
them.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cloud_server.engine.batch import Batch
from cloud_server.engine.jobs import Done, EngineEvent, Token
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.engine.saved_states import SavedStates
from models.fake import FakeEngine
from models.verdict import Verdict
from tests.writing import FREE, job, joint

LINES = ("It is blue.\n", "Nobody knows.\n", "Four of them.\n")
HEAD = "Head.\n"


def fill(folder: Path, kv_key: str = "fake") -> SavedStates:
    saved, engine = SavedStates(folder, kv_key), FakeEngine()
    engine._info = replace(engine.info, kv_key=kv_key)
    for line in LINES:
        engine.clear(0)
        engine.prefill(0, HEAD.encode())
        saved.write(engine, 0, 0)
        engine.prefill(0, line.encode())
        saved.write(engine, 0, len(HEAD))
    return saved


def answer(cache: PrefixCache, asked: Any, engine: FakeEngine | None = None) -> tuple[list[EngineEvent], int]:
    batch = Batch(engine or FakeEngine(), cache, 32)
    batch.join(1, asked, FREE)
    events: list[EngineEvent] = []
    while not batch.idle:
        events += batch.step()
    return events, batch.joined


def rows(*lines: str) -> Any:
    return replace(joint(*lines), rule=None, ahead=0)


def said(events: list[EngineEvent]) -> list[int]:
    return [event.token for event in events if isinstance(event, Token)]


def test_every_row_joins_its_passage_and_the_answer_is_the_same(tmp_path: Path) -> None:
    asked, cache = rows(*LINES), PrefixCache(100_000, fill(tmp_path))
    plain, nothing = answer(PrefixCache(0), asked)
    events, joined = answer(cache, asked)
    assert said(events) == said(plain)
    assert (nothing, joined) == (0, len(HEAD) + sum(map(len, LINES)))
    assert cache.loaded == joined
    assert answer(cache, asked)[1] == joined
    assert cache.loaded == joined  # from memory the second time


def test_of_one_prompt_the_first_passage_is_joined(tmp_path: Path) -> None:
    asked = job(HEAD, *LINES)
    events, joined = answer(PrefixCache(100_000, fill(tmp_path)), asked)
    assert said(events) == said(answer(PrefixCache(0), asked)[0])
    assert joined == len(HEAD + LINES[0])


def test_memory_stays_within_its_bytes_and_the_most_used_stay(tmp_path: Path) -> None:
    room = 16 * len(HEAD + LINES[0])
    cache = PrefixCache(room, fill(tmp_path))
    for line in (LINES[0], LINES[0], LINES[1], LINES[2], LINES[0]):
        loaded = cache.loaded
        assert answer(cache, job(HEAD, line))[1] == len(HEAD + line)
        assert cache.bytes <= room
    assert cache.loaded == loaded


def test_states_of_another_model_adapter_or_build_are_not_used(tmp_path: Path) -> None:
    saved = fill(tmp_path, "another")
    own = SavedStates(tmp_path, "fake")
    assert answer(PrefixCache(100_000, own), job(HEAD, LINES[0]))[1] == 0
    assert [own.fits(name) for name in own.sizes()] == [False] * 4
    assert all(map(saved.fits, saved.sizes()))


@pytest.mark.parametrize("failed", ["slices", "passes", "reordered", "rows"])
def test_where_states_are_not_exact_none_is_used(failed: Any, tmp_path: Path) -> None:
    engine = FakeEngine()
    engine._info = replace(engine.info, verdict=Verdict(inexact=frozenset({failed})))
    assert answer(PrefixCache(100_000, fill(tmp_path)), job(HEAD, LINES[0]), engine)[1] == 0


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), cut=st.booleans())
def test_a_damaged_state_is_not_used_and_is_deleted(place: float, bit: int, cut: bool, tmp_path: Path) -> None:
    saved, whole = fill(tmp_path), HEAD + LINES[0]
    file = tmp_path / saved.name(whole.encode())
    content = bytearray(file.read_bytes())
    at = int(place * len(content))
    content[at] ^= 1 << bit
    file.write_bytes(content[:at] if cut and at else content)
    events, joined = answer(PrefixCache(100_000, saved), job(HEAD, LINES[0]))
    assert said(events) == said(answer(PrefixCache(0), job(HEAD, LINES[0]))[0])
    assert joined == len(HEAD)
    assert not file.exists()


def test_provisional_passages_are_read_while_the_search_runs(tmp_path: Path) -> None:
    cache, asked = PrefixCache(100_000, fill(tmp_path)), rows(*LINES)
    batch = Batch(FakeEngine(), cache, 32)
    batch.provisional.begin(7, "anna", asked.rows)
    while not batch.idle:
        batch.step()
    assert (cache.loaded, batch.take_spent()) == (len(HEAD) + sum(map(len, LINES)), {})
    batch.provisional.end(7)
    batch.join(1, asked, FREE)
    events: list[EngineEvent] = []
    while not batch.idle:
        events += batch.step()
    assert isinstance(events[-1], Done)
    assert events[-1].joined == cache.loaded
    batch.provisional.release(7)
    assert batch.provisional.dropped == 0
