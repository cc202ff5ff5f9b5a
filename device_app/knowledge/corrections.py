"""Finds corrections: newer passages that move, cancel or replace what older passages say.

The rule uses the passages retrieved for a question, their dates and their people. It is conservative: all words that
name the subject must be in the newer passage, and the earlier state must be known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from device_app.english import changes, dates
from device_app.english.changes import Aspect, Change
from device_app.english.query import Query
from device_app.english.terms import plain, searched, stands_in
from device_app.english.units import SPEAKER, Unit, units
from shared.types import Hit, StoredPassage

_CURRENT: Final = timedelta(days=60)
"""How long a postponement that names no day counts as current, from the day on which it was written."""

_MOST_TERMS: Final = 6
_FAR: Final = 8
"""How many sentences before a proposal of another time are searched for the one that it replaces."""

_FIGURE: Final = re.compile(r"\d+(?:[.,]\d+)*")
_WAS: Final = ("was", "were", "did", "had")


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction: the sentence `change` in the passage `newer` changes what the sentence `before` in `older` says.

    `older` is None if `change` itself says what held before.
    """

    newer: Hit
    change: str
    older: Hit | None = None
    before: str = ""


@dataclass(frozen=True, slots=True)
class Corrected:
    """A sentence of a passage that corrects a figure in an older one."""

    sentence: str
    passage: StoredPassage


@dataclass(frozen=True, slots=True)
class _Changing:
    """A sentence that announces a change. `sentence` includes the reply that accepts it, if it was a proposal."""

    hit: Hit
    sentence: str
    unit: Unit
    change: Change
    earlier: str = ""
    """The sentence of the same passage that a proposal of another time replaces."""

    def says_all(self, subject: Sequence[str]) -> bool:
        """Return whether the sentence itself says what held before, or names both the subject and its new state."""
        if self.change.is_counter or self.change.kind == "corrected":
            return False
        is_new = self.change.kind == "replaced" or self.change.is_proposal
        return self.change.has_old or (is_new and _has_half(plain(self.unit.text), subject))


def correction(asked: Query, hits: Sequence[Hit], today: date) -> Correction | None:
    """Return the newest change of the question's subject; None if nothing about the subject changed, or if unsure."""
    aspect = changes.aspect(asked.text)
    subject = changes.subject(asked.text)
    if aspect is None or asked.is_limited or not 1 <= len(subject) <= _MOST_TERMS:
        return None
    about = [hit for hit in hits if _is_dated(hit) and _is_about(hit.passage, subject)]
    changing = [each for hit in about for each in _changes(hit, aspect, subject) if _is_current(each, asked, today)]
    if not changing:
        return None
    last_of_each = {each.hit.passage.id: each for each in changing}  # the later of two in one passage counts
    newest = max(last_of_each.values(), key=lambda each: each.hit.passage.date or "")
    older = (newest.hit, newest.earlier) if newest.earlier else next(_before(newest, about, aspect, subject), None)
    if older is None and not newest.says_all(subject):
        return None
    return Correction(newest.hit, newest.sentence, *(older or ()))


def of_figures(quotes: Sequence[tuple[str, StoredPassage]], later: Sequence[StoredPassage]) -> list[Corrected]:
    """Return the later sentences that correct a figure in a quoted line, the newest first, each once.

    `quotes` are lines with their passages, `later` passages that may correct them. A correction names what it corrects
    by words of the line. It has another figure than the line and, if it says which one was wrong, that of the line.
    """
    every: dict[str, Corrected] = {}
    for passage in sorted(later, key=lambda passage: passage.date or "", reverse=True):
        for sentence in _sentences(passage):
            change = changes.change(sentence)
            if change is None or change.kind != "corrected" or not (words := changes.corrected_words(sentence)):
                continue
            for line, source in quotes:
                is_later = (passage.date or "") > (source.date or "") and _share_people(source, passage)
                names_it = all(stands_in(word, [plain(line)]) for word in words)
                figures = _figures(sentence)
                is_other = bool(figures - _figures(line)) and (not change.has_old or bool(figures & _figures(line)))
                if is_later and names_it and is_other and _figures(line):
                    every.setdefault(sentence, Corrected(sentence, passage))
    return list(every.values())


def _sentences(passage: StoredPassage) -> Iterator[str]:
    """Yield the sentences of a passage; one that says only that something was wrong with the one behind it."""
    every = [unit.text for unit in units(passage) if not unit.is_row]
    for place, sentence in enumerate(every):
        behind = every[place + 1] if place + 1 < len(every) else ""
        yield f"{sentence} {behind}" if changes.says_wrong(sentence) and not _figures(sentence) else sentence


def _figures(text: str) -> set[str]:
    return {figure.replace(",", "") for figure in _FIGURE.findall(text)}


def _changes(hit: Hit, aspect: Aspect, subject: list[str]) -> Iterator[_Changing]:
    every, agreed = list(units(hit.passage)), list[str]()
    for place, unit in enumerate(every):
        sentence = unit.text
        if changes.says_wrong(sentence) and not _figures(sentence) and place + 1 < len(every):
            sentence = f"{sentence} {every[place + 1].text}"
        change = None if unit.is_row else changes.change(sentence)
        if change is None or not change.answers(aspect, subject) or not _is_near(unit, subject):
            continue
        if change.kind == "corrected" and not _has_half(plain(sentence), subject):
            continue  # minutes correct one figure after the other
        if change.is_proposal:
            reply = _reply(every, place)
            if not changes.is_accepted(reply):
                continue
            sentence = f"{sentence} {reply}"
        earlier = ""
        if change.is_counter and (earlier := _proposed_before(every, place, hit, subject, agreed)):
            agreed.append(sentence)
        yield _Changing(hit, sentence, unit, change, earlier)


