"""The assistant with a server: what it asks the server, what it never sends, and which of the answers it stores."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from device_app.answering.planner import OWN
from device_app.companion.dispatch.cost import Costs
from device_app.companion.dispatch.energy import Estimate
from device_app.companion.dispatch.memory import Memory
from device_app.companion.dispatch.public import Prices, PublicQuestions
from device_app.companion.dispatch.race_report import Question
from device_app.english.private import OWN_ALONE
from device_app.inference.local import LocalSource
from device_app.question.answer import Answer, Wrote
from device_app.system.battery import Battery, Reading
from models.engine import Logits
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from shared.errors import EngineError
from shared.prompt import CHATML
from shared.trace import Trace
from tests.faults import DANUBE, until
from tests.household import DEVICE_FREE, OPTIONS, SERVER_FREE, Home, home
from tests.racing import TEXT

__all__ = ["home"]

DRILL = "Who has borrowed the blue drill?"
# What never leaves.


@pytest.mark.parametrize("prices", [DEVICE_FREE, SERVER_FREE])
def test_no_byte_leaves_for_a_question_that_private_passages_answer(home: Home, prices: Prices) -> None:
    home.public.prices = prices
    assert home.public.link.wait(30).connected
    until(lambda: home.public.link.state.round_trip_s)
    before = home.proxy.sent
    for question in (DRILL, f"in:notes {DRILL}", DRILL):
        answer = home.ask(question, fresh=True)
        assert (answer.text, answer.origin, answer.egress.bytes) == ("Petra has borrowed the blue drill.", "device", 0)
        assert answer.decided == (OWN_ALONE if "in:" in question else OWN,)
    answer = home.ask("And when did she?", answer.conversation_id)
    assert (answer.egress.bytes, answer.decided) == (0, (OWN_ALONE,))
    assert home.proxy.sent == before
    assert not home.public.link._requests


def test_what_leaves_for_a_public_question_is_in_its_ledger(home: Home) -> None:
    assert home.public.link.wait(30).connected
    until(lambda: home.public.link.state.round_trip_s)
    before = home.proxy.sent
    answer = home.ask()
    assert (answer.text, answer.egress.items[0]) == (TEXT, "the question")
    until(lambda: not home.public.link._session.alive)
    assert 0 < answer.egress.bytes <= home.proxy.sent - before


def test_what_left_for_an_answer_that_was_dropped_is_in_its_ledger(home: Home) -> None:
    with closing(home.assistant.ask(DANUBE, OPTIONS)) as events:  # type: ignore[type-var]  # it is a generator
        while not isinstance(next(events), Wrote):
            pass
    (turn,) = home.assistant.conversations.turns(1)
    assert not turn.complete
    assert turn.record["egress"]["items"] == ["the question"]
    assert home.assistant.conversations.egress() == (0, turn.record["egress"]["bytes"])


@pytest.mark.parametrize("prices", [DEVICE_FREE, SERVER_FREE])
def test_an_answer_that_is_dropped_after_its_first_token_teaches_the_times_and_the_least_length(
    home: Home, prices: Prices
) -> None:
    home.public.prices = prices
    with closing(home.assistant.ask(DANUBE, OPTIONS)) as events:  # type: ignore[type-var]  # it is a generator
        while not isinstance(next(events), Wrote):
            pass
    known = home.public.memory.held.knowledge
    assert (known.prompts.weight, known.answers.events.sum(), known.answers.censored.sum()) == (1, 0, 1)
    assert known.with_passages.quantile(0.5) > 10
    assert known.server.weight + len(known.device.records) >= 1


def test_an_answer_that_fails_before_its_first_token_teaches_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(FakeEngine):
        def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
            raise EngineError("the model is broken")

    monkeypatch.setattr("cloud_server.engine.generation.Generation.possible", lambda *_: False)
    home.public.source = lambda: LocalSource(Broken(sequences=4), CHATML)
    before = home.public.memory.held.knowledge.as_json()
    with pytest.raises(EngineError, match="Neither side could answer"):
        home.ask()
    assert home.public.memory.held.knowledge.as_json() == before


def test_a_question_that_left_and_was_refused_is_in_the_ledger(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloud_server.access.quota.Quota.searches_wait_s", lambda *_: 60.0)
    answer = home.ask()
    assert (answer.found, answer.egress.items) == (False, ("the question",))
    assert answer.egress.bytes > len(DANUBE)


def test_a_server_that_takes_no_answers_is_sent_none(home: Home) -> None:
    home.public.prices = SERVER_FREE
    link = home.public.link
    link.wait(30)
    for receives, sides in ((("question", "answer"), {"device", "server"}), (("question",), {"device"})):
        assert link.state.offer
        link.current.state = replace(link.state, offer=structs.replace(link.state.offer, receives=receives))
        race = home.public.race(Question(DANUBE, SamplingSettings(), 100, 1), Trace())
        assert race._terms_of(50).allowed == sides


@pytest.mark.parametrize("steady", [True, False])
def test_a_steady_answer_is_guarded(home: Home, steady: bool) -> None:
    home.public.prices = replace(DEVICE_FREE, steady=steady)
    race = home.public.race(Question(DANUBE, SamplingSettings(), 100, 1), Trace())
    assert race._terms_of(50).guarded is steady


# What the battery says.


def discharging(home: Home, *drawn: float) -> None:
    """Simulate a battery: answers end 100 s apart, and by the end of each the battery has lost so many joules
    (`drawn`).
    """
    start = time.monotonic() - 3600
    readings = (
        Reading(start + 100 * number, 0.0, (Battery("BAT0", 1e5 - joules, 36.0),))
        for number, joules in enumerate(drawn)
    )
    home.public.battery = lambda: next(readings)


def test_the_battery_is_read_between_answers_and_what_it_said_is_kept(home: Home) -> None:
    source = home.public.source()
    discharging(home, 0, 1200, 2400)
    for computed in (0, 10**9, 10**9):  # a fake model's tokens take hardly anything
        source.engine.computed += computed
        home.ask(fresh=True)
    (prices, costs), again = priced(home.public), replace(home.public, memory=Memory(home.public.memory.file))
    assert (prices.stretches, prices.joules_per_gflop > 0.1) == (2, True)
    assert costs.device_decode > priced(replace(again, memory=Memory(Path("none"))))[1].device_decode > 0
    assert priced(again) == (prices, costs)


def test_a_stretch_that_tells_too_little_goes_on(home: Home) -> None:
    discharging(home, 0, 100, 1200)
    for stretches in (0, 0, 1):
        home.ask(fresh=True)
        assert priced(home.public)[0].stretches == stretches


def test_without_a_battery_the_setting_holds(home: Home) -> None:
    home.ask()
    assert priced(home.public)[0] == Estimate(DEVICE_FREE.joules_per_gflop)


def priced(public: PublicQuestions) -> tuple[Estimate, Costs]:
    weighed = replace(public, prices=replace(public.prices, per_joule=1.0)).weighed(DANUBE, 100)
    return weighed.energy, weighed.costs


# What is kept.


def test_a_public_answer_is_served_again_and_sends_nothing(home: Home) -> None:
    first = home.ask()
    assert (first.text, first.origin != "qa_bank", first.hits[0].side) == (TEXT, True, "server")
    for public in (True, False):
        again = home.ask(public=public)
        assert (again.text, again.origin, again.egress.bytes) == (TEXT, "qa_bank", 0)
        assert [hit.passage for hit in again.hits] == [hit.passage for hit in first.hits]
        assert again.evidence == first.evidence
    assert home.searches == 1


@pytest.mark.parametrize(
    "question", ["Which countries does the Rhine flow through, and where?", "Where is the Danube?"]
)
def test_a_public_answer_serves_its_own_words_alone(home: Home, question: str) -> None:
    home.ask()
    home.ask(question)
    assert home.searches == 2


def test_asked_anew_it_is_asked_anew(home: Home) -> None:
    home.ask()
    assert home.ask(fresh=True).origin != "qa_bank"
    assert home.searches == 2


def test_a_private_file_that_bears_on_it_goes_before_a_public_answer(home: Home) -> None:
    home.ask()
    home.add("tax.md", "The tax return is due in July.")
    assert home.ask().origin == "qa_bank"
    home.add("trip.md", "Which countries does the Danube flow through? We saw four of them.")
    answer = home.ask()
    assert (answer.origin, answer.hits[0].side, answer.egress.bytes) == ("device", "device", 0)


def test_a_public_answer_serves_for_so_many_days(home: Home) -> None:
    home.ask()
    week_ago = (datetime.now(UTC) - timedelta(days=7)).isoformat()
    home.database.execute("UPDATE qa_entries SET answered_at = ?", (week_ago,))
    assert [entry.reason for entry in home.assistant.similar(DANUBE, OPTIONS)] == [
        "the server's passages may have changed since"
    ]
    assert home.ask().origin != "qa_bank"
    assert home.ask().origin == "qa_bank"


def test_kept_for_no_day_it_is_not_kept(home: Home) -> None:
    home.days = 0
    home.ask()
    assert home.assistant.bank.entries.totals().entries == 0
    assert home.ask().origin != "qa_bank"


def test_what_nobody_could_answer_is_not_kept(home: Home) -> None:
    home.served.end()
    assert not home.ask().found
    assert home.assistant.bank.entries.totals().entries == 0


# Written together, where that is asked for.

TRIP = "Which countries does the Danube flow through? We saw four of them."


def joint(home: Home, question: str = DANUBE, **options: Any) -> Answer:
    """Ask a device that has read a file about the question for a joint answer, which device and server generate
    together.
    """
    home.add("trip.md", TRIP)
    assert home.public.link.wait(30).connected
    until(lambda: home.public.link.state.round_trip_s)
    return home.ask(question, together=True, sampling=SamplingSettings(temperature=2.0, seed=4), **options)


def test_an_answer_of_both_shows_sources_and_ledger_of_both(home: Home) -> None:
    answer = joint(home)
    assert (answer.origin, answer.decided) == ("aggregated", ("both sides wrote the answer, as you asked",))
    assert [hit.side for hit in answer.hits] == ["device", "server"]
    assert answer.as_json()["origin"] == "aggregated"
    question, weight, drafts, acknowledgements = answer.egress.items
    assert (question, weight, acknowledgements) == (
        "the question",
        "one number for how well your passages fit the question",
        "acknowledgements",
    )
    assert drafts.endswith("draft tokens of the answer")
    assert 0 < answer.egress.bytes <= home.proxy.sent
    assert home.searches == 1


def test_an_answer_of_both_is_neither_kept_nor_served(home: Home) -> None:
    first = joint(home)
    assert home.assistant.bank.entries.totals().entries == 0
    plain = home.ask()
    assert (plain.origin, plain.egress.bytes) == ("device", 0)
    again = joint(home)
    assert (again.origin, again.text) == ("aggregated", first.text)


def test_an_answer_of_both_stands_in_the_conversation(home: Home) -> None:
    answer = joint(home)
    (turn,) = home.assistant.conversations.turns(answer.conversation_id)
    assert turn.answer == answer.text


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"embedder": "another"}, "uses another embedding model"),
        ({"vocabulary": "another"}, "has another vocabulary"),
        ({"receives": ("question", "answer")}, "writes no answers together"),
    ],
)
def test_sides_that_cannot_be_compared_write_apart(home: Home, changes: dict[str, Any], why: str) -> None:
    link = home.public.link
    link.wait(30)
    until(lambda: link.state.round_trip_s)
    assert link.state.offer
    link.current.state = replace(link.state, offer=structs.replace(link.state.offer, **changes))
    before = home.proxy.sent
    answer = joint(home)
    assert (answer.origin, answer.egress.bytes, home.proxy.sent) == ("device", 0, before)
    assert why in answer.decided[0]
    assert {hit.side for hit in answer.hits} == {"device"}


def test_what_is_limited_or_local_is_not_written_together(home: Home) -> None:
    for options in ({"question": f"in:notes {DANUBE}"}, {"public": False}):
        answer = joint(home, **options)
        assert (answer.origin, answer.egress.bytes) == ("device", 0)
        assert answer.decided[0].startswith("it was not written together: ")
    home.served.end()
    until(lambda: not home.public.link.state.connected)
    home_alone = home.ask(together=True)
    assert (home_alone.origin, home_alone.egress.bytes) == ("device", 0)


def test_of_what_no_private_file_knows_the_server_is_asked_as_ever(home: Home) -> None:
    assert home.ask(together=True).origin in ("cloud", "device", "migrated")
