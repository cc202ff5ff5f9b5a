"""Parses the filters in a question: `from:anna after:2026-03 what did she order`. Reads no store."""

import calendar
import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date

from device_app.english import dates
from device_app.english.dates import Span
from device_app.english.terms import says_nothing
from shared.errors import UsageError
from shared.types import Filters

MOST_CHARACTERS = 4_000
"""The most characters of a question: a longer question would not fit into the prompt beside its passages."""

FILTERS = ("from", "in", "kind", "after", "before", "on")

_DAYS = ("after", "before", "on")

# Phones capitalise the first letter and put a space after a colon; a filter may be in brackets.
_FILTER = re.compile(
    rf"""(?<![^\s(\[{{,;])[(\[{{]?({"|".join(FILTERS)})(\s*[:：]\s*)(?:"([^"]*)"|“([^”]*)”|([^\s"“]\S*))""",
    re.IGNORECASE,
)
_CLOSING = ")]},;?!."
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


@dataclass(frozen=True, slots=True)
class Query:
    """A question, its filters, and the days that it names, whose passages are preferred."""

    text: str
    filters: Filters = field(default_factory=Filters)
    days: tuple[Span, ...] = ()

    @property
    def is_limited(self) -> bool:
        """Whether the question has filters, so that only some documents count."""
        return self.filters != Filters()

    @property
    def is_open(self) -> bool:
        """Whether the question asks for anything on its days or within its filters, as "What is on tomorrow?" does."""
        return (bool(self.days) or self.is_limited) and says_nothing(dates.without(self.text))

    def following(self, earlier: "Query") -> "Query":
        """Return this question joined to the earlier one, whose filters and days apply if this question has none."""
        return Query(
            f"{earlier.text} {self.text}",
            earlier.filters if self.filters == Filters() else self.filters,
            self.days or earlier.days,
        )


def whole(request: str) -> Query:
    """Return a request exactly as it was typed, line breaks included, without parsed filters and days.

    Raises UsageError for an empty and for an over-long request.
    """
    text = request.strip()
    _require_length(text)
    return Query(text)


def parse(question: str, today: date) -> Query:
    """Split a question into its text and its filters, and parse the days it names.

    `from:` a person, `in:` part of a path, `kind:` mail, note, chat, event …; `after:`, `before:`, `on:` a day, month
    or year (2026-03-14, 2026-03, 2026), inclusive; in any case, with or without a space. Values with spaces are in
    double quotes. Raises UsageError for an empty or over-long question and for an invalid date.
    """
    text, filters = _split(question)
    _require_length(text)
    spans = {name: [span(name, value) for value in filters.get(name, [])] for name in ("after", "before", "on")}
    firsts = [first for first, _ in spans["after"] + spans["on"]]
    lasts = [last for _, last in spans["before"] + spans["on"]]
    return Query(
        text,
        Filters(
            people=tuple(filters.get("from", [])),
            places=tuple(filters.get("in", [])),
            kinds=tuple(filters.get("kind", [])),
            after=max(firsts, default=None),
            before=min(lasts, default=None),
        ),
        tuple(dates.named(text, today)),
    )


def has_filter(text: str) -> bool:
    """Return whether the text contains a filter."""
    return bool(_split(text)[1])


def separate(filters: Filters) -> dict[str, Filters]:
    """Split filters into single ones: map the text of each, as written in a question, to that filter alone.

    `after`, `before` and `on` form one filter.
    """
    each = {f"from:{person}": Filters(people=(person,)) for person in filters.people}
    each |= {f"in:{place}": Filters(places=(place,)) for place in filters.places}
    each |= {f"kind:{kind}": Filters(kinds=(kind,)) for kind in filters.kinds}
    if days := [f"{name}:{day}" for name, day in (("after", filters.after), ("before", filters.before)) if day]:
        each[" ".join(days)] = Filters(after=filters.after, before=filters.before)
    return each


def _require_length(text: str) -> None:
    if not text:
        raise UsageError('There is no question. Ask one, for example: jackdaw ask "When is the dentist?"')
    if len(text) > MOST_CHARACTERS:
        raise UsageError(
            f"The question has {len(text):,} characters; at most {MOST_CHARACTERS:,} are allowed. "
            "Put long text into a file, read the file with `jackdaw add`, and ask about it."
        )


def _split(question: str) -> tuple[str, dict[str, list[str]]]:
    """Return the text of a question, and the values of each of its filters.

    An invalid day after a space counts as text: "What is on: Monday?"
    """
    by_name: dict[str, list[str]] = {}

    def taken(match: re.Match[str]) -> str:
        name, joint, *quoted, bare = match.groups()
        value = next((text for text in quoted if text is not None), "") if bare is None else bare.rstrip(_CLOSING)
        parted = joint != joint.strip()
        if not value.strip() or (parted and name.lower() in _DAYS and not _DAY.fullmatch(value)):
            return match[0]
        by_name.setdefault(name.lower(), []).append(value)
        return " "

    text = " ".join(_FILTER.sub(taken, question).split())
    return text, by_name


def span(name: str, value: str) -> tuple[date, date]:
    """Return the first and last day of `value`, a day, month or year. Raises UsageError if it is none."""
    if match := _DAY.fullmatch(value):
        year, month, day = int(match[1]), int(match[2] or 0), int(match[3] or 0)
        with suppress(ValueError):  # 2026-02-30
            last_month = month or 12
            last_day = day or calendar.monthrange(year, last_month)[1]
            return date(year, month or 1, day or 1), date(year, last_month, last_day)
    raise UsageError(f"{name}:{value} is not a date. Write a day, month or year: {name}:2026-03-14, {name}:2026-03.")
