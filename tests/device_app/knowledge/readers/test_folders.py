import os
from pathlib import Path

import pytest

from device_app.knowledge.readers import FoundFile, identity, read, readable, walk
from device_app.knowledge.readers.maildir import in_maildir


def names(folder: Path) -> list[str]:
    return [os.fsencode(file.path.relative_to(folder)).decode(errors="replace") for file in walk([folder])]


def make(folder: Path, *files: str) -> None:
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def test_files_come_in_order_and_folders_after_them(tmp_path: Path) -> None:
    make(tmp_path, "b.txt", "a/c.md", "a/b.org", "c/d/e.pdf", "a.txt")
    assert names(tmp_path) == ["a.txt", "b.txt", "a/b.org", "a/c.md", "c/d/e.pdf"]


def test_what_is_hidden_or_of_programs_or_unknown_is_passed_over(tmp_path: Path) -> None:
    make(tmp_path, ".a.txt", ".git/b.txt", "node_modules/c.md", "__pycache__/d.txt", "~$e.docx", "f.jpg", "g.txt")
    assert names(tmp_path) == ["g.txt"]


def test_a_hidden_folder_is_read_when_it_is_named(tmp_path: Path) -> None:
    make(tmp_path, ".diary/a.txt")
    assert names(tmp_path / ".diary") == ["a.txt"]


def test_links_that_go_round_in_circles_end(tmp_path: Path) -> None:
    make(tmp_path, "a/b/c.txt")
    (tmp_path / "a/b/up").symlink_to(tmp_path)
    (tmp_path / "a/self").symlink_to("self")
    (tmp_path / "a/self.txt").symlink_to("self.txt")
    file = list(walk([tmp_path]))
    assert [(item.path.name, item.reason is None) for item in file] == [("self.txt", False), ("c.txt", True)]


def test_a_file_reached_by_two_names_or_from_two_roots_comes_once(tmp_path: Path) -> None:
    make(tmp_path, "a/b.txt")
    (tmp_path / "c.txt").symlink_to("a/b.txt")
    os.link(tmp_path / "a/b.txt", tmp_path / "d.txt")
    assert len(list(walk([tmp_path, tmp_path / "a", tmp_path / "a/b.txt"]))) == 1


def test_pipes_and_roots_that_cannot_be_read_come_with_the_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "a.jpg").write_text("x")
    file = list(walk([tmp_path, tmp_path / "a.jpg", tmp_path / "gone"]))
    assert [(item.path.name, item.reason) for item in file] == [
        ("pipe.txt", "not a regular file"),
        ("a.jpg", "unknown type"),
        ("gone", "no such file or directory"),
    ]


def test_a_folder_that_may_not_be_listed_comes_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a/b.txt", "c.txt")
    listdir = os.listdir

    def deny(path: Path) -> list[str]:
        if path.name == "a":
            raise PermissionError(13, "Permission denied")
        return listdir(path)

    monkeypatch.setattr(os, "listdir", deny)
    found = list(walk([tmp_path]))
    assert found == [FoundFile(tmp_path / "c.txt", 1), FoundFile(tmp_path / "a", 0, "permission denied")]


def test_names_that_are_not_utf8_are_walked(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")).write_text("x")
    (file,) = walk([tmp_path])
    assert os.fsencode(file.path).endswith(b"caf\xe9.txt")
    assert file.size == 1


@pytest.fixture
def maildir(tmp_path: Path) -> Path:
    make(
        tmp_path, "cur/1.a:2,S", "new/2.b", "tmp/3.c", ".Sent/cur/4.d:2,", ".Sent/new/x", ".Sent/tmp/y", "dovecot.index"
    )
    return tmp_path


def test_a_maildir_is_a_file_per_delivered_mail_in_all_its_folders(maildir: Path) -> None:
    assert names(maildir) == [".Sent/cur/4.d:2,", ".Sent/new/x", "cur/1.a:2,S", "new/2.b"]
    assert names(maildir / "cur") == ["1.a:2,S"]


def test_a_mail_keeps_its_identity_when_it_is_read_flagged_and_moved(maildir: Path) -> None:
    fresh = identity(maildir / "new" / "2.b")
    (maildir / "new" / "2.b").rename(maildir / "cur" / "2.b:2,FS")
    assert identity(maildir / "cur" / "2.b:2,FS") == fresh
    assert fresh != identity(maildir / "cur" / "1.a:2,S")


def test_elsewhere_the_identity_is_the_path(tmp_path: Path) -> None:
    path = tmp_path / "new" / "notes:2,S"
    assert identity(path) == os.fsencode(path)
    assert not in_maildir(path)


def test_a_mailbox_of_thunderbird_is_known_by_its_index(tmp_path: Path) -> None:
    make(tmp_path, "Inbox", "Inbox.msf", "Other")
    assert names(tmp_path) == ["Inbox"]
    assert not readable(tmp_path / "Other")


def test_a_mailbox_without_a_suffix_is_known_by_its_beginning(tmp_path: Path) -> None:
    make(tmp_path, "Other", "empty")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "mail").write_text("From petra@x.org Sat Mar 14 10:00:00 2026\nSubject: A\n\nx\n")
    os.mkfifo(tmp_path / "pipe")
    assert names(tmp_path) == ["mail"]
    assert [document.title for document in read(tmp_path / "mail")] == ["A"]
    (file,) = walk([tmp_path / "pipe"])
    assert file.reason == "not a regular file"
