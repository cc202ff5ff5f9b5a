"""Answers that the user marked wrong: not served, stored or shown again until their files or the model change."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.answering.early import needs_model
from device_app.answering.generation import Generation
from device_app.answering.sources.source import Pieces
from device_app.answering.state import Action, Attempt
from device_app.cache.answers.bank import scope
from device_app.cache.answers.wrong import MARKED, is_wrong, may_become_wrong, plain
from device_app.commands import knowledge, marking
from device_app.commands.history import forget
from device_app.commands.knowledge import absolute
from device_app.commands.turns import last
from device_app.device import Device
from device_app.english.query import Query
from device_app.inference.sureness import Sureness
from device_app.question.answer import Answer, Event, Found, Wrote
from device_app.settings import Cache, Settings
from models.fake import FakeEngine
from shared.ending import Piece
from shared.errors import NothingFound
from shared.trace import Trace
from shared.types import Hit
from storage.wrong_answers import Mark
from tests.device_app.cache.conftest import QUESTION, ask, device, entries, everything, made, one_question_a_passage

__all__ = ["device", "one_question_a_passage"]

PARAPHRASE = "Who borrowed the blue drill?"
PETRA, ANTON = "Petra has borrowed the blue drill.", "Anton has borrowed the blue drill."


class OtherWeights(FakeEngine):
    """A fake engine with the same model name as the usual one, but another hash of the weights."""

    def __init__(self) -> None:
        super().__init__()
        self._info = replace(self._info, model_hash="other")


def mark_last(device: Device) -> marking.Marked:
    return marking.mark_turn(device, last(device.conversations))


def events(device: Device, question: str = QUESTION) -> list[Event]:
    """Let the model answer again, and return the events of the answer."""
    return list(device.assistant.ask(question, device.options(fresh=True)))


def test_a_kept_answer_is_deleted_and_the_passages_are_shown_instead(device: Device) -> None:
    ask(device, QUESTION)
    assert ask(device, QUESTION).origin == "qa_bank"
    marked = mark_last(device)
    assert (marked.answer, marked.holds, marked.dropped) == (PETRA, True, 1)
    for answer in (ask(device, QUESTION), ask(device, QUESTION)):
        assert (answer.text, answer.origin, answer.abstained, answer.marked_wrong) == (MARKED, "device", True, True)
        assert (answer.evidence, answer.support) == (None, None)
        assert PETRA in answer.hits[0].passage.text


def test_nothing_of_it_is_written_on_the_screen(device: Device) -> None:
    ask(device, QUESTION)
    mark_last(device)
    written = [event.text for event in events(device) if isinstance(event, Wrote)]
    assert written == [MARKED]


def test_a_paraphrase_is_not_served_it_either(device: Device) -> None:
    ask(device, PARAPHRASE)
    ask(device, QUESTION)
    assert mark_last(device).dropped
    assert all(entry.answer != PETRA for entry in entries(device).values())
    answer = ask(device, PARAPHRASE)
    assert (answer.text, answer.marked_wrong) == (MARKED, True)


def test_other_answers_and_other_questions_stand(device: Device) -> None:
    ask(device, "When does the dentist see me?")
    ask(device, QUESTION)
    mark_last(device)
    assert ask(device, "When does the dentist see me?").origin == "qa_bank"
    assert ask(device, "What does the cat take?").abstained is False


def test_work_ahead_keeps_the_same_text_for_it_no_more(device: Device, one_question_a_passage: None) -> None:
    ask(device, QUESTION)
    mark_last(device)
    everything(device)
    assert all(entry.answer != PETRA for entry in entries(device).values())
    kept = entries(device)[QUESTION]
    assert (kept.answer, kept.failed) == (None, MARKED)
    assert needs_model(device, QUESTION, fresh=False)
    assert [step.subject for step in everything(device) if step.subject == QUESTION] == []


def test_what_waits_is_tried_once_and_told(device: Device, one_question_a_passage: None) -> None:
    ask(device, QUESTION)
    mark_last(device)
    device.qa_bank.clear()
    steps = [step for step in everything(device) if step.subject == QUESTION]
    assert [(step.action, step.why) for step in steps] == [("skip", "the same answer was marked as wrong")]


def test_it_expires_with_its_file_and_not_with_others(device: Device, notes: Path) -> None:
    ask(device, QUESTION)
    mark_last(device)
    (notes / "cat.md").write_text("# The cat\n\nThe cat takes six milligrams of medicine.\n")
    os.utime(notes / "drill.md", (1, 1))
    device.ingestion().run([notes])
    assert ask(device, QUESTION).marked_wrong
    (notes / "drill.md").write_text(f"# Things lent\n\nAnna has the old saw.\n\n{PETRA}\n")
    assert ask(device, QUESTION).text == PETRA
    assert ask(device, QUESTION).origin == "qa_bank"


def test_it_expires_with_the_model(device: Device) -> None:
    ask(device, QUESTION)
    mark_last(device)
    source = device.begin_loading().result()
    other = replace(device.assistant, source=lambda: replace(source, engine=OtherWeights()))
    *_, answer = other.ask(QUESTION, device.options(fresh=True))
    assert isinstance(answer, Answer)
    assert answer.text == PETRA


def test_it_holds_under_other_settings(device: Device, tmp_path: Path) -> None:
    ask(device, QUESTION)
    mark_last(device)
    answer_settings = replace(Settings().answer, max_tokens=100)
    assert ask(made(tmp_path / "home", replace(Settings(), answer=answer_settings)), QUESTION).marked_wrong
    assert ask(made(tmp_path / "home", replace(Settings(), cache=Cache(threshold=1.0))), QUESTION).marked_wrong


def test_what_is_quoted_can_be_marked(device: Device) -> None:
    quoted = "What was said about the blue drill?"
    first = ask(device, quoted)
    assert first.quoted
    mark_last(device)
    again = ask(device, quoted)
    assert (again.marked_wrong, again.quoted, again.text) == (True, False, MARKED)
    assert again.hits


def test_a_mark_is_taken_back(device: Device) -> None:
    ask(device, QUESTION)
    mark_last(device)
    assert last(device.conversations).record["wrong"] is True
    assert marking.undo(device).question == QUESTION
    assert "wrong" not in last(device.conversations).record
    assert ask(device, QUESTION).text == PETRA
    with pytest.raises(NothingFound):
        marking.undo(device)


def test_marking_the_same_twice_makes_one_mark(device: Device) -> None:
    ask(device, QUESTION)
    mark_last(device)
    mark_last(device)
    assert len(device.qa_bank.wrong.all()) == 1


def test_where_nothing_was_answered_there_is_nothing_to_mark(device: Device) -> None:
    with pytest.raises(NothingFound):
        last(device.conversations)
    ask(device, QUESTION)
    mark_last(device)
    ask(device, QUESTION)
    with pytest.raises(NothingFound, match="not answered"):
        mark_last(device)


def test_an_answer_whose_file_changed_before_it_was_marked_is_only_dropped(device: Device, notes: Path) -> None:
    ask(device, QUESTION)
    (notes / "drill.md").write_text(f"# Things lent\n\n{ANTON}\n")
    device.ingestion().run([notes])
    marked = mark_last(device)
    assert not marked.holds
    assert "changed since" in marked.message
    assert ask(device, QUESTION).text == ANTON


def test_a_kept_answer_that_nobody_asked_for_can_be_marked(device: Device, one_question_a_passage: None) -> None:
    everything(device)
    assert marking.mark_question(device, QUESTION.lower()).dropped == 1
    assert ask(device, QUESTION).marked_wrong


def test_a_mark_goes_with_its_conversation_and_with_its_files(device: Device, notes: Path) -> None:
    answer = ask(device, QUESTION)
    mark_last(device)
    forget(device, answer.conversation_id)
    assert device.qa_bank.wrong.all() == []
    ask(device, QUESTION)
    mark_last(device)
    knowledge.remove(device, os.fsencode(absolute(str(notes))))
    assert device.qa_bank.wrong.all() == []
    assert device.database.execute("SELECT COUNT(*) FROM wrong_answer_documents") == [(0,)]


def test_asking_again_in_its_place_leaves_the_mark(device: Device) -> None:
    ask(device, QUESTION)
    turn = last(device.conversations)
    marking.mark_turn(device, turn)
    device.conversations.replace(turn.id, replace(turn, id=turn.id + 1))
    assert ask(device, QUESTION).marked_wrong


# What is pure

TEXTS = st.text("ab .\n*", max_size=8)


def marks_of(*texts: str, model: str = "m") -> list[Mark]:
    return [Mark(n, None, "q", "", text, model, "", holds=True) for n, text in enumerate(texts)]


@given(TEXTS, TEXTS)
def test_what_becomes_wrong_was_held_back_all_the_while(text: str, marked: str) -> None:
    marks = marks_of(marked)
    if is_wrong(text, "m", marks):
        assert all(may_become_wrong(text[:end], marks) for end in range(len(text) + 1))


class Said:
    """A token source that says these pieces."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces
        self.further: Sequence[Hit] = ()

    def stream(self, attempt: Attempt, sureness: Sureness | None) -> Pieces:
        yield from (Piece(number, text) for number, text in enumerate(self.pieces))

    def rewritten(self, attempt: Attempt, pieces: Sequence[Piece], sureness: Sureness | None) -> None:
        return None

    def used(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        return hits

    def credited(self, answer: Answer, action: Action) -> Answer:
        return answer


@given(st.lists(TEXTS, max_size=5), TEXTS)
def test_of_a_marked_answer_nothing_is_shown_and_of_others_all(pieces: list[str], marked: str) -> None:
    text, marks = "".join(pieces), marks_of(marked)
    generation = Generation(Said(pieces), Trace(), lambda _: None, lambda: marks)
    events = list(generation.events(Attempt(None, ()), iter(())))
    shown = "".join(event.text for event in events if isinstance(event, Wrote))
    if is_wrong(text.strip(), "m", marks):
        assert (shown, generation.has_shown) == ("", False)
    elif shown or not may_become_wrong(text, marks):
        assert shown == (text if text.strip() else "")


@pytest.mark.parametrize("marked", [f"{PETRA} And the saw.", ANTON])
def test_the_beginning_of_a_marked_answer_is_another_answer(device: Device, marked: str) -> None:
    (hit,) = ask(device, QUESTION).hits
    device.qa_bank.wrong.mark(QUESTION, scope(Query(QUESTION)), marked, "fake fake", [hit.passage.id], [])
    *written, last = [event for event in events(device) if not isinstance(event, Found)]
    assert isinstance(last, Answer)
    assert ("".join(event.text for event in written if isinstance(event, Wrote)).strip(), last.text) == (PETRA, PETRA)
    assert (len(written) == 1) == marked.startswith(PETRA)  # held back to its end


@pytest.mark.parametrize("other", ["Petra  has it", "petra has it!", "**Petra has it.**", "“Petra has it”\n"])
def test_case_spaces_and_signs_around_it_make_no_other_answer(other: str) -> None:
    assert plain(other) == plain("Petra has it.")


@pytest.mark.parametrize("other", ["Petra has it not.", "Petra had it.", "Anton has it.", "5.0", "-5", "5"])
def test_another_answer_is_another(other: str) -> None:
    assert plain(other) not in {plain("Petra has it."), plain("50")}


# The mark's lifetime: against a model that keeps what each file said when it was marked

ACTIONS = st.sampled_from(["mark", "undo", "change drill", "change cat", "change back", "touch", "ahead", "ask"])


@pytest.mark.long
@given(actions=st.lists(ACTIONS, max_size=8))
def test_a_mark_holds_exactly_while_its_file_is_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, actions: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("life")
    notes = folder / "notes"
    notes.mkdir()
    (notes / "cat.md").write_text("# The cat\n\nThe cat takes five milligrams of medicine.\n")
    texts = {"drill": f"# Things lent\n\n{PETRA}\n", "changed": f"# Things lent\n\nThe saw is here.\n\n{PETRA}\n"}
    (notes / "drill.md").write_text(texts["drill"])
    now, marked = "drill", set[str]()
    with made(folder / "home") as device:
        device.ingestion().run([notes])
        for step in actions:
            if step == "mark" and not (answer := ask(device, QUESTION)).abstained:
                assert answer.text == PETRA
                assert mark_last(device).holds
                marked.add(now)
            elif step == "undo":
                for mark in device.qa_bank.wrong.all():
                    device.qa_bank.wrong.take_back(mark)
                marked.clear()
            elif step.startswith("change") and step != "change cat":
                now = "changed" if step == "change drill" else "drill"
                (notes / "drill.md").write_text(texts[now])
                device.ingestion().run([notes])
            elif step == "change cat":
                (notes / "cat.md").write_text((notes / "cat.md").read_text() + "And more.\n")
                device.ingestion().run([notes])
            elif step == "touch":
                os.utime(notes / "drill.md", (1, 1))
            elif step == "ahead":
                everything(device)
            assert ask(device, QUESTION).marked_wrong == (now in marked)


# A process that is killed

_MARKING = """
import os, signal, sqlite3, sys
from pathlib import Path
from device_app.commands import marking
from device_app.commands.turns import last
from tests.device_app.cache.conftest import made
device = made(Path(sys.argv[1]))
done, at = 0, int(sys.argv[2])
def trace(statement):
    global done
    if statement.split()[0] in ("BEGIN", "DELETE", "INSERT", "UPDATE", "COMMIT"):
        done += 1
        if done > at:
            os.kill(os.getpid(), signal.SIGKILL)
turn = last(device.conversations)
device.database._connection.set_trace_callback(trace)
marking.mark_turn(device, turn)
"""


@pytest.mark.long
@pytest.mark.parametrize("at", range(8))
def test_killed_while_it_marks_it_has_marked_all_or_nothing(device: Device, tmp_path: Path, at: int) -> None:
    ask(device, QUESTION)
    command = [sys.executable, "-c", _MARKING, str(tmp_path / "home"), str(at)]
    done = subprocess.run(command, cwd=Path(__file__).parents[4], timeout=120, check=False)
    assert done.returncode in (0, -signal.SIGKILL)
    with sqlite3.connect(device.paths.database) as store:
        ((marks,),) = store.execute("SELECT COUNT(*) FROM wrong_answers")
        ((documents,),) = store.execute("SELECT COUNT(*) FROM wrong_answer_documents")
        ((kept,),) = store.execute("SELECT COUNT(*) FROM qa_entries WHERE answer IS NOT NULL")
    assert (marks, documents, kept) in ((0, 0, 1), (1, 1, 0))
    assert ("wrong" in last(device.conversations).record) == (marks == 1)
    assert ask(device, QUESTION).marked_wrong == (marks == 1)


def test_the_marks_are_in_the_private_store(device: Device) -> None:
    ask(device, QUESTION)
    mark_last(device)
    assert device.paths.database.stat().st_mode & 0o777 == 0o600
