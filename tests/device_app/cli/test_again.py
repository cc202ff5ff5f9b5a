"""`jackdaw ask --again`: the last question, answered again in the place of its turn."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from models.fake import FakeEngine
from shared.errors import EngineError
from tests.devices import fake_device

QUESTION = "Who has borrowed the blue drill?"
PROGRAM = "from tests.devices import fake_device; from device_app.cli import main; main(fake_device)"
ROOT = Path(__file__).parent.parent.parent.parent


def process(*arguments: str) -> Any:
    """Run the program in a process of its own, and return the JSON that it prints."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, *arguments, "--json"]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def history(jackdaw: Any) -> list[tuple[str, str]]:
    turns = json.loads(jackdaw("history", "show", "1", "--json").out)["turns"]
    return [(turn["question"], turn["answer"]) for turn in turns]


def test_the_last_turn_is_replaced_in_a_process_of_its_own(jackdaw: Any, notes: Path) -> None:
    first = process("ask", QUESTION)
    (notes / "drill.md").write_text("# Things lent\n\nAnton has borrowed the blue drill.\n")
    process("add", str(notes))
    again = process("ask", "--again")
    assert (first["origin"], again["origin"]) == ("device", "device")
    assert again["conversation"] == first["conversation"]
    assert history(jackdaw) == [(QUESTION, "Anton has borrowed the blue drill.")]


def test_no_kept_answer_is_given_and_the_turns_before_stay(jackdaw: Any, notes: Path) -> None:
    jackdaw("ask", QUESTION)
    jackdaw("ask", "-c", "Who has the drill?")
    assert json.loads(jackdaw("ask", "--again", "--json").out)["origin"] == "device"
    assert [question for question, _ in history(jackdaw)] == [QUESTION, "Who has the drill?"]


@pytest.mark.parametrize("error", [EngineError("It broke."), KeyboardInterrupt()])
def test_the_turn_stays_where_there_is_no_other_answer(jackdaw: Any, notes: Path, error: BaseException) -> None:
    class Breaking(FakeEngine):
        def decode(self, _: Any) -> Any:
            raise error

    jackdaw("ask", QUESTION)
    before = history(jackdaw)
    jackdaw.make = partial(fake_device, engine=Breaking)
    assert jackdaw("ask", "--again").code in (1, 130)
    assert history(jackdaw) == before


def test_before_the_first_question_it_says_what_to_do(jackdaw: Any, notes: Path) -> None:
    outcome = jackdaw("ask", "--again")
    assert (outcome.code, "jackdaw ask" in outcome.err) == (3, True)
    assert json.loads(jackdaw("ask", "--again", "--json").out)["error"]["type"] == "NothingFound"


@pytest.mark.parametrize("beside", ["Who?", "-c", "--show-prompt"])
def test_it_takes_no_other_question(jackdaw: Any, beside: str) -> None:
    outcome = jackdaw("ask", "--again", beside)
    assert (outcome.code, "jackdaw ask --again" in outcome.err) == (2, True)
