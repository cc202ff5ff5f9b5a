"""Building an index: it is complete or has no effect; a killed build continues, changed sources restart it, errors lose
no data.
"""

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.index import Progress
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.sources import Skipped
from cloud_server.retrieval.versions import Versions, read_facts
from models.fake import FakeEmbedder
from shared.errors import NothingFound, NotWritable, StoreLocked, UsageError
from storage.ivf_files import Codec
from storage.public_passages import PassageText
from tests.cloud_server.retrieval.conftest import Make, Write, numbered

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss


def contents(builder: Builder[FolderIndex]) -> list[tuple[str, str, str]]:
    """Return all passages by number, after checking that a search for each passage's text returns that passage."""
    corpus = IndexCorpus(builder.index.folder, builder.embedder.fingerprint)
    corpus.refresh()
    assert corpus.facts
    first = corpus.facts.series << 32
    held = corpus.passages([first + number for number in range(len(corpus))])
    assert len(held) == len(corpus)
    for passage in held:
        vector = builder.embedder.embed([f"{passage.title}\n{passage.text}"])[0]
        hits = corpus.search(vector, 8)  # the fake embedder may see others just as near
        assert hits[0].similarity == pytest.approx(1, abs=1e-3)  # kept as halves
        assert passage.id in {near.id for near in hits if near.similarity > 0.999}
    return [(passage.title, passage.path, passage.text) for passage in held]


class Counting(FakeEmbedder):
    """A fake embedder that counts the texts that it gets, and fails when a test says so."""

    def __init__(self) -> None:
        self.texts = 0
        self.fails_after = sys.maxsize

    def embed(self, texts: Any) -> Any:
        self.texts += len(texts)
        if self.texts > self.fails_after:
            raise KeyboardInterrupt
        return super().embed(texts)


def test_what_was_read_is_found_in_the_order_of_the_sources(builder: Make, source: Write) -> None:
    made = builder()
    report = made.build([source("b.jsonl", numbered(9, "first")), source("a.jsonl", numbered(2, "second"))])
    assert (report.passages, report.kept, report.total, report.files) == (11, 0, 11, 2)
    expected = [(title, f"b.jsonl#{row}", text) for row, (title, text) in enumerate(numbered(9, "first"))]
    expected += [(title, f"a.jsonl#{row}", text) for row, (title, text) in enumerate(numbered(2, "second"))]
    assert contents(made) == expected
    facts = read_facts(made.index.versions.current())
    assert (facts.passages, facts.trained_on, facts.embedder, facts.dimensions) == (11, 11, "fake", 256)
    assert [Path(file.path).name for file in facts.sources] == ["b.jsonl", "a.jsonl"]
    assert not (made.index.folder / "building").exists()


def test_progress_never_goes_back_and_ends_at_the_end(builder: Make, source: Write) -> None:
    made = builder()
    stages_seen: list[Progress] = []
    made.on_progress = stages_seen.append
    made.build([source(facts=numbered(30))])
    stages = [progress.stage for progress in stages_seen]
    assert list(dict.fromkeys(stages)) == ["embedding", "clustering", "writing"]
    for stage in dict.fromkeys(stages):
        done = [progress.done for progress in stages_seen if progress.stage == stage]
        assert done == sorted(done)
        assert done[-1] == next(progress.total for progress in stages_seen if progress.stage == stage)


def test_what_was_finished_before_a_stop_is_kept(builder: Make, source: Write, tmp_path: Path) -> None:
    path, embedder = source(facts=numbered(20)), Counting()
    embedder.fails_after = 10
    with pytest.raises(KeyboardInterrupt):
        builder(embedder).build([path])
    again = builder(Counting())
    notices: list[str] = []
    again.on_notice = notices.append
    report = again.build([path])
    assert (report.passages, report.kept) == (20, 8)
    assert isinstance(again.embedder, Counting)
    assert again.embedder.texts == 12
    assert notices == ["Continuing an earlier run, which finished 8 passages."]
    assert [title for title, _, _ in contents(again)] == [title for title, _ in numbered(20)]


class Killed(BaseException):
    """Stands for the kill of the process at that point."""


