"""Finds what written minutes list as decisions, actions and open questions, by their headings and labels. Pure.

A heading is a line of its own ("## Decisions", "Action items:"); a label begins a line ("Decision: we repair it").
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from device_app.english.outcomes import OUTCOMES, Outcome

_NAMES: Final[dict[Outcome, str]] = {
    "decision": (
        r"(?:(?:key|main|our|the) )?decisions?(?: (?:taken|made|reached))?|agreements?|resolutions?|resolved"
        r"|(?:what )?(?:we |was |were )?(?:decided|agreed)(?: (?:on|upon))?"
    ),
    "action": (
        r"(?:agreed |open |our |the )?actions?(?: (?:items?|points?|list))?|to[- ]?dos?(?: list)?|tasks?|next steps?"
        r"|follow[- ]?ups?|who does what"
    ),
    "question": (
        r"(?:still )?open(?: (?:questions?|points?|issues?|items?))?|still (?:open|to decide|to be decided)"
        r"|(?:unresolved|unanswered|undecided|outstanding)(?: (?:questions?|points?|issues?|items?))?"
        r"|to be (?:decided|clarified|discussed)|parking lot"
    ),
}
_OTHERS: Final = re.compile(
    r"(?:the )?(?:agenda|attendees|attending|attended|participants|present|apologies|absent|excused|chair(?:person)?"
    r"|discuss(?:ion|ed)s?|notes?|background|context|summary|overview|(?:the )?next (?:meeting|call|date|time|session)"
    r"|dates?|time|place|location|any other business|aob|risks?|minutes|topics?|updates?|status|introduction|welcome"
    r"|closing|report|appendix|links|references|budget|information|miscellaneous|other|wins|blockers)"
    r"(?P<field>:.*| notes?| of .{1,40})?",
    re.IGNORECASE,
)
"""Matches a line that begins another section of minutes, or that gives the day, the place or the people."""

_ABOUT: Final = re.compile(
    r"\b(?:meeting|minutes|stand-?up|workshop|retro(?:spective)?|board|assembly)\b|^\W*(?:attendees|attending|participants"
    r"|present|apologies|agenda)\b",
    re.IGNORECASE | re.MULTILINE,
)
_LEVEL: Final = re.compile(r"\s*(#{1,6})\s+")
_NUMBER: Final = re.compile(r"(?:\d{1,2}[.)]|[IVX]{1,4}\.)\s+")
_ITEM: Final = re.compile(r"\s*(?:[-*+•–]\s+|\d{1,3}[.)]\s+)(?=\S)")
_BOLD: Final = re.compile(r"(?:\*\*|__)(.+?)(:?)(?:\*\*|__)(:?)")
_RULE: Final = re.compile(r"[\s|:=_*+-]*")
_HEADINGS: Final = {kind: re.compile(rf"(?:{_NAMES[kind]})", re.IGNORECASE) for kind in OUTCOMES}
_LABELS: Final = {
    kind: re.compile(rf"(?:{_NAMES[kind]})(?: ?\d{{1,2}})?: +(?P<text>\S.*)", re.IGNORECASE) for kind in OUTCOMES
}
_MOST_WORDS: Final = 6
"""The most words of a line that counts as a heading by its colon or its capitals alone."""

_LEAST_CAPITALS: Final = 4
_MOST_CHARACTERS: Final = 100
"""The most characters of a heading."""


class Listed(NamedTuple):
    """A line that minutes list as an outcome: its place among the lines, and its text without the mark of an item."""

    outcome: Outcome
    place: int
    text: str


def heading(line: str) -> Outcome | None:
    """Return the outcome that the line announces as a heading; None for any other line."""
    line = line.strip()
    is_item = _ITEM.match(line) and not _NUMBER.match(line) and not line.endswith(":")
    if is_item or len(line) > _MOST_CHARACTERS:
        return None
    name = _name(line)
    return next((kind for kind in OUTCOMES if _HEADINGS[kind].fullmatch(name)), None)


def listed(lines: Sequence[str]) -> list[Listed]:
    """Return the lines under headings and behind labels of outcomes, in order; none if the lines are no minutes.

    One kind of heading alone, such as "To do", makes minutes only of a text that speaks of a meeting or of attendees.
    """
    stated: list[Listed] = []
    for each in _listed(lines):
        if each.text:
            stated.append(each)
        else:  # the line goes on with the item before it
            item = stated.pop()
            stated.append(item._replace(text=f"{item.text} {lines[each.place].strip()}"))
    if len({each.outcome for each in stated}) > 1 or _ABOUT.search("\n".join(lines)):
        return stated
    return []


def _listed(lines: Sequence[str]) -> Iterator[Listed]:
    """Yield the lines of outcomes; the text of a line that goes on with the item before it is empty."""
    under: Outcome | None = None
    level, is_list, is_first = 0, False, True
    for place, line in enumerate(lines):
        if announced := heading(line):
            under, level, is_list, is_first = announced, _level(line), False, True
        elif labelled := _labelled(line):
            yield Listed(labelled[0], place, labelled[1])
            under = None
        elif under is None or not re.search(r"\w", line) or _RULE.fullmatch(line):
            continue
        elif _ends(line, level) or (is_list and not _ITEM.match(line) and line.lstrip()[:1].isupper()):
            under = None
        elif not _level(line) and not (is_first and _is_table_head(lines, place)):
            goes_on = is_list and not _ITEM.match(line)
            is_list = is_list or bool(_ITEM.match(line))
            yield Listed(under, place, "" if goes_on else _without(_ITEM, line).strip())
        is_first = is_first and bool(announced)


def _labelled(line: str) -> tuple[Outcome, str] | None:
    plain = _BOLD.sub(r"\1\2\3", _without(_ITEM, line)).strip()
    matches = ((kind, _LABELS[kind].fullmatch(plain)) for kind in OUTCOMES)
    return next(((kind, match["text"]) for kind, match in matches if match), None)


def _ends(line: str, level: int) -> bool:
    """Return whether the line begins another section than that of a heading of this level, 0 if it has no "#"."""
    if own := _level(line):
        return not level or own <= level
    if _ITEM.match(line):
        return False
    text = line.strip()
    if _OTHERS.fullmatch(_name(line)) or _OTHERS.fullmatch(text):
        return True
    is_short = len(text.split()) <= _MOST_WORDS
    is_capital = text.isupper() and sum(map(str.isalpha, text)) >= _LEAST_CAPITALS
    return is_short and (text.endswith(":") or is_capital or bool(_BOLD.fullmatch(text)))


def _is_table_head(lines: Sequence[str], place: int) -> bool:
    return all("|" in line for line in lines[place : place + 2]) and place + 1 < len(lines)


def _level(line: str) -> int:
    mark = _LEVEL.match(line)
    return len(mark[1]) if mark else 0


def _name(line: str) -> str:
    """Return the words of a heading, without its marks, its number and its colon."""
    text = _without(_LEVEL, line if _LEVEL.match(line) else _without(_ITEM, line))
    return _without(_NUMBER, _BOLD.sub(r"\1", text.strip())).strip(" #:*_")


def _without(mark: re.Pattern[str], line: str) -> str:
    """Return a line without the mark that it begins with, if it does."""
    match = mark.match(line)
    return line[match.end() :] if match else line
