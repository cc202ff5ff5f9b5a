"""The times of the model's passes are measured once, while there is no request; a request interrupts the
measurement.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from cloud_server.engine.batch import Batch
from cloud_server.engine.generation import Generation
from cloud_server.engine.jobs import Done, EngineEvent
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.engine.queue import FairQueue
from models.engine import Logits
from models.facts import FactsFile
from models.fake import FakeEngine
from models.speculative.costs import FILE, DraftCosts, KnownCosts, PassCosts
from models.speculative.draft_model import DraftModel, Learned
from models.speculative.drafting import Drafting
from models.speculative.small_model import SmallModel
from shared.errors import EngineError
from tests.writing import FREE, job


class Slow(FakeEngine):
    """A fake engine whose passes are slow, so that a measurement takes long enough to be interrupted."""

    def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
        time.sleep(0.05)
        return super().verify(tokens)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloud_server.engine.generation.MEASURES_AFTER_S", 0.1)
    monkeypatch.setattr("models.speculative.costs._SPREAD", 1000)


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def generation(engine: FakeEngine, drafting: Drafting, events: list[EngineEvent]) -> Generation:
    lost: list[BaseException] = []
    batch = Batch(engine, PrefixCache(0), drafting=drafting)
    return Generation(batch, FairQueue(9, 9), lambda said, _: events.extend(said), lost.append)


def test_it_is_measured_while_nobody_asks_and_kept(tmp_path: Path) -> None:
    known = KnownCosts(FactsFile(tmp_path, FILE), "fake")
    writing = generation(FakeEngine(), Drafting("auto", known), [])
    writing.start()
    until(known.load)
    writing.stop()
    assert not Drafting("auto", known).is_unmeasured(FakeEngine().info)


def test_a_question_ends_the_measurement_which_is_made_afterwards(tmp_path: Path) -> None:
    known = KnownCosts(FactsFile(tmp_path, FILE), "fake")
    engine, events = Slow(), list[EngineEvent]()
    writing = generation(engine, Drafting("auto", known), events)
    writing.start()
    until(lambda: engine.computed > 250)  # in the middle of it
    assert known.load() is None
    assert writing.ask("phone", 1, job("It is blue.\n"), FREE)
    until(lambda: any(isinstance(event, Done) for event in events))
    assert known.load() is None
    until(known.load)
    writing.stop()


def test_a_server_that_stops_does_not_wait_for_the_measurement(tmp_path: Path) -> None:
    known = KnownCosts(FactsFile(tmp_path, FILE), "fake")
    engine = Slow()
    writing = generation(engine, Drafting("auto", known), [])
    writing.start()
    until(lambda: engine.computed > 250)
    writing.stop()
    assert known.load() is None


def test_what_was_learned_of_a_drafting_model_is_kept_when_the_server_stops(tmp_path: Path) -> None:
    known = KnownCosts(FactsFile(tmp_path, FILE), "fake")
    known.keep(PassCosts(((1, 1.0), (4, 1.3), (16, 2.0)), is_exact=True))
    closed: list[bool] = []
    small = FakeEngine(sequences=1)
    model = DraftModel(
        "small", "small", partial(SmallModel, small), lambda: closed.append(True), DraftCosts(0.1, 0.001)
    )
    events = list[EngineEvent]()
    writing = generation(FakeEngine(), Drafting("auto", known, model=model), events)
    writing.start()
    assert writing.ask("phone", 1, job("It is blue and new.\n"), FREE)
    until(lambda: any(isinstance(event, Done) for event in events))
    writing.stop()
    assert closed == [True]
    assert known.load_fact("small learned", Learned)


def test_an_engine_that_fails_meanwhile_answers_without_drafts(tmp_path: Path) -> None:
    class Failing(FakeEngine):
        def verify(self, _: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
            raise EngineError("no drafts here")

    drafting, events = Drafting("auto", KnownCosts(FactsFile(tmp_path, FILE), "fake")), list[EngineEvent]()
    writing = generation(Failing(), drafting, events)
    writing.start()
    until(lambda: drafting.mode == "off")
    assert writing.ask("phone", 1, job("It is blue.\n"), FREE)
    until(lambda: any(isinstance(event, Done) for event in events))
    writing.stop()
