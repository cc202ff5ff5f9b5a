"""The room: questions in, answers out, on a real store with a fake engine and embedder."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

import pytest

from device_app.abstention import NOT_TOLD
from device_app.answer import NOTHING_FOUND, Answer, Found, Wrote
from device_app.assistant import Assistant
from device_app.cache.qa_bank import QABank
from device_app.cache.qkv_tree import QKVTree
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.query import Query
from device_app.knowledge.retriever import Retriever
from device_app.options import Options, Plan
from device_app.sources.local import LocalSource
from models.engine import Logits
from models.fake import FakeEmbedder, FakeEngine
from models.sampling import SamplingSettings
from shared.errors import ContextFull, EngineError, GaveWay, UsageError
from shared.prompt import CHATML, NOT_FOUND
from storage.blobs import Blobs
from storage.cache_records import CacheRecords
from storage.conversations import ConversationStore
from storage.counters import Counters
from storage.database import Database
from storage.keywords import KeywordIndex
from storage.knowledge import KnowledgeStore
from storage.kv_slices import KVSlices
from storage.qa_entries import QAEntries
from storage.vectors import QA_BANK, VectorIndex

NOTES = {
    "dentist.md": "# Dentist\n\nThe dentist sees me on Tuesday at nine.\n",
    "drill.md": "# Things lent\n\nPetra has borrowed the blue drill.\n",
    "cat.md": "# The cat\n\nThe cat takes five milligrams of medicine.\n",
}

STEPS = ["look up", "retrieve", "load", "prefill", "decode", "evidence"]


class MuteEngine(FakeEngine):
    """Its first token is the end."""

    def is_end(self, token: int) -> bool:
        return True


def options(
    passages: int = 1,
    arrangement: str = "prompt",
    max_tokens: int = 200,
    relevance: float = 0.3,
    recipe: str = "",
    fresh: bool = False,
) -> Options:
    plan = Plan(passages, arrangement)  # type: ignore[arg-type]
    return Options(plan, SamplingSettings(), max_tokens, relevance, bare=recipe, fresh=fresh)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = Database(tmp_path / "jackdaw.db")
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([folder])
    return database


def assistant(database: Database, source: Callable[[], LocalSource] | None = None) -> Assistant:
    embedder, vectors, counters = FakeEmbedder(), VectorIndex(database), Counters(database)
    store, entries = KnowledgeStore(database), QAEntries(database)
    retriever = Retriever(store, KeywordIndex(database), vectors, embedder)
    loaded = source or (lambda: LocalSource(FakeEngine(), CHATML))
    asked = VectorIndex(database, QA_BANK)
    bank = QABank(entries, asked, retriever, counters, 0.85, limit=10**6, policy="lfu")
    slices = Blobs(database.path.with_name("kv"))
    tree = QKVTree(KVSlices(database), slices, counters, limit=10**6, policy="lfu")
    return Assistant(retriever, embedder, ConversationStore(database), loaded, bank, tree)


def answered(room: Assistant, question: str, chosen: Options, conversation: int | None = None) -> Answer:
    *_, last = room.ask(question, chosen, conversation)
    assert isinstance(last, Answer)
    return last


@pytest.mark.parametrize(
    ("question", "text", "file"),
    [
        ("Who has the drill?", "Petra has borrowed the blue drill.", "drill.md"),
        ("When does the dentist see me?", "The dentist sees me on Tuesday at nine.", "dentist.md"),
    ],
)
@pytest.mark.parametrize("arrangement", ["prompt", "rows"])
def test_an_answer_comes_from_the_passage_that_holds_it(
    database: Database, question: str, text: str, file: str, arrangement: str
) -> None:
    answer = answered(assistant(database), question, options(arrangement=arrangement))
    assert answer.text == text
    assert answer.hits[0].passage.path.endswith(file)
    assert answer.evidence is not None
    assert (answer.evidence.source, answer.evidence.sentence) == (1, text)


def test_the_stream_is_what_was_found_then_text_then_the_answer(database: Database) -> None:
    events = list(assistant(database).ask("Who has the drill?", options()))
    assert isinstance(events[0], Found)
    assert isinstance(events[-1], Answer)
    pieces = [event.text for event in events[1:-1] if isinstance(event, Wrote)]
    assert len(pieces) == len(events) - 2
    assert "".join(pieces).strip() == events[-1].text


def test_the_record_has_the_contract_of_ask_json(database: Database) -> None:
    record = answered(assistant(database), "Who has the drill?", options()).as_json()
    assert {"answer", "origin", "sources", "cache", "trace", "egress", "model"} <= set(record)
    assert {"id", "path", "title", "snippet", "score", "side"} <= set(record["sources"][0])
    assert {"hit", "similarity", "matched"} <= set(record["cache"]["qa"])
    assert set(record["cache"]["kv"]) == {
        *("segments_cached", "tokens_cached", "segments_moved", "tokens_moved"),
        *("tokens_recomputed", "tokens_prefilled"),
    }
    assert record["cache"]["kv"]["tokens_prefilled"] > 0
    assert [step["name"] for step in record["trace"]["steps"]] == STEPS
    assert 0 < record["trace"]["ttft_ms"] <= record["trace"]["total_ms"]
    assert (record["origin"], record["egress"], record["found"]) == ("device", {"bytes": 0, "items": []}, True)
    assert record["abstained"] is False


def test_where_nothing_is_relevant_the_model_is_not_asked(database: Database) -> None:
    def never() -> LocalSource:
        raise AssertionError("the model was loaded")

    answer = answered(assistant(database, never), "zeppelin", options(relevance=0.9))
    assert (answer.text, answer.found, answer.hits) == (NOTHING_FOUND, False, ())
    assert answer.as_json()["abstained"] is True


def test_a_copy_is_named_with_its_source(database: Database, tmp_path: Path) -> None:
    (tmp_path / "notes" / "drill copy.md").write_text(NOTES["drill.md"])
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([tmp_path / "notes"])
    (source,) = answered(assistant(database), "Who has the drill?", options()).as_json()["sources"]
    assert {Path(path).name for path in (source["path"], *source["copies"])} == {"drill.md", "drill copy.md"}


def test_an_empty_store_finds_nothing(tmp_path: Path) -> None:
    assert not answered(assistant(Database(tmp_path / "empty.db")), "Who?", options()).found


def test_filters_narrow_the_sources(database: Database) -> None:
    answer = answered(assistant(database), "in:cat.md who has the drill?", options(relevance=0))
    assert [Path(hit.passage.path).name for hit in answer.hits] == ["cat.md"]


def test_a_follow_up_keeps_the_filters_of_the_questions_before_it(database: Database) -> None:
    room = assistant(database)
    chosen = options(relevance=0)
    first = answered(room, "in:cat.md what about the drill?", chosen)
    prompt = room.prompt("And now?", chosen, first.conversation_id)
    assert prompt is not None
    assert "Earlier question: what about the drill?" in prompt.text()
    for question in ("And who has it?", "And why?"):
        answer = answered(room, question, chosen, first.conversation_id)
        assert [Path(hit.passage.path).name for hit in answer.hits] == ["cat.md"]


def test_a_follow_up_is_read_with_the_question_before_it(database: Database) -> None:
    room = assistant(database)
    first = answered(room, "Who has borrowed the blue drill?", options(relevance=0))
    second = answered(room, "And why her?", options(relevance=0), first.conversation_id)
    assert second.conversation_id == first.conversation_id
    assert second.hits[0].passage.path.endswith("drill.md")
    prompt = room.prompt("And why her?", options(relevance=0), first.conversation_id)
    assert prompt is not None
    assert "Earlier question: Who has borrowed the blue drill?" in prompt.text()


@pytest.mark.parametrize("earlier", [["Who has borrowed the blue drill?"], ["in:cat.md and now?", "And why her?"]])
def test_a_question_that_stands_alone_is_answered_as_if_it_were_the_first(
    database: Database, earlier: list[str]
) -> None:
    room, chosen = assistant(database), options(relevance=0, fresh=True)
    conversation = None
    for question in earlier:
        conversation = answered(room, question, chosen, conversation).conversation_id
    for question in ("When does the dentist see me?", "What is the capital of Mongolia?"):
        alone, here = answered(room, question, chosen), answered(room, question, chosen, conversation)
        assert (here.text, here.hits) == (alone.text, alone.hits)
        assert room.prompt(question, chosen, conversation) == room.prompt(question, chosen)


def test_a_question_that_stands_alone_is_served_from_the_bank_in_a_conversation(database: Database) -> None:
    room = assistant(database)
    known = answered(room, "When does the dentist see me?", options())
    first = answered(room, "Who has borrowed the blue drill?", options())
    again = answered(room, "When does the dentist see me?", options(), first.conversation_id)
    assert (again.origin, again.text) == ("qa_bank", known.text)
    assert answered(room, "And why then?", options(relevance=0), first.conversation_id).origin == "device"


def test_what_the_caches_did_stays_counted_though_what_it_was_counted_of_is_gone(database: Database) -> None:
    room = assistant(database)
    first = answered(room, "When does the dentist see me?", options())
    answered(room, "When does the dentist see me?", options())
    (day,) = CacheRecords(database).days("2000-01-01")
    assert (day.questions, day.hits, day.tokens_joined) == (2, 1, first.trace.tokens_cached)
    assert 0 < day.tokens_prefilled == first.trace.tokens_prefilled
    room.bank.clear()
    room.conversations.delete(first.conversation_id)
    assert CacheRecords(database).days("2000-01-01") == [day]
    all_told = room.bank.counters.all()
    assert (all_told["questions"], all_told["qa_hits"], all_told["qa_ms_saved"]) == (2, 1, day.ms_saved)


def test_a_follow_up_is_read_with_where_its_thread_began_and_the_last_of_it(database: Database) -> None:
    room, chosen = assistant(database), options(relevance=0)
    conversation = None
    for question in (
        "How much medicine does the cat take?",
        "Who has borrowed the blue drill?",
        "And why?",
        "And when?",
    ):
        conversation = answered(room, question, chosen, conversation).conversation_id
    prompt = room.prompt("And who said so?", chosen, conversation)
    assert prompt is not None
    asked = [line.partition(": ")[2] for line in prompt.text().splitlines() if line.startswith("Earlier question")]
    assert asked == ["Who has borrowed the blue drill?", "And when?"]


def test_passages_that_do_not_fit_are_left_out_from_the_weakest(database: Database) -> None:
    asked = ("Who has the drill?", options(3, max_tokens=60, relevance=0))
    prompt = assistant(database).prompt(*asked)
    assert prompt is not None
    small = LocalSource(FakeEngine(context=LocalSource(FakeEngine(), CHATML).count(prompt) + 30), CHATML)
    answer = answered(assistant(database, lambda: small), *asked)
    assert len(answer.hits) == 2
    assert answer.hits[0].passage.path.endswith("drill.md")


def test_a_long_answer_asked_for_costs_no_passage(database: Database) -> None:
    answer = answered(assistant(database), "Who has the drill?", options(3, max_tokens=8192, relevance=0))
    assert len(answer.hits) == 3
    assert answer.text == answered(assistant(database), "Who has the drill?", options(3, relevance=0)).text


@pytest.mark.parametrize("arrangement", ["prompt", "rows"])
def test_where_the_room_is_short_the_answer_is_cut(database: Database, arrangement: str) -> None:
    asked = ("Who has the drill?", options(arrangement=arrangement, fresh=True))
    prompt = assistant(database).prompt(*asked)
    assert prompt is not None
    taken = LocalSource(FakeEngine(), CHATML).count(prompt)
    tight = LocalSource(FakeEngine(context=taken + 10), CHATML)
    assert answered(assistant(database, lambda: tight), *asked).text == "Petra has"
    full = LocalSource(FakeEngine(context=taken - 1), CHATML)
    with pytest.raises(ContextFull, match=r"raise model\.context"):
        answered(assistant(database, lambda: full), *asked)


def test_an_answer_is_cut_at_max_tokens(database: Database) -> None:
    answer = answered(assistant(database), "Who has the drill?", options(max_tokens=5))
    assert (answer.text, answer.cut, answer.as_json()["cut"]) == ("Petra", True, True)
    assert not answered(assistant(database), "Who has the drill?", options(fresh=True)).cut


def test_a_stream_that_is_dropped_leaves_the_partial_answer_marked(database: Database) -> None:
    room = assistant(database)
    stream = room.ask("Who has the drill?", options())
    text = ""
    for event in stream:
        if isinstance(event, Wrote):
            text += event.text
            if len(text) == 5:
                break
    stream.close()  # type: ignore[attr-defined]
    conversation = room.conversations.latest()
    assert conversation is not None
    (turn,) = room.conversations.turns(conversation)
    assert (turn.answer, turn.complete) == ("Petra", False)


def test_a_wrong_question_is_refused_and_leaves_no_trace(database: Database) -> None:
    room = assistant(database)
    with pytest.raises(UsageError):
        answered(room, "x" * 50_000, options())
    assert room.conversations.latest() is None


def test_the_steps_of_an_answer_that_is_ended_early_are_whole(database: Database, tmp_path: Path) -> None:
    (tmp_path / "notes" / "saw.md").write_text("Petra has the old saw. " * 4)
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([tmp_path / "notes"])
    answer = answered(assistant(database), "Who has the old saw?", options())
    assert answer.text == "Petra has the old saw."
    assert [name for name, _ in answer.trace.steps] == STEPS


def test_a_model_that_writes_nothing_is_told_and_leaves_no_answer(database: Database) -> None:
    room = assistant(database, lambda: LocalSource(MuteEngine(), CHATML))
    with pytest.raises(EngineError, match=r"wrote nothing.*--temperature 0\.7.*another model"):
        answered(room, "Who has the drill?", options())
    conversation = room.conversations.latest()
    assert conversation is not None
    (turn,) = room.conversations.turns(conversation)
    assert (turn.answer, turn.complete) == ("", False)


def test_history_holds_what_was_printed(database: Database) -> None:
    room = assistant(database)
    answer = answered(room, "Who has the drill?", options())
    (turn,) = room.conversations.turns(answer.conversation_id)
    assert (turn.answer, turn.complete) == (answer.text, True)
    assert turn.record["sources"][0]["path"].endswith("drill.md")
    assert datetime.fromisoformat(turn.asked_at).tzinfo is not None


# Where the model writes that the passages do not hold the answer: the fake one does where they end with that.

ZITHER = "What did my zither cost?"


@pytest.fixture
def silent(database: Database, tmp_path: Path) -> Database:
    """With two notes that do not answer what they are nearest to."""
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
    assert len(record["sources"]) == passages
    assert record["sources"][0]["path"].endswith("zither.md")


def test_an_abstention_is_in_the_history_as_it_was_said(silent: Database) -> None:
    room = assistant(silent)
    (turn,) = room.conversations.turns(answered(room, ZITHER, options()).conversation_id)
    assert (turn.answer, turn.complete, turn.record["abstained"]) == (NOT_TOLD, True, True)


def test_of_an_abstention_that_was_broken_off_the_history_holds_nothing_that_nobody_saw(silent: Database) -> None:
    class Breaking(FakeEngine):
        def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
            if self.length(0) and bytes(one for one in self.tokens(0)[-12:] if one < 256).endswith(b"The passage"):
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
    told = note.read_text()
    note.write_text("# My zither\n\nMy zither cost ninety crowns.\n")
    Ingestion(KnowledgeStore(silent), FakeEmbedder()).run([note.parent])
    assert answered(room, ZITHER, options()).text == "My zither cost ninety crowns."
    note.write_text(told)
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
