"""When files in the folders have changed, and have stopped changing, so that they can be read."""

import os
from pathlib import Path

from device_app.ahead.watch import MOST_LOOKS, Seen, fingerprint


def test_a_fingerprint_changes_with_what_is_read_and_with_nothing_else(tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("one")
    prints = [fingerprint([tmp_path])]
    for change in (
        lambda: note.write_text("three"),
        lambda: os.utime(note, (1, 1)),
        lambda: note.rename(tmp_path / "other.md"),
        (tmp_path / "third.txt").touch,
        (tmp_path / "third.txt").unlink,
    ):
        change()
        prints.append(fingerprint([tmp_path]))
        assert prints[-1] == fingerprint([tmp_path])
    assert len(set(prints)) == 5  # without the third file all is as it was before it came
    (tmp_path / ".hidden").touch()
    (tmp_path / "program.exe").touch()
    assert fingerprint([tmp_path]) == prints[-1]
    assert fingerprint([tmp_path / "gone"]) != fingerprint([])


def test_what_has_changed_is_read_once_it_has_settled() -> None:
    seen = Seen().looked(b"a")
    assert not seen.settled
    seen = seen.looked(b"a")
    assert seen.unread
    seen = seen.as_read()
    assert seen.settled
    assert not seen.unread
    for folder, unread in ((b"b", False), (b"c", False), (b"c", True)):
        seen = seen.looked(folder)
        assert seen.unread == unread
    assert not seen.looked(b"a").looked(b"a").unread  # back to how it was read


def test_what_never_settles_is_read_all_the_same() -> None:
    seen = Seen().looked(b"a").looked(b"a").as_read()
    for number in range(MOST_LOOKS):
        seen = seen.looked(b"%d" % number)
        assert not seen.unread
    assert seen.looked(b"still").unread
    assert not seen.looked(b"still").as_read().looked(b"and on").unread
