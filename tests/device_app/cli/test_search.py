"""`jackdaw search`: what it finds, and how it prints the results."""

import json
import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from device_app.commands import search
from device_app.commands.search import Searcher
from device_app.commands.search_results import Sort
from storage.conversations import ConversationStore
from storage.database import Database
from storage.paths import Paths
from tests.devices import fake_device

MAIL = """From: Rick Moen <rick@moen.example>
To: Anna Perk <anna@perk.example>
Subject: Tiny DNS Swap
Date: Mon, 12 Oct 2026 09:00:00 +0000
Message-ID: <{number}@moen.example>

The zone of the boathouse moves on Friday, says Rick. Mail {number}.
"""


@pytest.fixture
def files(notes: Path, jackdaw: Any) -> Path:
    """A note about the drill, a mail and a note in Hebrew, which the device has read."""
    (notes / "dns.eml").write_text(MAIL.format(number=1))
    (notes / "shalom.md").write_text("# שלום\n\nשלום עולם, המקדחה אצל פטרה.\n")
    (notes / "saw.txt").write_text("The old saw hangs in the boathouse, beside the rusty drill press.\n")
    assert jackdaw("add", str(notes)).code == 0
    return notes


@pytest.fixture
def talk(paths: Paths, files: Path) -> None:
    """A conversation with one answered question about the drill."""
    database = Database(paths.database)
    store = ConversationStore(database)
    store.write(store.begin("Who borrowed the drill?").id, "Petra has it.", {"sources": []})
    database.close()


def paths_of(outcome: Any) -> list[str]:
    return [Path(result["path"]).name for result in json.loads(outcome.out)["files"]["results"]]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["blue", "drills"], ["drill.md", "saw.txt"]),
        (['"blue drill"'], ["drill.md"]),
        (['"drill blue"'], []),
        (["boathouse", "from:rick"], ["dns.eml"]),
        (["boathouse", "to:rick"], []),
        (["boathouse", "to:anna"], ["dns.eml"]),
        (["who:anna"], ["dns.eml"]),
        (["title:dns"], ["dns.eml"]),
        (["kind:ma"], ["dns.eml"]),
        (["boathouse", "after:2026-10", "before:2026-10-31"], ["dns.eml"]),
        (["in:shalom"], ["shalom.md"]),
        (["שלום"], ["shalom.md"]),
        (["boathuose"], ["saw.txt", "dns.eml"]),
        (["😀"], []),
        (["(drill", "OR", "NEAR(", "*", '"'], ["saw.txt", "drill.md"]),
    ],
)
def test_words_and_filters_find_documents(files: Path, jackdaw: Any, words: list[str], names: list[str]) -> None:
    outcome = jackdaw("search", "--json", *words)
    assert sorted(paths_of(outcome)) == sorted(names)
    assert outcome.code == (0 if names else 3)


@pytest.mark.parametrize("text", ["from:rick", "from:anna", "to:anna", "who:rick", "to:rick kind:mail", "from:x to:y"])
def test_filters_are_the_same_while_they_are_typed(files: Path, paths: Paths, text: str) -> None:
    with fake_device(paths) as device:
        typed, sent = (Searcher(device).search(text, date(2026, 11, 25), typing=typing) for typing in (True, False))
        assert [each.passage.id for each in typed.files] == [each.passage.id for each in sent.files]


