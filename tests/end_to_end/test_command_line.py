"""The whole command line as a user uses it: real processes, real models, the sample data."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.jackdaw_process import ROOT, Home, home

LIFE = ROOT / "scripts" / "sample_life"
pytestmark = pytest.mark.weights


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory, weights: Path) -> Home:
    person = home(tmp_path_factory.mktemp("home"), weights)
    report = person.json("add", str(LIFE))
    assert report["documents"] > 100
    assert report["skipped"] == []
    return person


@pytest.mark.long
def test_a_second_add_reads_nothing(life: Home) -> None:
    report = life.json("add", str(LIFE))
    assert (report["documents"], report["passages"], report["skipped"]) == (0, 0, [])
    assert report["unchanged"] > 100


def test_an_answer_with_its_source_and_evidence(life: Home) -> None:
    answer = life.json("ask", "What is the booking reference of the flights to Bergen?")
    assert "XK4T9Z" in answer["answer"]
    assert "XK4T9Z" in answer["evidence"]["sentence"]
    assert answer["origin"] == "device"
    assert answer["egress"] == {"bytes": 0, "items": []}
    assert "Bergen" in answer["sources"][0]["title"]
    assert Path(answer["sources"][0]["path"]).is_relative_to(LIFE)
    assert answer["trace"]["ttft_ms"] > 0


def test_what_was_said_is_quoted_with_who_said_it_and_where(life: Home) -> None:
    answer = life.json("ask", "What was said about the blue drill?")
    heading, *said = filter(None, answer["answer"].splitlines())
    assert (heading, answer["quoted"], answer["model"]) == ("The blue drill:", True, "")
    assert any(line.startswith("- Runa Fjelde: Petra, is the blue drill still with you? [") for line in said)
    assert {int(line[-2]) for line in said} == {source["number"] for source in answer["sources"]}


@pytest.mark.long
def test_the_right_file_is_among_the_sources(life: Home) -> None:
    lines = (Path(__file__).parent / "sample_questions.jsonl").read_text("utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    asked = [question for question in questions if question["source"]][:4]
    right = 0
    for question in asked:
        answer = life.json("ask", question["question"], "--passages", "3", "--max-tokens", "1", code=None)
        paths = [str(Path(source["path"]).relative_to(LIFE)) for source in answer["sources"]]
        right += bool(set(paths) & set(question["source"]))
    assert right >= len(asked) - 1


def test_a_search_finds_the_file_in_spite_of_a_wrong_letter_and_opens_it(life: Home, tmp_path: Path) -> None:
    result = life.json("search", "wifi", "pasword", "in:notes")
    assert {"typed": "pasword", "used": "password"} in result["corrections"]
    first = result["files"]["results"][0]
    assert "Wi-Fi" in first["snippet"]
    assert {first["snippet"][start:end].lower() for start, end in first["marks"]} >= {"password"}
    editor, opened = tmp_path / "vi", tmp_path / "opened"
    editor.write_text(f'#!/bin/sh\necho "$@" > {opened}\n')
    editor.chmod(0o700)
    life.environment |= {"EDITOR": str(editor)}
    assert life.run("search", "wifi", "pasword", "in:notes", "--open", "1").returncode == 0
    assert opened.read_text() == f"+{first['line']} {first['path']}\n"


def test_the_question_may_come_from_standard_input(life: Home) -> None:
    answer = life.json("ask", text="How many steps do the Mulberry Stairs have?\n")
    assert "112" in answer["answer"]


def test_a_follow_up_continues_the_conversation(life: Home) -> None:
    first = life.json("ask", "What is the budget for the Mulberry Stairs?")
    # Whether the model finds it there or says that the passages do not tell is not what this is about.
    second = json.loads(life.run("ask", "-c", "And how many steps do they have?", "--json").stdout)
    assert second["conversation"] == first["conversation"]
    shown = life.json("history", "show", str(first["conversation"]))
    assert [turn["question"] for turn in shown["turns"]][-1] == "And how many steps do they have?"
    assert life.json("history", "search", "budget")["turns"]
    exported = life.run("history", "export", str(first["conversation"]))
    assert exported.stdout.startswith("## What is the budget")
    assert life.json("history", "delete", str(first["conversation"]))["deleted"]
    assert life.run("history", "show", str(first["conversation"])).returncode == 3


def test_the_prompt_can_be_seen(life: Home) -> None:
    shown = life.run("ask", "--show-prompt", "When is the dentist?")
    assert shown.stdout.index("from the passages") < shown.stdout.index("Question: When is the dentist?")


def test_what_a_person_sees(life: Home) -> None:
    seen = life.run("ask", "What is the booking reference of the flights to Bergen?")
    assert seen.returncode == 0
    assert "XK4T9Z" in seen.stdout
    assert "[1]" in seen.stdout
    assert "bergen" in seen.stdout.lower()
    bare = life.run("ask", "--no-sources", "What is the booking reference of the flights to Bergen?")
    assert "[1]" not in bare.stdout


def test_nothing_relevant_is_said_with_its_exit_code(life: Home) -> None:
    answer = life.json("ask", "xylophone zeppelin quaternion", code=3)
    assert (answer["found"], answer["sources"]) == (False, [])


@pytest.mark.parametrize("question", ["why " * 12_500, "after:someday x"])
def test_a_wrong_question_is_a_usage_error(life: Home, question: str) -> None:
    assert life.json("ask", code=2, text=question)["error"]["type"] == "UsageError"


def test_doctor_finds_all_well_and_then_a_rotten_file(life: Home, tmp_path: Path, weights: Path) -> None:
    findings = life.json("doctor")["findings"]
    assert {finding["level"] for finding in findings} == {"ok"}
    copy = tmp_path / "weights"
    shutil.copytree(weights, copy)
    tokenizer = copy / "all-minilm-l6-v2" / "tokenizer.json"
    content = bytearray(tokenizer.read_bytes())
    content[1000] ^= 1
    tokenizer.write_bytes(content)
    sick = home(tmp_path / "home", copy)
    done = sick.run("doctor", "--json")
    assert done.returncode == 2
    failures = [item for item in json.loads(done.stdout)["findings"] if item["level"] == "fail"]
    assert any("jackdaw models pull all-minilm-l6-v2" in failure["said"] + failure["mend"] for failure in failures)


def test_a_damaged_store_is_named(tmp_path: Path, weights: Path) -> None:
    person = home(tmp_path / "home", weights)
    (person.folder / "data" / "jackdaw.db").write_bytes(b"not a database, to be sure" * 1000)
    error = person.json("ask", "When?", code=1)["error"]
    assert error["type"] == "StoreCorrupt"
    assert "jackdaw.db" in error["message"]


def test_missing_weights_name_the_command_that_pulls_them(tmp_path: Path) -> None:
    person = Home(tmp_path)
    person.run("config", "set", "model.name", "smollm2-1.7b")
    error = person.json("ask", "When?", code=1)["error"]
    assert error["type"] == "WeightsMissing"
    assert "jackdaw models pull" in error["message"]


def test_an_empty_store_says_how_to_begin(tmp_path: Path, weights: Path) -> None:
    person = home(tmp_path / "home", weights)
    done = person.run("ask", "When is the dentist?")
    assert done.returncode == 3
    assert "jackdaw add" in done.stderr
    assert person.run("knowledge", "list").returncode == 3
    assert person.run("add", str(tmp_path / "nowhere")).returncode == 2


def test_files_with_private_data_are_closed_to_others(life: Home) -> None:
    private = [path for path in (life.folder / "data").iterdir() if path.is_file()]
    assert private
    assert all(path.stat().st_mode & 0o077 == 0 for path in private)


@pytest.mark.long
def test_what_a_killed_process_had_shown_stands_in_the_history(life: Home) -> None:
    question = "Write a long story about a lighthouse keeper."
    command = life.command("ask", "--model-only", "--max-tokens", "300", question)
    with subprocess.Popen(command, env=life.environment, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout
        shown = process.stdout.read(40)
        process.kill()
        shown += process.stdout.read()
    (turn,) = life.json("history", "show", str(life.json("history")["conversations"][0]["id"]))["turns"]
    assert (turn["question"], turn["complete"]) == (question, False)
    assert turn["answer"].startswith(shown.decode().strip())


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_add_goes_on_where_it_was(tmp_path: Path, weights: Path, how: signal.Signals) -> None:
    person = home(tmp_path / "home", weights)
    box = tmp_path / "box.mbox"
    words = " ".join(f"word{number}" for number in range(40))
    box.write_text(
        "".join(
            f"From a@example.org Sat Mar 14 09:00:00 2026\nSubject: Mail {n}\nMessage-ID: <{n}@x>\n\n{n} {words}.\n\n"
            for n in range(1500)
        )
    )
    process = subprocess.Popen(
        person.command("add", str(box)),
        env=person.environment,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        status = person.json("status")
        if status["knowledge"]["documents"]:
            break
    process.send_signal(how)
    assert process.wait(timeout=60) == (130 if how == signal.SIGINT else -signal.SIGKILL)
    before = person.json("status")["knowledge"]["documents"]
    assert 0 < before < 1500
    box.write_text(box.read_text().partition(f"Subject: Mail {before + 40}\n")[0])
    report = person.json("add", str(box))
    assert report["unchanged"] == before
    assert 0 < report["documents"] <= 41
