"""A question that the user's files mention but do not answer, with a companion server that may know the answer."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from device_app.answering.sources.own import UNTOLD
from device_app.companion.dispatch.public import Prices
from device_app.english.private import OWN_ALONE
from device_app.english.query import parse
from device_app.knowledge import evidence
from device_app.question.abstention import NOT_TOLD, NOT_TOLD_ANYWHERE, NOT_TOLD_THERE
from device_app.question.answer import Found, Wrote
from device_app.question.evidence import Carried
from models import fake
from models.fake import END
from shared.errors import NothingWritten
from shared.prompt import NOT_FOUND
from shared.protocol.messages import PublicPassage
from tests.companion import FACTS, FewPassages, serve
from tests.faults import DANUBE, until
from tests.household import DEVICE_FREE, OPTIONS, SERVER_FREE, Home, home
from tests.limits import wait_at_most
from tests.racing import TEXT

__all__ = ["home", "serve"]

NOTE = f"# Rivers\n\n{DANUBE} Look it up.\n\n{NOT_FOUND}\n"
ASKED: dict[str, Any] = {"reach": "question", "fresh": True}


@pytest.fixture
def silent(home: Home) -> Home:
    """A device with a note that contains every word of the question, but no answer."""
    home.add("danube.md", NOTE)
    assert home.public.link.wait(30).connected
    until(lambda: home.public.link.state.round_trip_s)
    return home


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server's passages contain no answer, too."""

    def passage(_: FewPassages, place: int, similarity: float) -> PublicPassage:
        title, text = FACTS[place]
        return PublicPassage(place, title, f"facts/{title}.txt", f"{text}\n{NOT_FOUND}", similarity, similarity)

    monkeypatch.setattr(FewPassages, "_passage", passage)


@pytest.mark.parametrize("prices", [DEVICE_FREE, SERVER_FREE])
def test_the_server_is_asked_what_the_files_do_not_say(silent: Home, prices: Prices) -> None:
    silent.public.prices = prices
    *events, answer = silent.assistant.ask(DANUBE, replace(OPTIONS, **ASKED))
    assert "".join(event.text for event in events if isinstance(event, Wrote)).strip() == TEXT
    assert [[hit.side for hit in event.hits] for event in events if isinstance(event, Found)] == [
        ["device"],
        ["server"],
    ]
    record = answer.as_json()  # type: ignore[union-attr]
    assert (record["answer"], record["abstained"]) == (TEXT, False)
    assert [source["side"] for source in record["sources"]] == ["server"]
    assert record["egress"]["items"][0] == "the question"
    assert (record["trace"]["decided"][0], len(record["trace"]["decided"]) > 1) == (UNTOLD, True)
    steps = [step["name"] for step in record["trace"]["steps"]]
    assert (steps[0], "decode" in steps) == ("own files", False)


def test_the_server_is_asked_once_neither_of_the_two_best_passages_tells(silent: Home) -> None:
    silent.add("streams.md", f"# Streams\n\n{DANUBE} Ask somebody.\n\n{NOT_FOUND}\n")
    *events, answer = silent.assistant.ask(DANUBE, replace(OPTIONS, **ASKED))
    sides = [[hit.side for hit in event.hits] for event in events if isinstance(event, Found)]
    assert sides == [["device"], ["device", "device"], ["server"]]
    record = answer.as_json()  # type: ignore[union-attr]
    assert (record["answer"], record["abstained"], silent.searches) == (TEXT, False, 1)
    assert [source["side"] for source in record["sources"]] == ["server"]


def test_what_the_server_answered_then_is_kept_and_serves_without_asking(silent: Home) -> None:
    assert silent.ask(reach="question").text == TEXT
    searches = silent.searches
    again = silent.ask(reach="question")
    assert (again.origin, again.text, again.egress.bytes, silent.searches) == ("qa_bank", TEXT, 0, searches)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (DANUBE, {"public": False}),
        (DANUBE, {"reach": "asked"}),
        (f"in:notes {DANUBE}", {}),
    ],
)
def test_nothing_leaves_where_the_server_may_not_be_asked(silent: Home, question: str, options: Any) -> None:
    sent = silent.proxy.sent
    answer = silent.ask(question, **ASKED | options)
    assert (answer.text, answer.abstained, answer.egress.bytes) == (NOT_TOLD, True, 0)
    assert [hit.side for hit in answer.hits] == ["device"]
    assert (silent.searches, silent.proxy.sent) == (0, sent)


