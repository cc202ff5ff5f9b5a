"""The kinds of texts that a made-up life holds, from their tables: wordings with gaps, and what is asked of each."""

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
    """Questions after which of two, `x` or `y`, has more or less of a value."""

    more: tuple[str, ...] = ()
    less: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of text. Every wording is spun: `[one|other]` is either; `{gap}` is a slot, `{!mark}` one without words.

    `keys` are the gaps that tell a text from others of its kind; two kinds of a `topic` never meet in a lesson. `rows`
    is a line that is repeated, with `#` for its number, in the gap `rows` of a text. By answer, `ask` holds questions,
    `follow` what is asked after another question of the same text, and `both` what is asked of two texts at once, `x`
    and `y` being their first keys. An answer whose gaps the text did not use is not told. `check` holds questions that
    the gap makes true, `yes` and `no` those that a mark makes true or false. What `none` asks is never told;
    what `vague` answers may be told in other words where its gap is left out, and is not asked then.
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
    """All kinds of the tables beside this file."""
    tables: dict[str, Any] = {}
    for path in sorted(Path(__file__).parent.glob("lives_*.toml")):
        tables |= tomllib.loads(path.read_text("utf-8"))
    return [msgspec.convert({"name": name, "topic": name} | table, Kind) for name, table in tables.items()]
