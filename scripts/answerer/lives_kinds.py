"""The kinds of texts in a fictional life, loaded from tables: text templates with placeholders, and questions about
each.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

Wordings = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Compare:
    """Questions that ask which of two texts, `x` or `y`, has more or less of a value."""

    more: tuple[str, ...] = ()
    less: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of text. Wordings are templates: `[one|other]` is an alternative; `{gap}` is a placeholder (a gap) for a
    value, `{!mark}` a placeholder that stays empty.

    `keys` are the placeholders that distinguish a text from others of its kind; two kinds of one `topic` never occur in
    the same lesson. `rows` is a line template, with `#` for the row's number, repeated in the placeholder `rows`. For
    each answer, `ask` contains questions, `follow` follow-up questions on the same text, and `both` questions about two
    texts, whose first keys are `x` and `y`. An answer with placeholders that the text does not use is unanswerable.
    `check` contains questions that are answered with yes if they name the placeholder's value and with no if they name
    another; `yes` and `no` contain questions that a text with the mark answers with yes or no. `none` contains
    questions that no text answers. A question with an answer in `vague` never counts as unanswerable, because a text
    may give that answer in other words.
    """

    name: str
    form: str
    text: tuple[str, ...]
    keys: tuple[str, ...]
    title: tuple[str, ...] = ("",)
    topic: str = ""
    rows: tuple[str, ...] = ()
    picks: Wordings = field(default_factory=dict)
    ask: Wordings = field(default_factory=dict)
    follow: Wordings = field(default_factory=dict)
    both: Wordings = field(default_factory=dict)
    check: Wordings = field(default_factory=dict)
    yes: Wordings = field(default_factory=dict)
    no: Wordings = field(default_factory=dict)
    none: tuple[str, ...] = ()
    vague: tuple[str, ...] = ()
    compare: Mapping[str, Compare] = field(default_factory=dict)


@cache
def kinds() -> Sequence[Kind]:
    """Return all kinds of texts that the tables (TOML files) beside this module define."""
    tables: dict[str, Any] = {}
    for path in sorted(Path(__file__).parent.glob("lives_*.toml")):
        tables |= tomllib.loads(path.read_text("utf-8"))
    return [msgspec.convert({"name": name, "topic": name} | table, Kind) for name, table in tables.items()]
