"""A question that needs the user's files and the server's passages: the question is sent, and nothing else."""

from contextlib import closing
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from msgspec import structs

from device_app.answering.planner import OWN, UNASKED
from device_app.answering.sources.own import FULL
from device_app.answering.state import Action
from device_app.companion.dispatch import aggregating
from device_app.companion.dispatch.cost import ServerPrice
from device_app.companion.dispatch.memory import Memory
from device_app.english.private import OWN_ALONE
from device_app.english.query import parse
from device_app.inference.local import LocalSource
from device_app.knowledge.retriever import Retriever
from device_app.question.answer import Answer, Found, Wrote
from device_app.question.options import AGREE, SHORT_ANSWER, Plan
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from shared.errors import StoreError
from shared.prompt import CHATML, build
from tests.companion import FACTS, serve
from tests.faults import until
from tests.household import OPTIONS, SERVER_FREE, Home, home
from tests.limits import wait_at_most

__all__ = ["home", "serve"]

ROWED = "We rowed on the Danube through Vienna in May."
BOTH = "Through which European countries does the Danube flow, where we rowed?"
"""A question of which the files lack the words "European", "countries" and "flow", so that the server's passages are
needed.
"""


def asked(home: Home, question: str = BOTH, **options: Any) -> Answer:
    """Ask a device whose files contain a part of the answer."""
    home.add("rowed.md", ROWED)
    assert home.public.link.wait(30).connected
    until(lambda: home.public.link.state.round_trip_s)
    return home.ask(question, **{"reach": "question", **options})


def test_the_answer_has_sources_of_both_sides_and_the_question_alone_left(home: Home) -> None:
    answer = asked(home)
    assert [hit.side for hit in answer.hits] == ["device", "server"]
    assert (answer.origin, answer.text) in (("device", ROWED), ("device", FACTS[0][1]))
    assert answer.egress.items == ("the question",)
    assert len(BOTH) < answer.egress.bytes < len(BOTH) + 120
    missing, pays, server_reason = answer.decided
    assert missing == "your files say nothing of “european” and “countries” and “flow”"
    assert "from fetched passages" in pays
    assert server_reason == "this device wrote the answer from your files and 1 passage of the server"
    assert home.searches == 1


def test_the_model_reads_what_was_fetched_behind_what_is_its_own(home: Home) -> None:
    asked(home, plan=Plan(2, "prompt"))
    prompt = bytes(token for token in home.public.source().engine.tokens(0) if token < 256).decode()
    assert prompt.index(ROWED) < prompt.index("ten countries") < prompt.index("Question:")


def test_a_model_that_reads_one_passage_at_a_time_mixes_what_it_makes_of_each(home: Home) -> None:
    assert OPTIONS.plan.passages == 1
    asked(home)
    own, theirs = (home.public.source().engine.tokens(row) for row in (0, 1))
    texts = [bytes(token for token in row if token < 256).decode().partition("Question:")[0] for row in (own, theirs)]
    assert [ROWED in text for text in texts] == [True, False]
    assert ["ten countries" in text for text in texts] == [False, True]


def test_both_sides_sources_are_there_before_the_first_word(home: Home) -> None:
    home.add("rowed.md", ROWED)
    assert home.public.link.wait(30).connected
    events = list(home.assistant.ask(BOTH, replace(OPTIONS, reach="question")))
    first = next(place for place, event in enumerate(events) if isinstance(event, Wrote))
    sides = [[hit.side for hit in event.hits] for event in events[:first] if isinstance(event, Found)]
    assert sides == [["device"], ["device", "server"]]


@pytest.mark.parametrize("question", ["Where did we row on the Danube in May?", f"in:rowed {BOTH}"])
def test_what_the_files_answer_or_are_to_answer_leaves_nothing(home: Home, question: str) -> None:
    answer = asked(home, question)
    assert (answer.origin, answer.egress.bytes) == ("device", 0)
    assert {hit.side for hit in answer.hits} == {"device"}
    assert home.searches == 0


@pytest.mark.parametrize("options", [{"reach": "asked"}, {"public": False}])
def test_who_lets_nothing_leave_is_answered_from_the_files(home: Home, options: dict[str, Any]) -> None:
    answer = asked(home, **options)
    assert (answer.origin, answer.egress.bytes, home.searches) == ("device", 0, 0)


