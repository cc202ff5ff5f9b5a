"""`jackdaw ask` with a fake engine and embedder: its output, its exit codes, and questions that are not valid UTF-8."""

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from device_app.companion.link import credentials
from device_app.companion.link.credentials import Credentials
from device_app.knowledge import evidence
from device_app.presentation import drawn_from
from device_app.question.abstention import NEAREST, NOT_TOLD
from device_app.question.evidence import Carried, Evidence
from models.fake import FakeEngine
from shared.prompt import NOT_FOUND
from storage.paths import Paths
from tests.companion import Serve, serve
from tests.devices import fake_device

__all__ = ["serve"]

NOT_UTF8 = os.fsdecode(b"\xff")


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, jackdaw: Any) -> Path:
    """A folder of notes that a fake device has read."""
    jackdaw.make = fake_device
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "drill.md").write_text("Petra has borrowed the blue drill.")
    assert jackdaw("add", str(folder)).code == 0
    return folder


def test_an_answer_with_its_support(jackdaw: Any) -> None:
    outcome = jackdaw("ask", "Who has the blue drill?")
    assert outcome.code == 0
    assert outcome.out.startswith("Petra has borrowed the blue drill. [1]\n")
    assert "drill.md" in outcome.out
    assert "first token" in outcome.out
    assert jackdaw("ask", "--no-sources", "Who has the blue drill?").out == "Petra has borrowed the blue drill.\n"
    cut = jackdaw("ask", "--max-tokens", "18", "Who has the blue drill?")
    assert cut.out.startswith("Petra has borrowed … [1]\n")