@pytest.mark.parametrize("typing", [True, False])
def test_the_order_of_documents_is_the_same_whether_all_are_counted(
    files: Path, paths: Paths, typing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed() -> list[str]:
        results = Searcher(device).search("in:/", date(2026, 11, 25), typing=typing)
        return [Path(each.passage.path).name for each in results.files]

    with fake_device(paths) as device:
        names = listed()
        monkeypatch.setattr(search, "MOST_COUNTED", 1)
        assert listed() == names
    assert (len(names), names[0]) == (4, "dns.eml")  # the only one with a date


@pytest.mark.parametrize("by", [[], ["--meaning"]])
def test_a_copy_in_another_file_is_listed_too(files: Path, jackdaw: Any, by: list[str]) -> None:
    (files / "again.md").write_text((files / "drill.md").read_text())
    assert jackdaw("add", str(files)).code == 0
    assert {"drill.md", "again.md"} <= set(paths_of(jackdaw("search", "--json", *by, "blue", "drill")))


def test_what_is_read_while_a_search_is_typed_is_searched(files: Path, paths: Paths, jackdaw: Any) -> None:
    with fake_device(paths) as device:
        searcher = Searcher(device)
        assert searcher.completions("kind:ch") == []
        assert not searcher.search("title:ferry", date(2026, 11, 25), typing=True).files
        (files / "ferry.eml").write_text(MAIL.format(number=9).replace("Tiny DNS Swap", "The ferry"))
        assert jackdaw("add", str(files)).code == 0
        results = searcher.search("title:ferry", date(2026, 11, 25), typing=True)
        assert [each.passage.title for each in results.files] == ["The ferry"]


def test_the_object_of_a_search(talk: None, jackdaw: Any) -> None:
    result = json.loads(jackdaw("search", "--json", "bleu", "drill").out)
    assert result["corrections"] == [{"typed": "bleu", "used": "blue"}]
    assert result["searched_for"]["words"] == ["blue", "drill"]
    files, talk_ = result["files"], result["conversations"]["results"]
    assert (files["documents"], files["counted"], files["all_words"]) == (1, True, True)
    first = files["results"][0]
    assert (first["number"], first["line"], first["kind"]) == (1, 1, "note")
    assert [first["snippet"][start:end] for start, end in first["marks"]] == ["blue", "drill"]
    assert [turn["question"] for turn in talk_] == ["Who borrowed the drill?"]
    assert talk_[0]["number"] == len(files["results"]) + 1
    assert result["facets"]["kind"] == [{"value": "note", "count": 1, "filter": "kind:note"}]
    assert result["facets"]["folder"][0]["filter"].startswith("in:")


def test_either_side_alone(talk: None, jackdaw: Any) -> None:
    assert "Who borrowed" not in jackdaw("search", "--files", "drill").out
    assert paths_of(jackdaw("search", "--conversations", "--json", "drill")) == []
    assert jackdaw("search", "from:rick", "--conversations", "drill").code == 3


def test_what_a_person_is_shown(talk: None, jackdaw: Any) -> None:
    outcome = jackdaw("search", "bleu", "drill")
    assert "searched for “blue” instead of “bleu”" in outcome.err
    assert "Petra has borrowed the blue drill." in outcome.out
    assert outcome.out.index("Files") < outcome.out.index("Conversations") < outcome.out.index("Who borrowed")


@pytest.mark.parametrize("typed", ["before:2026-13-45", "before: 2026-13-45", "after:soon", "on:2026-02-30"])
def test_a_filter_without_a_day_is_refused_with_its_forms(talk: None, jackdaw: Any, typed: str) -> None:
    outcome = jackdaw("search", "drill", typed)
    name, _, value = typed.replace(" ", "").partition(":")
    assert outcome.code == 2
    assert outcome.out == ""
    assert f"{name}:{value} is not a date" in outcome.err
    assert f"{name}:2026-03-14, {name}:2026-03, {name}:2026 or {name}:yesterday" in outcome.err


def test_the_latest_come_first_by_date(files: Path, jackdaw: Any) -> None:
    (files / "new.eml").write_text(MAIL.format(number=2).replace("12 Oct", "19 Oct"))
    assert jackdaw("add", str(files)).code == 0
    assert paths_of(jackdaw("search", "--json", "boathouse", "--sort", "date"))[:2] == ["new.eml", "dns.eml"]
    assert paths_of(jackdaw("search", "--json", "kind:mail"))[:2] == ["new.eml", "dns.eml"]


def test_a_result_opens_in_the_editor_at_its_line(
    talk: None, jackdaw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor, log = tmp_path / "nano", tmp_path / "log"
    editor.write_text(f'#!/bin/sh\nprintf "%s " "$@" > {log}\n')
    editor.chmod(0o700)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    assert jackdaw("search", "blue", "drill", "--open", "1").code == 0
    assert log.read_text().startswith("+1 ") and "drill.md" in log.read_text()
    assert "Petra has it." in jackdaw("search", "--conversations", "drill", "--open", "1").out
    turn = json.loads(jackdaw("search", "--conversations", "--json", "drill", "--open", "1").out)
    assert "Petra has it." in turn["answer"]
    missing = jackdaw("search", "drill", "--open", "99")
    assert missing.code == 3
    assert "3 were found" in missing.err
    monkeypatch.setenv("EDITOR", "")
    assert "export EDITOR=" in jackdaw("search", "drill", "--open", "1").err


def test_a_mail_of_a_maildir_opens_though_its_flags_changed(
    files: Path, jackdaw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maildir = tmp_path / "maildir"
    for name in ("cur", "new", "tmp"):
        (maildir / name).mkdir(parents=True)
    (maildir / "new" / "1.host").write_text(MAIL.format(number=7).replace("boathouse", "lighthouse"))
    assert jackdaw("add", str(maildir)).code == 0
    monkeypatch.setenv("EDITOR", "true")
    assert jackdaw("search", "lighthouse", "--open", "1").code == 0
    (maildir / "new" / "1.host").rename(maildir / "cur" / "1.host:2,S")
    assert jackdaw("search", "lighthouse", "--open", "1").code == 0


def test_a_store_without_files_finds_nothing(without_weights: None, jackdaw: Any) -> None:
    outcome = jackdaw("search", "drill")
    assert outcome.code == 3
    assert "no file has been read yet" in outcome.err


def test_a_search_for_nothing_only_says_so(files: Path, jackdaw: Any) -> None:
    outcome = jackdaw("search", "🙂")
    assert (outcome.code, outcome.out) == (3, "")
    assert "nothing to search for" in outcome.err


TEXTS = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from([*'"()*^-a_', "NEAR", "AND", "from:", "on:", "drill"])).map(" ".join),
    st.text(alphabet='"()*^-:+{}[].,\\\0 drilאب😀', max_size=20),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.booleans(), st.sampled_from(Sort))
def test_no_text_is_an_error(talk: None, paths: Paths, text: str, typing: bool, sort: Sort) -> None:
    with fake_device(Paths.locate(os.environ)) as device:
        results = Searcher(device).search(text, date(2026, 11, 25), typing=typing, sort=sort)
        assert results.documents >= 0
        Searcher(device).completions(text)
