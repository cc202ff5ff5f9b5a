from collections.abc import Callable
from datetime import datetime

import pytest

from shared.types import Block, Document

Read = Callable[..., list[Document]]


def test_text_keeps_its_lines_and_takes_its_date_from_the_name(read: Read) -> None:
    (note,) = read("2026-03-14 walk.txt", "Up the hill.\r\n\r\n\r\nDown again.\r\n")
    assert note == Document(
        "", "note", "2026-03-14 walk", (Block("Up the hill.", 1), Block("Down again.", 4)), datetime(2026, 3, 14)
    )


def test_text_takes_its_date_from_the_first_line(read: Read) -> None:
    (note,) = read("walk.txt", "14 March 2026\n\nUp the hill.\n")
    assert note.date == datetime(2026, 3, 14)


MARKDOWN = """---
title: "The cistern"
date: 2026-03-14
author: Petra
---

# What *we* found

A [crack](http://x.org), and `water`.
Second line.

* one
* two
  - [ ] three

| who   | what |
|-------|------|
| Petra | plan |

```python
first = 1

second = 2
```

<div>And <b>this</b>.</div>

> quoted
"""


def test_markdown_is_read_as_a_reader_sees_it_with_the_lines_of_the_file(read: Read) -> None:
    (note,) = read("a.md", MARKDOWN)
    assert (note.title, note.date, note.people) == ("The cistern", datetime(2026, 3, 14), ("Petra",))
    assert [(block.line, block.text) for block in note.blocks] == [
        (7, "What we found"),
        (9, "A crack, and water."),
        (10, "Second line."),
        (12, "one"),
        (13, "two"),
        (14, "[ ] three"),
        (16, "who | what"),
        (18, "Petra | plan"),
        (21, "first = 1"),
        (23, "second = 2"),
        (26, "And this."),
        (28, "quoted"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a.md", "text\n\n## A *heading*\n", "A *heading*"),
        ("a.md", "no heading\n", "a"),
        ("a.md", "---\nnot: closed\n", "a"),
        ("a.md", '+++\ntitle = "From TOML"\n+++\nx\n', "From TOML"),
    ],
)
def test_markdown_has_a_title(read: Read, name: str, text: str, title: str) -> None:
    assert read(name, text)[0].title == title


def test_markdown_takes_its_date_from_the_heading(read: Read) -> None:
    assert read("a.md", "# Meeting of 14 March 2026\n\nx\n")[0].date == datetime(2026, 3, 14)


@pytest.mark.parametrize("hostile", ["[" * 100_000, "*a " * 40_000, "![[" * 40_000, "a\n" * 60_000])
def test_markdown_without_end_is_read_as_plain_text(read: Read, hostile: str) -> None:
    (note,) = read("a.md", hostile)
    assert note.blocks[0].line == 1


ORG = """#+TITLE: Rowing
#+DATE: <2026-03-14 Sat>
#+AUTHOR: Runa
Before all headings, a [[https://x.org][link]] and [[another]].

* TODO [#A] Call Anna :club:
SCHEDULED: <2026-03-15 Sun 10:00>
:PROPERTIES:
:ID: abc
:END:
She has the key.
# a comment
** Times
| day | hour |
|-----+------|
| Tue | 6:15 |
#+BEGIN_QUOTE
Row on.
#+END_QUOTE
"""


def test_org_is_read_with_the_lines_of_the_file(read: Read) -> None:
    (note,) = read("a.org", ORG)
    assert (note.title, note.date, note.people) == ("Rowing", datetime(2026, 3, 14), ("Runa",))
    assert [(block.line, block.text) for block in note.blocks] == [
        (4, "Before all headings, a link and another."),
        (6, "TODO [#A] Call Anna :club:"),
        (7, "SCHEDULED: <2026-03-15 Sun 10:00>"),
        (11, "She has the key."),
        (13, "Times"),
        (14, "day | hour"),
        (16, "Tue | 6:15"),
        (18, "Row on."),
    ]


def test_an_impossible_date_in_org_is_text(read: Read) -> None:
    (note,) = read("a.org", "* Tax\nDEADLINE: <2026-13-45 Mon>\nPay it.\n")
    assert [block.text for block in note.blocks] == ["Tax", "DEADLINE: <2026-13-45 Mon>", "Pay it."]
    assert note.title == "Tax"


def test_notes_in_old_charsets_are_read(read: Read) -> None:
    for name in ("a.txt", "a.md", "a.org"):
        (note,) = read(name, "Liebe Grüße aus München und schöne Füße.".encode("cp1252"))
        assert note.blocks[0].text == "Liebe Grüße aus München und schöne Füße."


def test_markdown_of_minutes_keeps_the_marks_of_headings_and_items(read: Read) -> None:
    text = "# Board\n\n## Decisions\n\n- The *roof*\n- The garden\n\n1. The gate\n\n### Next\n\nCake.\n"
    (note,) = read("board.md", text)
    assert [block.text for block in note.blocks] == [
        "# Board",
        "## Decisions",
        "- The roof",
        "- The garden",
        "- The gate",
        "### Next",
        "Cake.",
    ]
    assert note.title == "Board"