def test_the_best_support_and_none_are_told_apart(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    question = ("ask", "Who has the blue drill?")
    assert "✓ word for word in [1]" in jackdaw(*question).out
    assert "✓ word for word in [1]" in jackdaw(*question).out  # served again
    assert "“Petra has borrowed the blue drill.” [1]" in jackdaw(*question, "--max-tokens", "18").out
    near = Evidence(1, "Petra has a drill.", 0.6)
    monkeypatch.setattr(evidence, "behind", lambda *_: Carried(None, near, "near"))
    text = jackdaw(*question, "--fresh").out
    assert "nearest sentence: Petra has a drill. [1]" in text
    assert "“" not in text


def test_what_nothing_supports_is_no_answer(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    question = ("ask", "Who has the blue drill?", "--fresh")
    monkeypatch.setattr(evidence, "behind", lambda *_: Carried(None, None, "none"))
    outcome = jackdaw(*question)
    assert outcome.code == 3
    assert outcome.out.startswith("Petra has borrowed the blue drill.\nThe sources do not support this answer")
    assert (
        "the model's guess, of which it is not sure, or which no source proves: Petra has borrowed the blue drill."
        in outcome.out
    )
    assert "Petra has borrowed the blue drill." in outcome.out.partition(NEAREST)[2]  # the passage's text
    answer = json.loads(jackdaw(*question, "--json").out)
    assert (answer["answer"], answer["abstained"]) == (NOT_TOLD, True)
    assert answer["guess"] == "Petra has borrowed the blue drill."
    assert "Petra has borrowed" in answer["sources"][0]["text"]
    assert (answer["evidence"], answer["nearest"], answer["egress"]["bytes"]) == (None, None, 0)
    assert json.loads(jackdaw("cache", "list", "--json").out) == {"entries": []}
    assert "the model's guess" in jackdaw("history", "export", "1").out
    assert jackdaw("config", "set", "answer.evidence", "false").code == 0
    assert jackdaw(*question).code == 0


def test_what_was_said_is_told_in_the_words_of_the_files(jackdaw: Any) -> None:
    question = "What was said about the blue drill?"
    outcome = jackdaw("ask", question)
    said = "The blue drill:\n\n- Petra has borrowed the blue drill. [1]\n"
    assert (outcome.code, outcome.out.startswith(f"{said}\n  ✓ quoted from your files\n")) == (0, True)
    assert "\nfirst token " in outcome.out  # no model is named: none wrote
    assert jackdaw("ask", "--no-sources", question).out == said
    answer = json.loads(jackdaw("ask", "--json", "--fresh", question).out)
    assert (answer["quoted"], answer["model"], answer["abstained"]) == (True, "", False)
    assert "on this device, quoted from 1 passage of your own" in jackdaw("why").out
    warmed = jackdaw("cache", "warm", question)
    assert (warmed.code, warmed.out.endswith("so no answer was saved.\n")) == (3, True)
    assert jackdaw("config", "set", "answer.summaries", "written").code == 0
    assert jackdaw("ask", question).out.startswith("Petra has borrowed the blue drill. [1]\n")


def test_nothing_relevant_is_exit_code_3(jackdaw: Any) -> None:
    assert jackdaw("ask", "in:nowhere who?").code == 3
    assert json.loads(jackdaw("ask", "--json", "in:nowhere who?").out)["found"] is False


@pytest.fixture
def silent(jackdaw: Any, notes: Path) -> str:
    """A note that is nearest to a question but does not answer it; return the question."""
    (notes / "zither.md").write_text(f"# My zither\n\nWhat it cost, my zither.\n\n{NOT_FOUND}\n")
    assert jackdaw("add", str(notes)).code == 0
    return "What did my zither cost?"


def test_what_the_files_do_not_say_is_exit_code_3_with_the_nearest_passages(jackdaw: Any, silent: str) -> None:
    outcome = jackdaw("ask", silent)
    heading, nearest, source, *_ = filter(None, outcome.out.splitlines())
    assert (outcome.code, heading, nearest, source) == (3, NOT_TOLD, NEAREST, "[1] My zither")
    alone = jackdaw("ask", "--no-sources", silent)
    assert (alone.code, alone.out) == (3, f"{NOT_TOLD}\n")
    scripted = jackdaw("ask", "--json", silent)
    answer = json.loads(scripted.out)
    assert (scripted.code, answer["abstained"], answer["found"]) == (3, True, True)
    assert [Path(source["path"]).name for source in answer["sources"]] == ["zither.md"]
    assert json.loads(jackdaw("ask", "--json", "Who has the blue drill?").out)["abstained"] is False


def test_what_the_files_do_not_say_stands_so_in_the_history(jackdaw: Any, silent: str) -> None:
    jackdaw("ask", silent)
    assert NOT_TOLD in jackdaw("history", "show", "1").out
    assert f"{NOT_TOLD}\n\n{NEAREST}\n\n1. My zither (" in jackdaw("history", "export", "1").out
    why = jackdaw("why")
    assert (why.code, f"{NOT_TOLD} Judged on this device, from 1 passage of your own" in why.out) == (0, True)


def test_there_is_nothing_to_keep_ready_of_what_the_files_do_not_say(jackdaw: Any, silent: str) -> None:
    outcome = jackdaw("cache", "warm", silent)
    assert (outcome.code, outcome.out) == (
        3,
        "Your files do not seem to answer the question, so no answer was saved.\n",
    )
    assert f"(not answered: {NOT_TOLD})" in jackdaw("cache", "list").out


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ("kind:zebra", ["kind:zebra matches nothing that was read. Kinds that were read: note."]),
        ("kind:note from:nobody", ["from:nobody matches nothing that was read."]),
        ("in:drill on:2026-03", ["after:2026-03-01 before:2026-03-31 matches nothing that was read."]),
        ("kind:note in:drill zeppelin", []),
    ],
)
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_filter_that_matches_nothing_is_told(
    filters: str, expected: list[str], option: list[str], jackdaw: Any
) -> None:
    outcome = jackdaw("ask", f"{filters} who?", *option)
    assert (outcome.code, outcome.err.splitlines()) == (3, expected)


def test_a_model_that_writes_nothing_is_exit_code_1(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeEngine, "is_end", lambda *_: True)
    outcome = jackdaw("ask", "Who has the blue drill?")
    assert outcome.code == 1
    assert "The model wrote nothing" in outcome.err
    scripted = jackdaw("ask", "--json", "Who has the blue drill?")
    assert scripted.code == 1
    assert "wrote nothing" in json.loads(scripted.out)["error"]["message"]


