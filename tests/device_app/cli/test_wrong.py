"""`jackdaw wrong`."""

import json
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from device_app.cache.answers.wrong import MARKED
from tests.device_app.cli.conftest import Jackdaw

pytestmark = pytest.mark.usefixtures("notes")

QUESTION = "Who has borrowed the blue drill?"
PETRA = "Petra has borrowed the blue drill."


def test_the_last_answer_is_marked_and_the_next_shows_passages(jackdaw: Jackdaw) -> None:
    assert PETRA in jackdaw("ask", QUESTION).out
    done = jackdaw("wrong")
    assert done.code == 0
    assert done.out.splitlines()[:2] == [QUESTION, f"  {PETRA}"]
    assert "until its files or the model change" in done.out
    assert "1 saved answer deleted" in done.out
    again = jackdaw("ask", QUESTION)
    assert again.code == 3
    heading, _, passages = again.out.partition("Nearest passages:")
    assert PETRA not in heading
    assert heading.startswith(MARKED)
    assert passages
    assert "drill.md" in again.out


def test_as_json(jackdaw: Jackdaw) -> None:
    jackdaw("ask", QUESTION)
    marked = json.loads(jackdaw("wrong", "--json").out)
    assert marked == {"question": QUESTION, "answer": PETRA, "holds": True, "dropped": 1}
    answer = json.loads(jackdaw("ask", QUESTION, "--json").out)
    assert (answer["marked_wrong"], answer["abstained"], answer["found"]) == (True, True, True)
    (listed,) = json.loads(jackdaw("wrong", "--list", "--json").out)["wrong"]
    assert (listed["question"], listed["answer"], listed["holds"]) == (QUESTION, PETRA, True)
    assert json.loads(jackdaw("wrong", "--undo", "--json").out)["undone"] is True
    assert json.loads(jackdaw("ask", QUESTION, "--json").out)["answer"] == PETRA


def test_lists_show_times_where_the_person_is(jackdaw: Jackdaw, monkeypatch: pytest.MonkeyPatch) -> None:
    jackdaw("ask", QUESTION)
    jackdaw("wrong")
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "XXX-9:45")
        time.tzset()
        lists = [jackdaw(*words).out for words in (("history",), ("wrong", "--list"), ("knowledge", "list"))]
        now = datetime.now().astimezone()
    time.tzset()
    times = {(now - timedelta(minutes=back)).strftime("%Y-%m-%d %H:%M") for back in range(3)}
    assert all(any(each in shown for each in times) for shown in lists), lists


def test_a_question_names_the_answer(jackdaw: Jackdaw) -> None:
    jackdaw("ask", QUESTION)
    jackdaw("ask", "What was lent?")
    assert PETRA in jackdaw("wrong", QUESTION.lower()).out
    shown = jackdaw("history", "search", "borrowed").out
    assert "(marked as wrong)" in shown
    assert jackdaw("wrong", "--undo", QUESTION).code == 0
    assert "(marked as wrong)" not in jackdaw("history", "search", "borrowed").out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "Nothing has been asked yet"),
        (("Who?",), "asked in exactly these words"),
        (("--undo",), "No such answer"),
        (("--list",), "No answer is marked"),
    ],
)
def test_where_there_is_none_that_is_said(jackdaw: Jackdaw, arguments: tuple[str, ...], expected: str) -> None:
    done = jackdaw("wrong", *arguments)
    assert done.code == 3
    assert expected in done.out + done.err


def test_list_stands_alone(jackdaw: Jackdaw) -> None:
    assert jackdaw("wrong", "--list", "--undo").code == 2


def test_a_mark_whose_file_changed_is_listed_as_such(jackdaw: Jackdaw, notes: Path) -> None:
    jackdaw("ask", QUESTION)
    jackdaw("wrong")
    (notes / "drill.md").write_text("# Things lent\n\nAnton has borrowed the blue drill.\n")
    assert "Anton has borrowed the blue drill." in jackdaw("ask", QUESTION).out
    assert "the answer's files have changed" in jackdaw("wrong", "--list").out


def test_deleting_a_conversation_deletes_its_marks_and_kept_answers(jackdaw: Jackdaw) -> None:
    number = json.loads(jackdaw("ask", QUESTION, "--json").out)["conversation"]
    jackdaw("wrong")
    assert jackdaw("history", "delete", str(number)).code == 0
    assert jackdaw("wrong", "--list").code == 3


def test_a_stale_file_is_named_under_the_answer(jackdaw: Jackdaw, notes: Path) -> None:
    (notes / "drill.md").unlink()
    gone = jackdaw("ask", QUESTION)
    assert gone.code == 3
    assert f"{notes / 'drill.md'} is gone" in gone.err
    (report,) = json.loads(jackdaw("ask", QUESTION, "--json").out)["stale"]
    assert (report["path"], report["state"]) == (str(notes / "drill.md"), "gone")
