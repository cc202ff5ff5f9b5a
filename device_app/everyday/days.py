"""Answers what was done, said or written on a day, by quoting the documents dated that day with their sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english import days, speech
from device_app.english.days import OfDays
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.showing import heading, item, moment, names_of, noted, quote
from device_app.knowledge.directory import several
from shared.types import SearchFilters, StoredPassage
from storage.documents import StoredDocument

if TYPE_CHECKING:
    from device_app.knowledge.known_people import KnownPeople
    from storage.knowledge import KnowledgeStore

_WAS: Final = re.compile(
    r"(?i)\b(?:was|were|did|had|happened|went|been|done|have i|has|said|wrote|yesterday|last|ago)\b"
)
"""Matches words that ask about the past."""

_DONE: Final = ("note", "event", "chat", "mail")
_MOST_DOCUMENTS: Final = 8
_DAYS_LATER: Final = 3
"""For how many days after a day notes that mention the day are searched."""

_MOST_CHARACTERS, _MOST_LINES = 480, 8


@dataclass(frozen=True, slots=True)
class Days:
    """Quotes the notes, events, chats and mails of one day or a few days."""

    store: KnowledgeStore
    people: KnownPeople
    stands_alone: ClassVar[bool] = True

    def answer(self, asked: Asked) -> Ruled | None:
        """Return quotes from the documents of the days in the question; only of the people that it names, if any."""
        reading = days.read(asked.text, asked.now.date())
        if reading is None or reading.period.first is None or reading.period.first > asked.now.date():
            return None  # what is to come is the agenda's
        given = asked.query.filters
        limited = replace(self.people.widened(given), kinds=given.kinds or _DONE)
        filters = limited.within(reading.period.first, reading.period.last or reading.period.first)
        dated = sorted(asked.present(self.store.latest(filters, oldest=True)), key=lambda each: _DONE.index(each.kind))
        has_notes = any(each.kind == "note" for each in dated)
        limits = [reading.period.words]
        speakers: list[str] = []
        note = ""
        if name := reading.speaker or reading.to:
            people = self.people.directory
            meant = people.meant(name)
            if not meant:
                return None
            speakers, note = people.written_as(name, meant), several(name, meant)
            dated = [each for each in dated if set(speakers) & set(each.people)]
            limits.append(f"{'with' if reading.to else 'from'} {names_of(meant)}")
        elif reading.form == "said":
            spoken = [each for each in dated if each.people and each.kind != "event"]
            if dated and not spoken:
                return None  # notes of the day may say what was said
            dated = spoken
        ruled = self._quoted(reading, asked, dated, speakers if reading.speaker else [], limits)
        is_sure = ruled.items or (not has_notes and _WAS.search(asked.text))
        return noted(ruled, note) if is_sure else None  # notes of the day may say it, or the day may be one to come

    def _quoted(
        self,
        reading: OfDays,
        asked: Asked,
        dated: Sequence[StoredDocument],
        speakers: Sequence[str],
        limits: Sequence[str],
    ) -> Ruled:
        understood = " · ".join((f"what was {reading.form}", *limits))
        parts, sources, shown_documents = list[str](), list[StoredPassage](), list[StoredDocument]()
        for document in dated:
            if len(sources) == _MOST_DOCUMENTS:
                break
            passages = self.store.passages_of_documents([document.id])
            text = _extract(passages, speakers)
            if not text:
                continue
            sources.append(passages[0])
            shown_documents.append(document)
            parts.append(f"{heading(document)} [{len(sources)}]\n{quote(text, _MOST_CHARACTERS)}")
        more = len(dated) - len(shown_documents) if not speakers else 0
        if reading.form == "done" and reading.period.days == 1:
            for document, passage, said in self._later(reading.period.first, asked):
                sources.append(passage)
                shown_documents.append(document)
                parts.append(f"{heading(document)} [{len(sources)}]\n{quote(said, _MOST_CHARACTERS)}")
        if not parts:
            return Ruled(self._nothing(reading, limits, asked), understood)
        end = [f"… and {more} more of these days."] if more > 0 else []
        return Ruled("\n\n".join((*parts, *end)), understood, [item(each) for each in shown_documents], sources)

    def _later(self, day: date | None, asked: Asked) -> Iterator[tuple[StoredDocument, StoredPassage, str]]:
        """Yield the notes of the days after `day` that name `day`, with the paragraphs that name it."""
        if day is None:
            return
        after = SearchFilters(kinds=("note",), after=day + timedelta(1), before=day + timedelta(_DAYS_LATER))
        for document in asked.present(self.store.latest(after, oldest=True))[:_MOST_DOCUMENTS]:
            is_next = (document.date or "")[:10] == (day + timedelta(1)).isoformat()
            names = rf"{day:%A}|{day.day} {day:%B}" + ("|yesterday" if is_next else "")
            for passage in self.store.passages_of_documents([document.id]):
                lines = [
                    line for line in passage.text.splitlines() if re.search(rf"\b(?:{names})\b", line, re.IGNORECASE)
                ]
                if said := "\n".join(line for line in lines if line != document.title):
                    yield document, passage, said
                    break

    def _nothing(self, reading: OfDays, limits: Sequence[str], asked: Asked) -> str:
        """Return the sentence that no document is dated on the days in question, with the date of the next note."""
        text = f"I found nothing dated {', '.join(limits)} in your files."
        last = reading.period.last or reading.period.first
        after = SearchFilters(kinds=("note",), after=last + timedelta(1) if last else None)
        following = asked.present(self.store.latest(after, oldest=True))
        return text + (f" The next note is from {moment(following[0].date)}." if following else "")


def _extract(passages: Sequence[StoredPassage], speakers: Sequence[str]) -> str:
    """Return the beginning of a document; for a conversation its first lines, only those of `speakers` if given."""
    title = passages[0].title if passages else ""
    if speakers and passages and passages[0].kind != "mail":
        names = speech.speakers(speakers)
        said = (each for passage in passages for each in speech.spoken(passage))
        lines = [f"{speaker}: {words}" for speaker, words in said if speaker in names]
    else:
        lines = [line for passage in passages for line in passage.text.splitlines() if line.strip() and line != title]
    return "\n".join(lines[:_MOST_LINES])
