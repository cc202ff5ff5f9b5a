"""Parses the text typed into the search: words, phrases in quotation marks, and filters. Never raises."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from device_app.english import dates, query
from device_app.english.dates import Span
from device_app.english.terms import plain, terms
from shared.errors import UsageError
from shared.types import SearchFilters

MOST_CHARACTERS = 1_000
"""The number of characters of a search that are parsed; further characters are ignored."""

_MOST_PHRASES = 8

_MOST_WORDS = 4
"""The most words of a date in a filter: "14 of March 2026"."""


@dataclass(frozen=True, slots=True)
class FilterHelp:
    """A filter as the help shows it: its name, an example, its effect, and its other names."""

    name: str
    example: str
    does: str
    aliases: tuple[str, ...] = ()


FILTERS = (
    FilterHelp("who", "who:petra", "with this person, whoever wrote it", ("with", "person")),
    FilterHelp("from", "from:petra", "from this person"),
    FilterHelp("to", "to:anna", "to this person", ("cc",)),
    FilterHelp("after", "after:2026-03", "from this day, month or year on", ("since",)),
    FilterHelp("before", "before:2026-03-14", "up to this day, month or year", ("until",)),
    FilterHelp("on", "on:yesterday", "of this day, month or year"),
    FilterHelp("kind", "kind:mail", "of this kind: mail, note, chat, event, page …", ("type",)),
    FilterHelp("in", "in:taxes", "in a folder or file with this name", ("folder", "path", "file")),
    FilterHelp("title", "title:invoice", "with this in the title or subject", ("subject",)),
)
"""All filters, in the order in which the help lists them."""

DAYS = ("after", "before", "on")

_NAMES = {name: each.name for each in FILTERS for name in (each.name, *each.aliases)}

_PART = re.compile(
    rf"""(?<![^\s(\[{{,;])[(\[{{]?(?P<name>{"|".join(_NAMES)})(?P<joint>\s*[:：]\s*)
        (?:"(?P<quoted>[^"]*)"?|“(?P<curly>[^”]*)”?|(?P<bare>[^\s"“]\S*))
      | "[^"]*"? | “[^”]*”?""",
    re.IGNORECASE | re.VERBOSE,
)
_PHRASE = re.compile('"([^"]*)"?|“([^”]*)”?')
_UNFINISHED = re.compile(rf"(?:^|\s)(?:{'|'.join(_NAMES)})\s?[:：]\s*$", re.IGNORECASE)
_TYPED = re.compile(r'(?:^|\s)(?P<name>\w*)(?P<colon>[:：]?)(?P<value>"[^"]*|[^\s"]*)$')
_CLOSING = ")]},;?!."


@dataclass(frozen=True, slots=True)
class Search:
    """A parsed search.

    `words` are in lower case and without accents, `phrases` must occur exactly; `text` is the typed text without the
    filters. `notes` name the parts of the text that were left out, `wrong_days` those that are filters by a day without
    a day.
    """

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    filters: SearchFilters = field(default_factory=SearchFilters)
    notes: tuple[str, ...] = ()
    text: str = ""
    wrong_days: tuple[str, ...] = ()

    @property
    def has_words(self) -> bool:
        """Whether there is text to search for, not only filters."""
        return bool(self.words or self.phrases)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search for: no text and no filter."""
        return not self.has_words and self.filters == SearchFilters()

    @property
    def is_about_files(self) -> bool:
        """Whether the search has a filter that conversations cannot match, only documents."""
        return SearchFilters(after=self.filters.after, before=self.filters.before) != self.filters


_LIKE_DAY = re.compile(r"\d{4}(?:-\d{1,2}){0,2}")
"""Matches what is meant as a day, also if there is no such day."""


def parse(text: str, today: date) -> Search:
    """Split a search into words, phrases and filters. Parts that cannot be parsed are left out, with a note."""
    notes = [] if len(text) <= MOST_CHARACTERS else [f"only the first {MOST_CHARACTERS:,} characters were searched for"]
    values: dict[str, list[str]] = {}
    phrases: list[str] = []

    def taken(match: re.Match[str]) -> str:
        if not match["name"]:
            return match[0]
        given = (match["quoted"], match["curly"], match["bare"] and match["bare"].rstrip(_CLOSING))
        value = next((part for part in given if part), "").strip()
        name = _NAMES[match["name"].lower()]
        parted = match["joint"] != match["joint"].strip()
        if value and parted and name in DAYS and not _LIKE_DAY.fullmatch(value):
            return match[0]  # "What is on: Monday's list"
        if value:
            values.setdefault(name, []).append(value)
        return " "

    def phrase(match: re.Match[str]) -> str:
        each = " ".join((match[1] or match[2] or "").split())
        if terms(each):
            phrases.append(each)
        return " "

    without_filters = _UNFINISHED.sub(" ", _PART.sub(taken, text[:MOST_CHARACTERS]))
    words = terms(_PHRASE.sub(phrase, without_filters))
    filters, wrong = _filters(values, today)
    ignored = [f"{each} is not a date and was left out; write {_day_forms(each)}" for each in wrong]
    said = " ".join(re.sub('["“”]', " ", without_filters).split())
    return Search(tuple(words), tuple(phrases[:_MOST_PHRASES]), filters, (*notes, *ignored), said, tuple(wrong))


def require_days(search: Search) -> None:
    """Raise UsageError if a filter by a day has something else for a day, as in "before:2026-13-45"."""
    if search.wrong_days:
        wrong = search.wrong_days[0]
        raise UsageError(f"{wrong} is not a date. Write a day, month or year: {_day_forms(wrong)}.")


def ends_in_word(text: str) -> bool:
    """Return whether the text ends within a word, which the user may still be typing."""
    return bool(text) and text[-1].isalnum() and text.count('"') % 2 == 0 and not _is_filter(text)


def completions(text: str, values: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the text with its last part completed to a filter, the most likely completion first.

    `values` holds the known values of each filter, the most frequent first.
    """
    match = _TYPED.search(text)
    if match is None:
        return []
    head, name = text[: match.start("name")], match["name"].lower()
    if not match["colon"]:
        return [f"{head}{each.name}:" for each in FILTERS if name and each.name.startswith(name)]
    if name not in _NAMES:
        return []
    typed = plain(match["value"].lstrip('"'))
    known = [value for value in values.get(_NAMES[name], ()) if _begins(plain(value), typed)]
    return [f"{head}{match['name']}:{written(value)}" for value in known]


def written(value: str) -> str:
    """Return a filter's value as a user types it, in quotation marks if necessary."""
    clean = " ".join(value.replace('"', " ").split())
    return clean if re.fullmatch(r"[\w@./~+-]*[\w@/~+-]", clean) else f'"{clean}"'


def _begins(value: str, typed: str) -> bool:
    return value != typed and any(part.startswith(typed) for part in (value, *value.split()))


def _is_filter(text: str) -> bool:
    match = _TYPED.search(text)
    return match is not None and bool(match["colon"]) and match["name"].lower() in _NAMES


def _filters(values: dict[str, list[str]], today: date) -> tuple[SearchFilters, list[str]]:
    wrong: list[str] = []
    spans: dict[str, list[Span]] = {}
    for name in DAYS:
        for value in values.get(name, ()):
            if span := _span(value, today):
                spans.setdefault(name, []).append(span)
            else:
                wrong.append(f"{name}:{value}")
    return (
        SearchFilters(
            people=_all(values, "who"),
            places=_all(values, "in"),
            kinds=_all(values, "kind"),
            after=max((first for name in ("after", "on") for first, _ in spans.get(name, ())), default=None),
            before=min((last for name in ("before", "on") for _, last in spans.get(name, ())), default=None),
            senders=_all(values, "from"),
            recipients=_all(values, "to"),
            titles=_all(values, "title"),
        ),
        wrong,
    )


def _day_forms(wrong: str) -> str:
    """Return the forms in which the filter of a wrong one takes a day."""
    name = wrong.partition(":")[0]
    return f"{name}:2026-03-14, {name}:2026-03, {name}:2026 or {name}:yesterday"


def _all(values: dict[str, list[str]], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_clean(values.get(name, ()))))


def _clean(values: Iterable[str]) -> Iterable[str]:
    return (value.replace("\0", "") for value in values if value.replace("\0", "").strip())


def _span(value: str, today: date) -> Span | None:
    named = dates.named(value, today) if len(value.split()) <= _MOST_WORDS else []
    return _written_in_digits(value) or (named[0] if named else None)


def _written_in_digits(value: str) -> Span | None:
    try:
        return query.span("on", value)
    except UsageError:
        return None