def test_a_question_that_is_not_utf8_is_read_as_far_as_it_is(jackdaw: Any) -> None:
    answer = json.loads(jackdaw("ask", "--json", f"Who has the blue drill{NOT_UTF8}?").out)
    assert answer["answer"] == "Petra has borrowed the blue drill."
    shown = json.loads(jackdaw("history", "show", str(answer["conversation"]), "--json").out)
    assert shown["turns"][0]["question"] == "Who has the blue drill\ufffd?"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ask", f"from:{NOT_UTF8} who?"), 3),
        (("ask", f"in:{NOT_UTF8} who?"), 3),
        (("ask", "--seed", NOT_UTF8, "who?"), 2),
        (("config", "set", "model.name", NOT_UTF8), 2),
        (("config", "get", NOT_UTF8), 2),
        (("models", "use", NOT_UTF8), 2),
        (("history", "search", NOT_UTF8), 3),
        (("knowledge", NOT_UTF8), 2),
        ((NOT_UTF8,), 2),
    ],
)
def test_words_that_are_not_utf8_end_in_no_traceback(arguments: tuple[str, ...], code: int, jackdaw: Any) -> None:
    assert jackdaw(*arguments, "--json").code == code


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
def test_a_file_whose_name_is_not_utf8_is_added_shown_and_removed(jackdaw: Any, notes: Path) -> None:
    file = notes / f"saw{NOT_UTF8}.md"
    file.write_text("Anna has the old saw.")
    assert json.loads(jackdaw("add", str(file), "--json").out)["documents"] == 1
    shown = json.loads(jackdaw("knowledge", "show", str(file), "--json").out)
    assert [passage["text"] for passage in shown["passages"]] == ["Anna has the old saw."]
    assert jackdaw("knowledge", "remove", str(file)).code == 0
    assert jackdaw("history", "export", "1", "--to", str(notes / NOT_UTF8)).code == 3


def test_a_cut_answer_is_marked_wherever_it_is_shown_again(jackdaw: Any) -> None:
    ask = ("ask", "--max-tokens", "18", "Who has the blue drill?")
    jackdaw(*ask)
    assert "Petra has borrowed … (cut at the limit)\n" in jackdaw("history", "show", "1").out
    assert "\nPetra has borrowed … (cut at the limit)\n" in jackdaw("history", "export", "1").out
    assert jackdaw(*ask).out.startswith("Petra has borrowed … [1]\n")