def test_who_is_to_be_asked_first_is_told_what_the_files_lack(home: Home) -> None:
    missing, how = asked(home, reach="asked").decided
    assert missing == "your files say nothing of “european” and “countries” and “flow”"
    assert how == UNASKED
    explained = home.assistant.explain(BOTH, replace(OPTIONS, reach="asked"))
    assert explained.otherwise == Action("generate", (missing, UNASKED), missing)


@pytest.mark.parametrize(
    ("reach", "question", "quoted", "decided"),
    [
        ("question", "What was said about the Danube that we rowed on?", True, OWN),
        ("asked", f"What was said about {BOTH[:-1]}?", True, "your files say nothing of "),
        ("question", f"What was said about {BOTH[:-1]}?", False, "your files say nothing of "),
        ("question", "in:rowed What was said about the Danube that we rowed on?", True, OWN_ALONE),
    ],
)
def test_the_files_are_quoted_where_the_server_adds_nothing(
    home: Home, reach: str, question: str, quoted: bool, decided: str
) -> None:
    answer = asked(home, question, reach=reach, plan=Plan(1, "prompt", "quoted"))
    assert (answer.quoted, answer.decided[0].startswith(decided)) == (quoted, True)
    assert (answer.egress.bytes == 0, home.searches) == (quoted, 0 if quoted else 1)