def test_a_follow_up_that_the_files_do_not_answer_is_asked_of_nobody(
    silent: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(held: Sequence[int]) -> int:
        said = bytes(token if token < END else 0 for token in held).rpartition(b"assistant\n")[2]
        words: list[int] = [*NOT_FOUND.encode(), END]
        return words[len(said)]

    first = silent.ask(**ASKED)
    monkeypatch.setattr("models.fake._next", never)
    searches = silent.searches
    answer = silent.ask("And where does the Danube flow then?", first.conversation_id, **ASKED)
    assert (answer.abstained, answer.egress.bytes, answer.decided) == (True, 0, (OWN_ALONE,))
    assert silent.searches == searches


def test_work_ahead_asks_no_server(silent: Home) -> None:
    prepared = silent.assistant.prepare(parse(DANUBE, date.today()), OPTIONS, "predicted", decode=True)
    assert prepared is not None
    assert (prepared.abstained, silent.searches) == (True, 0)


def test_where_the_server_cannot_be_asked_the_abstention_stands_and_says_why(
    silent: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_at_most(monkeypatch, connect_s=0.1)
    silent.served.end()
    until(lambda: not silent.public.link.state.connected)
    answer = silent.ask(**ASKED)
    assert (answer.text, answer.abstained, [hit.side for hit in answer.hits]) == (NOT_TOLD, True, ["device"])
    assert (answer.decided[0], len(answer.decided)) == (UNTOLD, 2)
    assert answer.as_json()["trace"]["ttft_ms"] > 0


def test_where_the_server_does_not_know_either_that_is_said_of_both(silent: Home, unknown: None) -> None:
    *events, answer = silent.assistant.ask(DANUBE, replace(OPTIONS, **ASKED))
    assert [event.text for event in events if isinstance(event, Wrote)] == [NOT_TOLD_ANYWHERE]
    record = answer.as_json()  # type: ignore[union-attr]
    assert (record["answer"], record["abstained"], record["support"]) == (NOT_TOLD_ANYWHERE, True, None)
    assert [source["side"] for source in record["sources"]] == ["device", "server"]


def test_where_the_files_have_nothing_and_the_server_does_not_know_that_is_said(home: Home, unknown: None) -> None:
    *events, answer = home.assistant.ask(DANUBE, replace(OPTIONS, relevance=0.9, **ASKED))
    assert [event.text for event in events if isinstance(event, Wrote)] == [NOT_TOLD_THERE]
    record = answer.as_json()  # type: ignore[union-attr]
    assert (record["abstained"], record["found"], record["evidence"]) == (True, True, None)
    assert [source["side"] for source in record["sources"]] == ["server"]
    assert home.assistant.bank.entries.totals().answered == 0


def _blank(held: Sequence[int]) -> int:
    return END if bytes(min(token, END - 1) for token in held[-2:]) == b"\n\n" else ord("\n")


def _nothing(_: Sequence[int]) -> int:
    return END


def test_what_is_written_of_a_servers_passages_and_is_blank_is_no_answer(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.fake._next", _blank)
    with pytest.raises(NothingWritten, match="wrote nothing"):
        home.ask()
    assert home.assistant.bank.entries.all() == []


@pytest.mark.parametrize("empty", [_blank, _nothing])
def test_where_nothing_is_written_of_a_servers_passages_the_abstention_stands_and_says_why(
    silent: Home, monkeypatch: pytest.MonkeyPatch, empty: Callable[[Sequence[int]], int]
) -> None:
    written = fake._next

    def next_token(held: Sequence[int]) -> int:
        return empty(held) if FACTS[0][1].encode() in bytes(min(token, END - 1) for token in held) else written(held)

    monkeypatch.setattr("models.fake._next", next_token)
    *events, answer = silent.assistant.ask(DANUBE, replace(OPTIONS, **ASKED))
    assert [event.text for event in events if isinstance(event, Wrote)] == [NOT_TOLD]
    record = answer.as_json()  # type: ignore[union-attr]
    assert (record["answer"], record["abstained"]) == (NOT_TOLD, True)
    assert [source["side"] for source in record["sources"]] == ["device"]
    assert "wrote nothing" in record["trace"]["decided"][-1]


def test_an_answer_of_both_sides_may_be_none(silent: Home, unknown: None) -> None:
    answer = silent.ask(together=True, **ASKED)
    assert (answer.text, answer.abstained, answer.written) == (NOT_TOLD_ANYWHERE, True, "aggregated")
    assert {hit.side for hit in answer.hits} == {"device", "server"}
    assert silent.assistant.bank.entries.all() == []


def test_what_was_fetched_and_does_not_say_either_is_not_asked_for_again(home: Home, unknown: None) -> None:
    home.add("rowed.md", f"We rowed on the Danube through Vienna in May.\n\n{NOT_FOUND}")
    assert home.public.link.wait(30).connected
    until(lambda: home.public.link.state.round_trip_s)
    answer = home.ask("Through which European countries does the Danube flow, where we rowed?", **ASKED)
    assert (answer.text, answer.abstained) == (NOT_TOLD_ANYWHERE, True)
    assert [hit.side for hit in answer.hits] == ["device", "server"]
    assert home.searches == 1


def test_a_guess_is_asked_of_nobody_and_is_not_kept(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.add("danube.md", f"# Rivers\n\n{DANUBE} Six, I think.\n")
    assert home.public.link.wait(30).connected
    monkeypatch.setattr(evidence, "behind", lambda *_: Carried(None, None, "none"))
    for _ in range(2):
        answer = home.ask(reach="question")
        assert (answer.text, answer.abstained, answer.origin) == (NOT_TOLD, True, "device")
        assert "Six, I think." in answer.guess
    assert (home.searches, answer.egress.bytes) == (0, 0)
    assert home.assistant.bank.entries.all() == []
