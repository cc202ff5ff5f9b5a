"""Abstentions: the model writes that the passages do not contain the answer.

The fake model does so if they end with that sentence.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import pytest

from device_app.answering.conclusion import NOT_ENGLISH, in_english
from device_app.english.query import Query, parse
from device_app.inference.local import LocalSource
from device_app.knowledge.ingest import Ingestion
from device_app.question.abstention import NOT_TOLD
from device_app.question.answer import NOTHING_FOUND, Answer, Found, Wrote
from models.abstention import AbstentionThreshold
from models.engine import Logits
from models.fake import END, FakeEmbedder, FakeEngine
from shared.errors import GaveWay
from shared.prompt import CHATML, NOT_FOUND
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.device_app.conftest import answered, assistant, options

ZITHER = "What did my zither cost?"


@pytest.fixture
def silent(database: Database, tmp_path: Path) -> Database:
    """A store with two notes that do not answer the questions nearest to them."""
    (tmp_path / "notes" / "zither.md").write_text(f"# My zither\n\nAbout my zither.\n\n{NOT_FOUND}\n")
    (tmp_path / "notes" / "strings.md").write_text(f"# Strings\n\nWhat my strings cost.\n\n{NOT_FOUND}\n")
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([tmp_path / "notes"])
    return database


@pytest.mark.parametrize(("passages", "arrangement"), [(1, "prompt"), (2, "prompt"), (2, "rows"), (3, "rows")])
def test_what_the_passages_do_not_hold_is_said_in_our_words_with_the_nearest(
    silent: Database, passages: int, arrangement: str
) -> None:
    chosen = options(passages, arrangement, relevance=0)
    events = list(assistant(silent).ask(ZITHER, chosen))
    answer = events[-1]
    assert isinstance(answer, Answer)
    record = answer.as_json()
    assert [event.text for event in events if isinstance(event, Wrote)] == [NOT_TOLD]
    assert (record["answer"], record["abstained"], record["found"]) == (NOT_TOLD, True, True)
    assert (record["evidence"], record["support"], record["cut"]) == (None, None, False)
    assert len(record["sources"]) == 3  # however many are read
    assert record["sources"][0]["path"].endswith("zither.md")


def test_an_abstention_is_in_the_history_as_it_was_said(silent: Database) -> None:
    room = assistant(silent)
    (turn,) = room.conversations.turns(answered(room, ZITHER, options()).conversation_id)
    assert (turn.answer, turn.complete, turn.record["abstained"]) == (NOT_TOLD, True, True)


def test_of_an_abstention_that_was_broken_off_the_history_holds_nothing_that_nobody_saw(silent: Database) -> None:
    class Breaking(FakeEngine):
        def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
            if self.length(0) and bytes(token for token in self.tokens(0)[-12:] if token < 256).endswith(
                b"The passage"
            ):
                raise GaveWay
            return super().decode(tokens)

    room = assistant(silent, lambda: LocalSource(Breaking(), CHATML))
    with pytest.raises(GaveWay):
        answered(room, ZITHER, options())
    (turn,) = room.conversations.turns(1)
    assert (turn.answer, turn.complete) == ("", False)


def test_an_answer_that_is_cut_where_it_might_have_become_an_abstention_is_shown(silent: Database) -> None:
    answer = answered(assistant(silent), ZITHER, options(max_tokens=12))
    assert (answer.text, answer.cut, answer.abstained) == ("The passages", True, False)


def test_an_abstention_is_asked_anew_each_time_and_is_no_fact_of_the_bank(silent: Database) -> None:
    room = assistant(silent)
    for _ in range(2):
        answer = answered(room, ZITHER, options())
        assert (answer.origin, answer.abstained) == ("device", True)
    (entry,) = room.bank.entries.all()
    assert (entry.answer, entry.failed) == (None, NOT_TOLD)
    assert room.bank.entries.totals().answered == 0


def test_an_abstention_takes_the_place_of_an_answer_from_before(silent: Database, tmp_path: Path) -> None:
    room, note = assistant(silent), tmp_path / "notes" / "zither.md"
    text = note.read_text()
    note.write_text("# My zither\n\nMy zither cost ninety crowns.\n")
    Ingestion(KnowledgeStore(silent), FakeEmbedder()).run([note.parent])
    assert answered(room, ZITHER, options()).text == "My zither cost ninety crowns."
    note.write_text(text)
    Ingestion(KnowledgeStore(silent), FakeEmbedder()).run([note.parent])
    for _ in range(2):
        assert answered(room, ZITHER, options()).abstained


def test_a_follow_up_is_read_with_what_was_asked_but_not_with_that_it_had_no_answer(silent: Database) -> None:
    room, chosen = assistant(silent), options(relevance=0)
    first = answered(room, ZITHER, chosen)
    prompt = room.prompt("And who has it?", chosen, first.conversation_id)
    assert prompt is not None
    assert f"Earlier question: {ZITHER}\nQuestion: And who has it?" in prompt.text()


def test_what_is_prepared_and_has_no_answer_is_told(silent: Database) -> None:
    room = assistant(silent)
    for question, abstained in ((ZITHER, True), ("Who has the drill?", False)):
        prepared = room.prepare(Query(question), options(), "predicted", decode=True)
        assert prepared is not None
        assert prepared.abstained is abstained


def test_what_was_hardly_found_is_refused_sooner_than_what_was_found_well(database: Database) -> None:
    strict = FakeEngine(abstention=AbstentionThreshold(intercept=-14.0, slope=1000.0))  # by the search alone
    room = assistant(database, lambda: LocalSource(strict, CHATML))
    answer = answered(room, "Who has borrowed the blue drill?", options(relevance=0, fresh=True))
    hardly = answered(room, "What did my zither cost?", options(relevance=0, fresh=True))
    assert answer.hits[0].score > 0.5 > hardly.hits[0].score
    assert (answer.abstained, hardly.abstained) == (False, True)
    assert (hardly.text, hardly.found) == (NOT_TOLD, True)


@pytest.fixture
def second(silent: Database, tmp_path: Path) -> Database:
    """The same store with a third note, which contains the answer and is nearer to the question than the
    second note.
    """
    (tmp_path / "notes" / "paid.md").write_text("# What my zither cost\n\nNinety euros, with its case.\n")
    Ingestion(KnowledgeStore(silent), FakeEmbedder()).run([tmp_path / "notes"])
    return silent


def test_where_the_best_passage_does_not_tell_the_next_is_read_alone(second: Database) -> None:
    room = assistant(second)
    question = "What about my zither? About my zither?"
    *events, answer = room.ask(question, options(relevance=0))
    assert isinstance(answer, Answer)
    best, other = room.retriever.search(Query(question), 2)
    assert (best.passage.path[-9:], other.passage.path[-7:]) == ("zither.md", "paid.md")
    assert [event.hits for event in events if isinstance(event, Found)] == [[best], (best, other)]
    assert (
        "".join(event.text for event in events if isinstance(event, Wrote))
        == answer.text
        == other.passage.text.split("\n")[-1]
    )
    assert (answer.abstained, list(answer.hits)) == (False, [other])
    assert answer.trace.tokens_decoded == len(answer.text)
    steps = dict(answer.trace.steps)
    assert list(steps)[-4:] == ["in vain", "prefill", "decode", "evidence"]
    assert answer.trace.first_token_ms > steps["in vain"] + steps["prefill"]  # type: ignore[operator]
    (discarded,) = answer.trace.discarded
    assert [name for name, _ in discarded.steps] == ["prefill", "decode"]
    assert discarded.tokens_decoded == len(NOT_FOUND)
    request = room.explain(question, options()).request
    assert room.states_kept(request, [best]) == {best.passage.id}
    assert room.states_kept(request, [other]) == {other.passage.id}
    assert answered(room, question, options(relevance=0)).origin == "qa_bank"


def test_what_is_prepared_is_read_alike(second: Database) -> None:
    room = assistant(second)
    asked = parse("What about my zither? About my zither?", date(2026, 3, 2))
    prepared = room.prepare(asked, options(relevance=0), "predicted", decode=True)
    assert prepared
    assert not prepared.abstained
    (entry,) = room.bank.entries.all()
    assert str(entry.answer).startswith("Ninety euros")


def test_where_several_passages_are_read_at_once_no_more_are_read(second: Database) -> None:
    chosen = options(2, relevance=0)
    *events, answer = assistant(second).ask("What about my zither? About my strings?", chosen)
    assert isinstance(answer, Answer)
    assert len([event for event in events if isinstance(event, Found)]) == 1
    assert len(answer.hits) == 2


def test_all_that_was_read_is_counted(second: Database) -> None:
    room = assistant(second)
    answer = answered(room, "What about my zither? About my zither?", options(relevance=0))
    counted = room.bank.counters.all()
    assert counted["kv_tokens_computed"] == sum(trace.tokens_prefilled for trace in answer.trace.all)
    assert counted["kv_tokens_saved"] == sum(trace.tokens_cached for trace in answer.trace.all) > 0
    assert answer.trace.discarded[0].tokens_prefilled > answer.trace.tokens_prefilled  # the instruction is read once


@pytest.mark.parametrize("written", [b"", b" "])
def test_where_the_next_writes_nothing_nothing_is_told(second: Database, written: bytes) -> None:
    class Mute(FakeEngine):
        """A fake engine that, for a prompt with the second note, writes only `written` and then ends."""

        def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
            return self._silenced(super().decode(tokens))

        def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
            return self._silenced({sequence: super().prefill(sequence, tokens)})[sequence]

        def _silenced(self, rows: dict[int, Logits]) -> dict[int, Logits]:
            said = bytes(token for token in self.tokens(0) if token < END).rpartition(b"assistant\n")[2]
            if b"Ninety" in bytes(token for token in self.tokens(0) if token < END):
                rows[0][[*written, END][len(said)] if len(said) < 2 else END] += 99
            return rows

    room = assistant(second, lambda: LocalSource(Mute(), CHATML))
    answer = answered(room, "What about my zither? About my zither?", options(relevance=0))
    assert (answer.abstained, answer.text, len(answer.hits)) == (True, NOT_TOLD, 3)


def test_a_next_passage_that_does_not_fit_is_not_read(silent: Database, tmp_path: Path) -> None:
    long = "# Music\n\nMy zither, its case, " + ", ".join(f"string {number}" for number in range(40))
    (tmp_path / "notes" / "strings.md").write_text(long)
    Ingestion(KnowledgeStore(silent), FakeEmbedder()).run([tmp_path / "notes"])
    room = assistant(silent, lambda: LocalSource(FakeEngine(context=450), CHATML))
    first, other = room.retriever.search(Query(ZITHER), 2)
    assert (first.passage.path[-9:], other.passage.path[-10:]) == ("zither.md", "strings.md")
    *events, answer = room.ask(ZITHER, options(relevance=0, max_tokens=30))
    assert isinstance(answer, Answer)
    assert answer.abstained
    assert [event.hits for event in events if isinstance(event, Found)] == [[first]]


def test_what_is_broken_off_in_the_second_passage_leaves_nothing_that_nobody_saw(second: Database) -> None:
    class Breaking(FakeEngine):
        def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
            if b"Ninety" in bytes(token for token in tokens if token < END):
                raise GaveWay
            return super().prefill(sequence, tokens)

    engine = Breaking()
    room = assistant(second, lambda: LocalSource(engine, CHATML))
    with pytest.raises(GaveWay):
        answered(room, "What about my zither? About my zither?", options(relevance=0))
    (turn,) = room.conversations.turns(1)
    assert (turn.answer, turn.complete) == ("", False)
    assert room.bank.entries.all() == []


def test_a_question_in_another_language_is_answered_with_what_is_read(silent: Database) -> None:
    answer = answered(assistant(silent), "Was hat die Zither gekostet?", options(relevance=1.1))
    assert (answer.abstained, answer.found) == (True, False)
    assert answer.text == f"{NOTHING_FOUND} {NOT_ENGLISH.format('German')}"
    assert answered(assistant(silent), ZITHER, options(relevance=1.1)).text == NOTHING_FOUND


def test_beside_what_is_near_it_is_said_too(silent: Database) -> None:
    silent_answer = answered(assistant(silent), ZITHER, options())
    assert (
        in_english("Wann war die Probe mit Anna?", silent_answer).text == f"{NOT_TOLD} {NOT_ENGLISH.format('German')}"
    )
    assert in_english(ZITHER, silent_answer) is silent_answer
