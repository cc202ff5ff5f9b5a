from collections.abc import Callable
from pathlib import Path

import pytest

from device_app.knowledge import readers
from shared.errors import UnreadableFile
from shared.types import Document

Read = Callable[..., list[Document]]
LINE = "From petra@x.org Sat Mar 14 10:00:00 2026\n"


def mail(number: int, body: str) -> str:
    return f"{LINE}Message-ID: <{number}@x.org>\nSubject: Mail {number}\n\n{body}\n\n"


def bodies(documents: list[Document]) -> list[tuple[str, str]]:
    return [(document.key, "\n".join(block.text for block in document.blocks)) for document in documents]


def test_mails_are_told_apart_and_escapes_undone(read: Read) -> None:
    box = mail(1, "One.\n\n>From here on.\n>>From there.") + mail(2, "From now on\nFrom me.")
    assert bodies(read("a.mbox", box)) == [
        ("1@x.org", "One.\nFrom here on."),
        ("2@x.org", "From now on\nFrom me."),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "From - Sat Mar 14 10:00:00 2026\n",
        "From 1790@xxx Sat Mar 14 10:00:00 +0000 2026\n",
        "From MAILER-DAEMON Fri Jul  8 12:08:34 2011\r\n",
        "From a b c Sat, 14 Mar 2026 10:00:00 +0100\n",
    ],
)
def test_separators_of_several_programs_are_known(read: Read, line: str) -> None:
    assert len(read("a.mbox", (line + "Subject: a\n\nx\n\n") * 3)) == 3


def test_a_cut_last_mail_is_read_as_far_as_it_goes(read: Read) -> None:
    box = mail(1, "One.") + mail(2, "Two is longer.")
    assert bodies(read("a.mbox", box[: box.index("longer")])) == [("1@x.org", "One."), ("2@x.org", "Two is")]
    assert [title for _, title in bodies(read("a.mbox", box[: box.index("Mail 2")]))] == ["One.", ""]


def test_a_mail_beyond_the_limit_is_cut_and_the_next_one_read(read: Read) -> None:
    texts = bodies(read("a.mbox", mail(1, "x\n" * 5000) + mail(2, "Two."), max_bytes=1000))
    assert [key for key, _ in texts] == ["1@x.org", "2@x.org"]
    assert len(texts[0][1]) < 1100


@pytest.mark.long
def test_a_mailbox_is_read_as_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    path.write_text(mail(1, "One.") + mail(2, "Two."))
    documents = readers.read(path)
    assert next(documents).key == "1@x.org"
    with path.open("a") as box:
        box.write(mail(3, "x\n" * 100_000))
        box.write(mail(4, "Four."))
    assert [document.key for document in documents] == ["2@x.org", "3@x.org", "4@x.org"]


def test_what_is_no_mailbox_is_refused(read: Read) -> None:
    with pytest.raises(UnreadableFile, match="not a mailbox"):
        read("a.mbox", "From the desk of Petra\n")


def test_a_mail_in_a_maildir_is_read(tmp_path: Path) -> None:
    for name in ("cur", "new", "tmp"):
        (tmp_path / name).mkdir()
    path = tmp_path / "cur" / "1.a:2,S"
    path.write_text("Subject: Hello\n\nx\n")
    (document,) = readers.read(path)
    assert (document.kind, document.title) == ("mail", "Hello")