def _proposed_before(every: Sequence[Unit], place: int, hit: Hit, subject: Sequence[str], agreed: Sequence[str]) -> str:
    """Return the last sentence before the proposal at `place` that names the subject and a day or a time.

    Return "" if none does, if the proposal names something else, or if a reply in between, other than to one of the
    proposals in `agreed`, accepts what came before. The names of who takes part are no subject: each line of a chat
    begins with one.
    """
    people = plain(" ".join(hit.passage.people))
    words = [word for word in subject if word not in people]
    if changes.names_another(_said(every[place]), f"{people} {' '.join(subject)}"):
        return ""
    for unit in reversed(every[max(0, place - _FAR) : place]):
        said = plain(_said(unit))
        if "?" not in said and changes.is_accepted(said) and not any(unit.text in each for each in agreed):
            return ""
        if words and not unit.is_row and changes.says_when(said) and _has_half(said, words):
            return unit.text
    return ""


def _said(unit: Unit) -> str:
    speaker = SPEAKER.match(unit.text)
    return unit.text[speaker.end() :] if speaker else unit.text


def _reply(every: Sequence[Unit], place: int) -> str:
    """Return the first two sentences of the next other speaker than that at `place`; "" if no other speaks."""
    lines = [(at, match[1]) for at, unit in enumerate(every) if (match := SPEAKER.match(unit.text))]
    own = next((name for at, name in reversed(lines) if at <= place), None)
    begin = next((at for at, name in lines if at > place and name != own), len(every))
    end = next((at for at, _ in lines if at > begin), len(every))
    return " ".join(unit.text for unit in every[begin : min(end, begin + 2)])


def _before(newest: _Changing, about: Sequence[Hit], aspect: Aspect, subject: list[str]) -> Iterator[tuple[Hit, str]]:
    """Yield sentences about the subject from passages older than the change, in the passages' order of rank."""
    newer = newest.hit.passage
    for hit in about:
        if (hit.passage.date or "") >= (newer.date or "") or not _share_people(hit.passage, newer):
            continue
        for unit in units(hit.passage):
            if aspect == "time" and not changes.says_when(unit.text):
                continue
            if newest.change.kind == "corrected" and not _may_correct(newest.sentence, unit, subject, hit.passage):
                continue
            names_it = any(stands_in(word, [plain(unit.text)]) for word in subject) and _is_near(unit, subject)
            if names_it and changes.change(unit.text) is None and unit.text not in newest.sentence:
                yield hit, unit.text
                break


def _may_correct(correction: str, unit: Unit, subject: Sequence[str], passage: StoredPassage) -> bool:
    """Return whether a unit has a figure, and a correction names nothing but the subject and words of its passage."""
    words = [word for word in changes.corrected_words(correction) if word not in subject]
    return bool(_figures(unit.text)) and all(stands_in(word, [searched(passage)]) for word in words)


def _is_current(changing: _Changing, asked: Query, today: date) -> bool:
    """Return whether the change is of the days that the question names or, if it names none, of days not yet over."""
    passage = changing.hit.passage
    written = date.fromisoformat((passage.date or "")[:10])
    if written > today:
        return False
    if changing.change.kind == "corrected" and not asked.days:
        return True  # a figure is not over
    spans = dates.named(changing.unit.text, written) or [(written, written)]
    if asked.days:
        return any(
            first <= last_asked and first_asked <= last
            for first, last in spans
            for first_asked, last_asked in asked.days
        )
    if any(word in plain(asked.text).split() for word in _WAS):
        return True
    return max(last for _, last in spans) >= today or (today - written <= _CURRENT and spans == [(written, written)])


def _is_dated(hit: Hit) -> bool:
    """Return whether the passage's date is the day on which it was written; events and tasks carry another date."""
    return hit.side == "device" and bool(hit.passage.date) and hit.passage.kind not in ("event", "task")


def _is_about(passage: StoredPassage, subject: Sequence[str]) -> bool:
    """Return whether the passage has every word of the subject, in its text or at the beginning of a person's name."""
    text, people = searched(passage), plain(" ".join(passage.people))
    return all(stands_in(word, [text]) or (len(word) > 3 and word in people) for word in subject)


def _is_near(unit: Unit, subject: Sequence[str]) -> bool:
    """Return whether the sentence, together with its context, has at least half of the subject's words."""
    return _has_half(plain(f"{unit.text} {unit.around}"), subject)


def _has_half(text: str, subject: Sequence[str]) -> bool:
    return 2 * sum(stands_in(word, [text]) for word in subject) >= len(subject)


def _share_people(older: StoredPassage, newer: StoredPassage) -> bool:
    """Return whether the two passages have a person in common, or one of them has no people."""
    return not older.people or not newer.people or bool(set(older.people) & set(newer.people))