def test_a_kept_answer_needs_no_model(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    jackdaw("ask", "Who has the blue drill?")
    loaded: list[FakeEngine] = []

    def load() -> FakeEngine:
        loaded.append(FakeEngine())
        return loaded[-1]

    jackdaw.make = partial(fake_device, engine=load)
    assert json.loads(jackdaw("ask", "--json", " Who has  the blue drill?").out)["origin"] == "qa_bank"
    assert not loaded
    assert json.loads(jackdaw("ask", "--json", "--fresh", "Who has the blue drill?").out)["origin"] == "device"
    assert loaded


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_an_export_overwrites_a_file_only_by_force(option: list[str], jackdaw: Any, tmp_path: Path) -> None:
    file = tmp_path / "talk.md"
    jackdaw("ask", "Who has the blue drill?")
    assert jackdaw("history", "export", "1", "--to", str(file), *option).code == 0
    written = file.read_text()
    assert "Petra has borrowed the blue drill." in written
    file.write_text("My own words.")
    refused = jackdaw("history", "export", "1", "--to", str(file), *option)
    assert (refused.code, file.read_text()) == (2, "My own words.")
    assert f"The file {file} exists already. Name another file, or replace this one with --force." in refused.err
    assert jackdaw("history", "export", "1", "--to", str(file), "--force", *option).code == 0
    assert file.read_text() == written


def test_asked_for_together_it_is_written_together(jackdaw: Any, paths: Paths, serve: Serve, notes: Path) -> None:
    served = serve()
    credentials.save(paths.link, Credentials(served.url, served.token(), None))
    (notes / "trip.md").write_text("Which countries does the Danube flow through? We saw four of them.")
    assert jackdaw("add", str(notes)).code == 0
    question = ("ask", "Which countries does the Danube flow through?")
    plain = json.loads(jackdaw(*question, "--json").out)
    assert (plain["origin"], plain["egress"]["bytes"]) == ("device", 0)
    report = json.loads(jackdaw(*question, "--together", "--temperature", "1", "--json").out)
    assert report["origin"] == "aggregated"
    assert {source["side"] for source in report["sources"]} == {"device", "server"}
    assert report["egress"]["bytes"] > 0
    shown = jackdaw(*question, "--together", "--temperature", "1").out
    assert "together · fake" in shown
    assert "bytes left this device" in shown
    why = " ".join(jackdaw("why").out.split())
    assert "by both sides, from 1 passage of your own and 1 passage of the server" in why
    assert jackdaw(*question, "--together", "--local-only").code == 2


def test_asked_for_together_in_vain_it_is_said(jackdaw: Any) -> None:
    shown = jackdaw("ask", "Who has the blue drill?", "--together").out
    assert "it was not written together: no companion server is connected" in shown
    assert "jackdaw status" in shown
    assert "written together" not in jackdaw("ask", "Who has the blue drill?").out


@pytest.mark.parametrize(
    ("origin", "sides", "expected"),
    [
        ("device", {"device"}, ""),
        ("device", {"device", "server"}, "from both"),
        ("device", {"server"}, "from the server's passages"),
        ("cloud", {"server"}, ""),
        ("aggregated", {"device", "server"}, ""),
    ],
)
def test_it_is_told_whose_passages_this_device_wrote_from(origin: str, sides: set[str], expected: str) -> None:
    assert drawn_from(origin, sides) == expected


def test_a_model_that_is_too_small_says_what_it_takes_and_writes_if_told_to(jackdaw: Any) -> None:
    request = "Translate this text into German:\nPetra has the drill.\nShe is away."
    outcome = jackdaw("ask", request)
    assert outcome.code == 3
    assert "smollm2-135m, the model of this device, is too small" in outcome.out
    assert "jackdaw models use smollm2-1.7b" in outcome.out
    assert "--model-only" in outcome.out
    assert outcome.err == ""
    alone = jackdaw("ask", "--model-only", request)
    assert alone.code == 0
    assert alone.out.startswith("Petra has the drill.\n")
    assert "from the model alone: no source" in alone.out
    again = json.loads(jackdaw("ask", "--again", "--json").out)
    assert (again["model_only"], again["origin"], again["sources"]) == (True, "device", [])
    assert "from the model alone: no source, with fake" in jackdaw("why").out
    jackdaw("wrong")
    marked = jackdaw("ask", "--model-only", request)
    assert marked.code == 3
    assert "You marked the answer" in marked.out
    assert "Nearest" not in marked.out
    assert "from the model alone" not in marked.out


def test_the_model_alone_takes_no_passages(jackdaw: Any) -> None:
    for others in (("--together",), ("--pipeline", "hyde")):
        outcome = jackdaw("ask", "--model-only", *others, "Who has the drill?")
        assert outcome.code == 2
        assert "--model-only and --send take no passages" in outcome.err


def test_it_is_said_of_every_such_answer_that_it_has_no_source(jackdaw: Any) -> None:
    label = "from the model alone: no source"
    jackdaw("ask", "Who has the drill?")
    assert label not in jackdaw("history", "show", "1").out
    assert jackdaw("ask", "--model-only", "--no-sources", "Who has the saw?").out.count(label) == 1
    for shown in (("show", "2"), ("search", "saw"), ("export", "2")):
        assert jackdaw("history", *shown).out.count(label) == 1


def test_asked_again_with_a_servers_pipeline_it_is_not_for_the_model_alone(jackdaw: Any) -> None:
    jackdaw("ask", "--model-only", "Who has the drill?")
    again = json.loads(jackdaw("ask", "--again", "--together", "--json").out)
    assert (again["model_only"], len(again["sources"])) == (False, 1)


def test_a_request_of_a_megabyte_is_refused_with_a_sentence(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pasted = f"Summarise this text:\n{'word ' * 200_000}"
    for options in ((), ("--model-only",)):
        outcome = jackdaw("ask", *options, pasted)
        assert outcome.code == 2
        assert "at most 4,000 are allowed" in outcome.err


def test_a_request_is_shown_before_it_is_sent(
    jackdaw: Any, serve: Serve, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = "Summarise this text:\nPetra has the drill.\nShe is away."
    refused = jackdaw("ask", "--send", request)
    assert refused.code == 2
    assert "no companion server is connected" in refused.err
    served = serve()
    credentials.save(paths.link, Credentials(served.url, served.token()))
    stays = json.loads(jackdaw("ask", "--model-only", request, "--json").out)
    assert (stays["origin"], stays["egress"]["bytes"]) == ("device", 0)
    assert "may hold a text of yours" in jackdaw("why").out
    monkeypatch.setenv("JACKDAW_LINK_SPARE", "0")
    sent = jackdaw("ask", "--send", request, "--json")
    answer = json.loads(sent.out)
    assert (answer["origin"], answer["model_only"], answer["egress"]["items"]) == ("cloud", True, ["the question"])
    assert f"This request is sent to the companion server:\n{request}" in sent.err
    both = jackdaw("ask", "--send", "--local-only", request)
    assert both.code == 2