def dies_at(monkeypatch: pytest.MonkeyPatch, step: int) -> Callable[[], int]:
    """Simulate a crash at the fsync number `step`, with only half of the file on disk."""
    sync, done = os.fsync, 0

    def fsync(descriptor: int) -> None:
        nonlocal done
        done += 1
        if done == step:
            facts = os.fstat(descriptor)
            if stat.S_ISREG(facts.st_mode):
                os.ftruncate(descriptor, facts.st_size // 2)
            raise Killed
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return lambda: done


@pytest.mark.parametrize("codec", ["f16", "rabitq"])
def test_killed_at_any_step_the_same_call_ends_with_the_same_index(
    builder: Make, source: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, codec: Codec
) -> None:
    path = source(facts=numbered(10))
    step = 0
    while True:
        step += 1
        shutil.rmtree(tmp_path / "index", ignore_errors=True)
        with monkeypatch.context() as patched:
            reached = dies_at(patched, step)
            try:
                builder(codec=codec).build([path])
            except Killed:
                pass
            else:
                assert reached() < step
                break
        assert builder(codec=codec).build([path]).total == 10
        assert [title for title, _, _ in contents(builder())] == [title for title, _ in numbered(10)]
    assert step > 20


@pytest.mark.parametrize("codec", ["f16", "rabitq"])
def test_killed_at_any_step_adding_ends_with_everything_once(
    builder: Make, source: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, codec: Codec
) -> None:
    first, second = source("a.jsonl", numbered(6, "old")), source("b.jsonl", numbered(6, "new"))
    builder(codec=codec).build([first])
    shutil.copytree(tmp_path / "index", tmp_path / "before")
    expected = [text for _, text in numbered(6, "old") + numbered(6, "new")]
    step = 0
    while True:
        step += 1
        shutil.rmtree(tmp_path / "index")
        shutil.copytree(tmp_path / "before", tmp_path / "index")
        with monkeypatch.context() as patched:
            reached = dies_at(patched, step)
            try:
                builder().add([second])
            except Killed:
                assert [text for _, _, text in contents(builder())] in (expected[:6], expected)
            else:
                assert reached() < step
                break
        builder().add([second])
        assert [text for _, _, text in contents(builder())] == expected
    assert step > 12


def test_killed_while_it_clears_up_what_is_left_is_not_taken_for_finished(
    builder: Make, source: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, remove = source(facts=numbered(10)), shutil.rmtree

    def rmtree(folder: Path, ignore_errors: bool = False) -> None:
        if folder.name == "building":
            (folder / "000001.vectors").unlink()
            raise Killed
        remove(folder, ignore_errors)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(shutil, "rmtree", rmtree)
        builder().build([path])
    report = builder().build([path])
    assert (report.total, report.kept) == (10, 0)
    assert [title for title, _, _ in contents(builder())] == [title for title, _ in numbered(10)]


SLOW = """
import sys, time
from pathlib import Path
from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.versions import Versions
from models.fake import FakeEmbedder

class Slow(FakeEmbedder):
    def embed(self, texts):
        time.sleep(0.05)
        return super().embed(texts)

print("begun", flush=True)
Builder(FolderIndex(Versions(Path(sys.argv[1])), 1), Slow(), shard_passages=4).build([Path(sys.argv[2])])
"""


def test_a_process_that_is_killed_again_and_again_gets_done(builder: Make, source: Write, tmp_path: Path) -> None:
    path = source(facts=numbered(60))
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", SLOW, str(tmp_path / "index"), str(path)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout
            assert process.stdout.readline() == b"begun\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGKILL)
    assert builder().build([path]).total == 60
    assert [title for title, _, _ in contents(builder())] == [title for title, _ in numbered(60)]


@pytest.mark.parametrize("change", ["content", "embedder", "other"])
def test_other_sources_or_another_embedder_start_again_and_say_so(builder: Make, source: Write, change: str) -> None:
    path, embedder = source(facts=numbered(20)), Counting()
    embedder.fails_after = 10
    with pytest.raises(KeyboardInterrupt):
        builder(embedder).build([path])
    other = Counting()
    if change == "content":
        source(facts=numbered(21))
    elif change == "embedder":
        other.fingerprint = "another"
    else:
        path = source("other.jsonl", numbered(20))
    made, notices = builder(other), list[str]()
    made.on_notice = notices.append
    report = made.build([path])
    assert report.kept == 0
    assert other.texts == report.total == (21 if change == "content" else 20)
    expected = {
        "content": "facts.jsonl has changed",
        "embedder": "the embedder is another now",
        "other": "other sources",
    }
    assert len(notices) == 1
    assert expected[change] in notices[0]
    assert "Starting again" in notices[0]


def test_where_nothing_was_finished_nothing_is_said_to_be_lost(builder: Make, source: Write) -> None:
    embedder = Counting()
    embedder.fails_after = 1
    with pytest.raises(KeyboardInterrupt):
        builder(embedder).build([source(facts=numbered(20))])
    made, notices = builder(Counting()), list[str]()
    made.on_notice = notices.append
    made.build([source("other.jsonl", numbered(20))])
    assert notices == []


def test_what_is_added_keeps_the_ids_and_is_not_added_twice(builder: Make, source: Write) -> None:
    made = builder(Counting())
    first, second = source("a.jsonl", numbered(5, "old")), source("b.jsonl", numbered(5, "new"))
    made.build([first])
    corpus = IndexCorpus(made.index.folder, "fake")
    old = corpus.search(FakeEmbedder().embed(["Title 3\nAll about old3 and nothing else."])[0], 1)
    assert isinstance(made.embedder, Counting)
    made.embedder.texts = 0
    report = made.add([first, second])
    assert (report.passages, report.total, report.files, report.unchanged) == (5, 10, 1, 1)
    assert made.embedder.texts == 5
    assert corpus.passages([old[0].id])[0].text == old[0].text
    assert [text for _, _, text in contents(made)] == [text for _, text in numbered(5, "old") + numbered(5, "new")]
    again = made.add([second])
    assert (again.passages, again.total, again.unchanged) == (0, 10, 1)
    source("b.jsonl", numbered(6, "new"))
    changed = made.add([second])
    assert changed.passages == 0
    assert "changed since it was added" in changed.skipped[0].reason


def test_adding_needs_an_index_of_the_same_embedder(builder: Make, source: Write) -> None:
    path = source()
    with pytest.raises(NothingFound, match="index build"):
        builder().add([path])
    builder().build([path])
    other = FakeEmbedder()
    other.fingerprint = "another"
    with pytest.raises(UsageError, match="Build it again"):
        builder(other).add([source("more.jsonl")])


def test_sources_without_a_passage_leave_the_index_as_it_is(builder: Make, source: Write, tmp_path: Path) -> None:
    made = builder()
    made.build([source()])
    before = made.index.versions.current()
    (tmp_path / "bad.jsonl").write_text("{\n[\n{}\n")
    for command in (made.build, made.add):
        with pytest.raises(NothingFound, match=r"bad\.jsonl: not valid JSON"):
            command([tmp_path / "bad.jsonl"])
    assert made.index.versions.current() == before
    assert len(contents(made)) == 3


def test_what_was_left_out_is_counted_with_its_reasons_also_across_a_stop(
    builder: Make, source: Write, tmp_path: Path
) -> None:
    path = source(facts=numbered(20))
    lines = path.read_bytes().splitlines(keepends=True)
    for place in (15, 9, 2):
        lines.insert(place, b"{\n")
    lines.append(b"{}\n")
    path.write_bytes(b"".join(lines))
    embedder = Counting()
    embedder.fails_after = 10
    with pytest.raises(KeyboardInterrupt):
        builder(embedder).build([path])
    made = builder()
    report = made.build([path])
    assert report.kept == 8
    assert report.skipped == (Skipped(str(path), "not valid JSON", 3, 3), Skipped(str(path), "no text", 1, 24))
    assert read_facts(made.index.versions.current()).skipped == 4


def test_a_full_disk_is_said_and_loses_nothing(builder: Make, source: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    made = builder(Counting())
    path = source(facts=numbered(20))
    made.build([source("small.jsonl")])
    with monkeypatch.context() as patched:
        sync, done = os.fsync, 0

        def fsync(descriptor: int) -> None:
            nonlocal done
            done += 1
            if done > 10:
                raise OSError(errno.ENOSPC, "No space left on device")
            sync(descriptor)

        patched.setattr(os, "fsync", fsync)
        with pytest.raises(NotWritable, match="Make room on its disk"):
            made.build([path])
    assert len(contents(made)) == 3
    assert made.build([path]).kept > 0
    assert len(contents(made)) == 20


def test_two_at_once_are_told(builder: Make, source: Write) -> None:
    path = source()
    first, second = builder(), builder()

    def meanwhile(_: Progress) -> None:
        with pytest.raises(StoreLocked, match="Another process"):
            second.build([path])
        assert stat.S_IMODE((first.index.folder / "build.lock").stat().st_mode) == 0o600

    first.on_progress = meanwhile
    assert first.build([path]).total == 3


def test_a_file_system_without_links_gets_copies(builder: Make, source: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    made = builder()
    made.build([source()])
    assert len(contents(made)) == 3


def test_only_the_current_version_stays(builder: Make, source: Write) -> None:
    made = builder()
    for count in (3, 5, 7):
        made.build([source(facts=numbered(count))])
        assert [made.index.versions.current()] == list((made.index.folder / "versions").iterdir())


def test_where_nothing_was_made_there_is_no_version(tmp_path: Path) -> None:
    with pytest.raises(NothingFound, match="jackdaw-server index build"):
        Versions(tmp_path).current()


def test_passages_are_kept_as_they_came(builder: Make, source: Write) -> None:
    text = "Žluťoučký kůň 🐦 stands by the water."
    made = builder()
    made.build([source(facts=[("Kůň", text)])])
    assert contents(made) == [PassageText("Kůň", "facts.jsonl#0", text)]
