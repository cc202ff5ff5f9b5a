"""Large amounts on a phone: a million messages, whose reading is interrupted, and two things shared at the
same time.
"""

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from storage.paths import HOME_VARIABLE, Paths
from tests.termux import Phone

COUNT = 1_000_000
A_DAY = 48

_LISTS = f"""
import json, sys
from datetime import datetime, timedelta

arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
most, skip = int(arguments["-l"]), int(arguments["-o"])
places = range(skip, min(skip + most, {COUNT}))
newest = datetime(2026, 8, 13, 12)
print(json.dumps([
    {{
        "threadid": place % 7,
        "type": "inbox",
        "number": f"07012345{{place % 7}}",
        "received": str(newest - timedelta(days=place / {A_DAY}))[:19],
        "body": f"Message {{place}} says that box {{place * 7}} stands in the room behind the stairs.",
        "_id": {COUNT} - place,
    }}
    for place in reversed(places)
]))
"""

MOST_GROWTH = 25_000_000
"""Bytes by which reading fifty pages more may add to a process's memory."""


def pages(phone: Phone) -> list[int]:
    """Return the number of the first message of each page that was listed; calls for a single message are left out."""
    calls = phone.calls("termux-sms-list")
    return [int(call[call.index("-o") + 1]) for call in calls if call[call.index("-l") + 1] != "1"]


def interrupted(phone: Phone, home: Path, command: Sequence[str], after: int) -> tuple[list[int], int]:
    """Run a command until `after` pages were listed, then press Ctrl-C.

    Return the pages, and by how many bytes the process's memory grew after the first ten.
    """
    phone.forget_calls()
    early = most = 0
    with subprocess.Popen(
        phone.command(*command),
        env=phone.environment | {HOME_VARIABLE: str(home)},
        cwd=phone.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        watched = psutil.Process(process.pid)
        while (count := len(pages(phone))) < after:
            assert process.poll() is None
            resident = watched.memory_info().rss
            early, most = (max(early, resident), most) if count <= 10 else (early, max(most, resident))
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
    assert process.returncode == 130
    return pages(phone), most - early


def kept(home: Path) -> list[int]:
    """Return the numbers of all stored messages; a message that is stored twice occurs twice."""
    with closing(sqlite3.connect(Paths.locate({HOME_VARIABLE: str(home)}).database)) as database:
        texts = database.execute("SELECT text FROM passages").fetchall()
    lines = (line for (text,) in texts for line in text.splitlines())
    return sorted(int(line.partition("Message ")[2].split()[0]) for line in lines)


@pytest.mark.long
def test_a_million_messages_take_little_memory_and_reading_them_goes_on_after_ctrl_c(
    phone: Phone, tmp_path: Path
) -> None:
    lists, home = tmp_path / "lists.py", tmp_path / "own"
    lists.write_text(_LISTS)
    phone.script("termux-sms-list", f'exec {sys.executable} -SE {lists} "$@"')
    listed, growth = interrupted(phone, home, ("phone", "sources", "allow", "messages", "--yes"), 60)
    assert listed == sorted(listed)
    assert growth < MOST_GROWTH
    first = kept(home)
    assert first == list(range(len(first)))  # the newest first, each once
    assert len(first) >= listed[-1] - 600
    again, growth = interrupted(phone, home, ("phone", "sources", "read"), 60)
    assert growth < MOST_GROWTH
    assert not [skip for skip in again if 4 * A_DAY < skip < len(first) - 600]  # what was read is not read again
    both = kept(home)
    assert both == list(range(len(both)))
    assert len(both) > len(first) + 4_000


def test_a_link_and_a_file_shared_at_the_same_time_are_both_kept(phone: Phone) -> None:
    letter = phone.home / "downloads" / "letter.txt"
    letter.parent.mkdir()
    letter.write_text("The plumber comes on Thursday at nine.\n")
    processes = [
        subprocess.Popen(
            phone.command("phone", "share", shared, "--json"),
            env=phone.environment,
            cwd=phone.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for shared in ("https://example.org/almond-cake", str(letter))
    ]
    said = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    asked = phone.json("ask", "When does the plumber come?", own={"JACKDAW_ANSWER_MAX_TOKENS": "60"})
    assert "on Thursday at nine" in asked["answer"]
    files = [Path(file["path"]).read_text() for file in phone.json("knowledge", "list")["files"]]
    assert len(files) == 2
    assert any("https://example.org/almond-cake" in text for text in files)