@pytest.mark.parametrize("lost", ["before", "meanwhile"])
def test_the_files_are_quoted_where_the_server_fails(home: Home, monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    wait_at_most(monkeypatch, passages_s=0.3)
    home.add("rowed.md", ROWED)
    assert home.public.link.wait(30).connected
    if lost == "meanwhile":
        home.proxy.swallow()
    else:
        home.served.end()
        until(lambda: not home.public.link.state.connected)
    answer = home.ask(f"What was said about {BOTH[:-1]}?", reach="question", plan=Plan(1, "prompt", "quoted"))
    assert (answer.quoted, [hit.side for hit in answer.hits]) == (True, ["device"])
    assert answer.decided[-1].startswith("this device wrote alone: the server ")


def test_what_follows_on_an_answer_leaves_nothing(home: Home) -> None:
    first = asked(home)
    searches = home.searches
    again = home.ask("And which countries does it flow through?", first.conversation_id, reach="question")
    assert (again.egress.bytes, home.searches) == (0, searches)
    assert again.decided == (OWN_ALONE,)


def test_without_the_server_the_files_answer_and_it_is_said(home: Home) -> None:
    home.add("rowed.md", ROWED)
    assert home.public.link.wait(30).connected
    home.served.end()
    until(lambda: not home.public.link.state.connected)
    answer = home.ask(BOTH, reach="question")
    assert (answer.text, answer.egress.bytes) == (ROWED, 0)
    assert answer.decided[0].startswith("your files say nothing of")
    assert len(answer.decided) == 2
    assert answer.decided[1].startswith("this device wrote alone: the server ")
    again = home.ask(BOTH, reach="question")
    assert again.origin == "device", "the next time, it may be asked"
    assert home.ask(BOTH, public=False).origin == "qa_bank"


def test_a_server_that_says_nothing_is_not_waited_for_for_ever(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_at_most(monkeypatch, passages_s=0.3)
    home.add("rowed.md", ROWED)
    assert home.public.link.wait(30).connected
    home.proxy.swallow()
    answer = home.ask(BOTH, reach="question")
    assert (answer.text, answer.egress.items) == (ROWED, ("the question",))
    named = f"the server at 127.0.0.1:{home.proxy.port}"
    assert answer.decided[-1] == f"this device wrote alone: {named} failed: the server's passages did not come in time"


def test_a_server_that_refuses_is_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloud_server.access.quota.Quota.searches_wait_s", lambda *_: 60.0)
    answer = asked(home)
    assert (answer.text, answer.egress.items) == (ROWED, ("the question",))
    assert {hit.side for hit in answer.hits} == {"device"}


def test_passages_that_fit_far_worse_than_ones_own_are_left_out(home: Home) -> None:
    home.add("danube.md", "Through which countries we rowed where the Danube does")
    answer = asked(home, "Through which countries does the Danube glitter splendidly at sunset, where we rowed?")
    assert {hit.side for hit in answer.hits} == {"device"}
    assert answer.decided[-1] == "the server has no passage nearer to the question"
    assert answer.egress.items == ("the question",)


def test_the_server_may_compare_passages_as_it_likes(home: Home) -> None:
    link = home.public.link
    link.wait(30)
    assert link.state.offer
    link.current.state = replace(link.state, offer=structs.replace(link.state.offer, embedder="another"))
    answer = asked(home)
    assert [hit.side for hit in answer.hits] == ["device", "server"]


def test_it_serves_again_and_sends_nothing_then(home: Home) -> None:
    first = asked(home)
    again = home.ask(BOTH, reach="question")
    assert (again.origin, again.text, again.egress.bytes) == ("qa_bank", first.text, 0)
    assert [hit.side for hit in again.hits] == ["device", "server"]
    assert home.searches == 1


@pytest.mark.parametrize("alone", [{"reach": "asked"}, {"public": False}])
def test_what_the_files_alone_answered_serves_until_the_server_may_add_to_it(home: Home, alone: dict[str, Any]) -> None:
    assert asked(home, **alone).origin == "device"
    assert asked(home, **alone).origin == "qa_bank"
    both = asked(home)
    assert (both.origin, [hit.side for hit in both.hits]) == ("device", ["device", "server"])
    assert asked(home).origin == "qa_bank"
    assert home.searches == 1


def test_what_was_answered_ahead_from_the_files_alone_does_not_keep_the_server_from_adding_to_it(home: Home) -> None:
    home.add("rowed.md", ROWED)
    for question in (BOTH, "Where did we row on the Danube in May?"):
        home.assistant.prepare(parse(question, date.today()), OPTIONS, "predicted", decode=True)
    assert home.public.link.wait(30).connected
    assert home.ask("Where did we row on the Danube in May?", reach="question").origin == "qa_bank"
    assert home.ask(BOTH, reach="question").egress.items == ("the question",)


def test_an_answer_of_all_that_the_files_hold_serves_whatever_may_be_sent(home: Home) -> None:
    question = "Where did we row on the Danube in May?"
    assert asked(home, question, reach="asked").origin == "device"
    assert asked(home, question).origin == "qa_bank"


def test_it_is_said_where_the_device_had_no_room_for_what_came(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    source = home.public.source()
    monkeypatch.setattr("device_app.answering.server.PASSAGE_TOKENS", 0)  # as if it fitted
    home.add("rowed.md", ROWED)
    assert home.public.link.wait(30).connected
    (own,) = home.assistant.retriever.search(parse(BOTH, date.today()), 1, 0.3)
    room = source.count(build(BOTH, [own.passage], CHATML)) + SHORT_ANSWER
    home.public.source = lambda: LocalSource(FakeEngine(context=room, sequences=4), CHATML)
    answer = home.ask(BOTH, reach="question", max_tokens=SHORT_ANSWER)
    assert [hit.side for hit in answer.hits] == ["device"]
    assert answer.decided[-1] == FULL


def test_what_left_before_anything_was_looked_up_is_in_the_ledger_though_that_failed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> None:
        raise StoreError("The store is damaged.")

    home.add("rowed.md", ROWED)
    assert home.public.link.wait(30).connected
    monkeypatch.setattr(Retriever, "search", damaged)
    with pytest.raises(StoreError):
        home.ask(BOTH, together=True)
    (turn,) = home.assistant.conversations.turns(1)
    assert not turn.complete
    assert turn.record["egress"]["items"][0] == "the question"


def test_what_left_is_in_the_ledger_of_an_answer_that_was_dropped(home: Home) -> None:
    home.add("rowed.md", ROWED)
    assert home.public.link.wait(30).connected
    with closing(home.assistant.ask(BOTH, replace(OPTIONS, reach="question"))) as events:  # type: ignore[type-var]
        while not isinstance(next(events), Wrote):
            pass
    (turn,) = home.assistant.conversations.turns(1)
    assert not turn.complete
    assert turn.record["egress"]["items"] == ["the question"]


def test_kept_states_of_public_passages_are_of_no_passage_here(home: Home) -> None:
    asked(home)
    kept = home.assistant.tree.rows.all()
    assert len(kept) == 3
    assert [entry.passage_id for entry in kept if entry.passage_id is not None] == [
        hit.passage.id for hit in home.ask(BOTH, fresh=True).hits if hit.side == "device"
    ]


# Where the person has agreed that drafts leave.


def test_where_it_pays_and_is_agreed_to_both_sides_write(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregating, "WORTH", 100.0)
    answer = asked(home, reach="fitting", sampling=SamplingSettings(temperature=2.0, seed=4))
    assert (answer.origin, [hit.side for hit in answer.hits]) == ("aggregated", ["device", "server"])
    assert answer.decided[0] == "your files say nothing of “european” and “countries” and “flow”"
    assert answer.decided[1].startswith("a joint answer is read in ")
    assert any("draft tokens" in item for item in answer.egress.items)
    assert home.assistant.bank.entries.totals().entries == 0


def test_where_it_pays_and_is_not_agreed_to_the_question_alone_leaves(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregating, "WORTH", 100.0)
    answer = asked(home)
    assert (answer.origin, answer.egress.items) == ("device", ("the question",))
    assert AGREE in answer.decided[1]


def test_where_the_sides_cannot_write_together_it_is_fetched(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregating, "WORTH", 100.0)
    link = home.public.link
    link.wait(30)
    assert link.state.offer
    link.current.state = replace(link.state, offer=structs.replace(link.state.offer, vocabulary="another"))
    answer = asked(home, reach="fitting")
    assert (answer.origin, answer.egress.items) == ("device", ("the question",))
    assert "has another vocabulary" in answer.decided[1]


@pytest.mark.parametrize("reveals", [False, True])
def test_what_the_model_makes_of_the_files_leaves_by_the_persons_own_setting_alone(home: Home, reveals: bool) -> None:
    sampling = SamplingSettings(temperature=2.0, seed=4, min_p=0.05)
    answer = asked(home, together=True, open=reveals, sampling=sampling)
    assert answer.origin == "aggregated"
    assert any("distributions" in item for item in answer.egress.items) is reveals


@pytest.mark.long
def test_a_server_that_is_to_be_spared_writes_its_share_and_no_more(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregating, "WORTH", 100.0)
    home.public.prices = replace(SERVER_FREE, spare=0.75, server=ServerPrice(1.0, 1.0))  # half of what there is to read
    options: dict[str, Any] = {"reach": "fitting", "sampling": SamplingSettings(temperature=2.0, seed=4), "fresh": True}
    asked(home)
    written = [asked(home, **options) for _ in range(60)]
    by_both = [answer.origin == "aggregated" for answer in written]
    assert 0.4 < sum(by_both) / len(by_both) < 1.0
    assert not by_both[-1]
    assert "link.spare saves money on the server" in written[-1].decided[1]


def test_drafts_that_were_judged_are_remembered(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregating, "WORTH", 100.0)
    before = home.public.memory.held.profile
    asked(home, reach="fitting", sampling=SamplingSettings(temperature=2.0, seed=4))
    after = Memory(home.public.memory.file).held.profile
    assert after.server_accepted != before.server_accepted


@pytest.mark.parametrize("together", [False, True])
def test_how_long_answers_are_is_learned_from_those_of_both_sides_too(home: Home, *, together: bool) -> None:
    before = home.public.memory.held.knowledge.answers.quantile(0.5)
    answer = asked(home, together=together, sampling=SamplingSettings(temperature=2.0 * together, seed=4))
    assert {hit.side for hit in answer.hits} == {"device", "server"}
    assert home.public.memory.held.knowledge.answers.quantile(0.5) != before


def test_the_servers_sources_are_shown_before_the_first_word_of_both(home: Home) -> None:
    home.add("rowed.md", ROWED)
    assert home.public.link.wait(30).connected
    options = replace(OPTIONS, together=True, sampling=SamplingSettings(temperature=2.0, seed=4))
    events = list(home.assistant.ask(BOTH, options))
    sides = [[hit.side for hit in event.hits] for event in events if isinstance(event, Found)]
    assert sides == [["device"], ["device", "server"]]


def test_asked_together_of_what_the_files_do_not_know_all_that_left_is_counted(home: Home) -> None:
    assert home.public.link.wait(30).connected
    answer = home.ask("Which countries does the Danube flow through, and where?", together=True)
    assert answer.origin in ("cloud", "device", "migrated")
    assert answer.egress.items[0] == "the question"
    assert home.searches in (1, 2)  # the server may drop the joint request before it searches for it
    assert answer.egress.bytes > 2 * 100, "it was asked twice"


def test_how_fast_this_device_is_is_learned_from_its_own_answers(home: Home) -> None:
    before = home.public.memory.held.profile
    home.ask("Who has borrowed the blue drill?", fresh=True)
    after = home.public.memory.held.profile
    assert after.device.weight > before.device.weight
    assert after.read < before.read
