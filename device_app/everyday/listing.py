"""Answers questions for documents by kind, people, title and date: lists, counts, the latest one, one by its title."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english import listing
from device_app.english.listing import Reading
from device_app.english.listing_phrases import MONTH_OR_NAME
from device_app.everyday.kinds import counted_kind
from device_app.everyday.rule import Asked, Item, Ruled
from device_app.everyday.selecting import ROLES, Selection, Selector
from device_app.everyday.showing import MOST_LISTED, heading, item, lines, quote, text_of
from shared.printable import safe_line
from shared.types import SearchFilters
from storage.documents import StoredDocument

if TYPE_CHECKING:
    from device_app.knowledge.known_people import KnownPeople
    from storage.knowledge import KnowledgeStore

_MOST_LOOKED_AT: Final = 1000
"""The most documents whose files are checked for changes before an answer lists or counts them."""

_MOST_SENDERS, _MOST_TIES, _MOST_TITLES = 5, 50, 8
"""The most senders in a list; the most if all of them sent equally many; the most mails with one title whose oldest is
shown in full above the list.
"""

_NOBODY: Final = (
    "I cannot tell which mails you sent, as who you are is not known yet. Say so with `jackdaw me set NAME`; addresses "
    "are names, too."
)
_REPLY = re.compile(r"^(?:(?:re|fwd?|aw|wg)\s*(?:\[\d+\])?:\s*)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SenderItem(Item):
    """A person, and the number of documents that they sent."""

    TYPE: ClassVar[str] = "sender"
    person: str
    count: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Lists and counts mails, notes and chats, and finds the latest one, or one by its title."""

    store: KnowledgeStore
    people: KnownPeople
    stands_alone: ClassVar[bool] = True

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the list, the count, or the document that is asked for; None for a month that is also a person."""
        month = MONTH_OR_NAME.match(asked.text)
        if month and self.people.directory.meant(month["name"]):
            return None
        for reading in listing.readings(asked.text, asked.now.date()):
            if ruled := self._read(reading, asked):
                return ruled
        return None if asked.query.is_limited else self._by_held_title(asked)

    def _read(self, reading: Reading, asked: Asked) -> Ruled | None:
        """Return the answer to the question as `reading` interprets it; None if the question may mean other things."""
        is_limited = asked.query.is_limited
        if reading.form == "title":
            return None if is_limited else self._by_title(reading, asked)
        is_open = reading.form == "bare" and not (reading.period or is_limited or "mine" in reading.parts)
        selector = Selector(self.store, self.people)
        selection = None if is_open else selector.select(reading, asked)
        if selection is None:
            is_of_nobody = reading.parts.keys() & {"mine", *ROLES} == {"mine"} and self.people.directory.me is None
            return Ruled(_NOBODY, "mails · that you sent") if is_of_nobody else None
        if not selection.documents and self._may_be_named_otherwise(reading, selection, asked):
            return None
        if reading.form == "latest":
            if not selection.documents and (others := selector.select(reading, asked, of_any_day=True)):
                return others.noted(self._undated(others))
            return selection.noted(self._latest(selection, reading))
        shown_by = {"most": self._most, "whether": self._whether}.get(reading.form, self._list)
        files = self.store.files_of_documents([each.id for each in selection.documents[:_MOST_LOOKED_AT]])
        return selection.noted(replace(shown_by(selection), files=files))

    def _may_be_named_otherwise(self, reading: Reading, selection: Selection, asked: Asked) -> bool:
        """Return whether what was not found may be there in other words, or as documents of another kind.

        Others may have written of it in their own words, and "the Viridian Notes" may be mails.
        """
        if reading.form == "whether" and reading.parts.keys() >= {"unsaid", "topic"}:
            return True
        is_named = reading.parts.keys() & {"topic", "adjective"}
        return bool(is_named) and not asked.present(self.store.latest(SearchFilters(kinds=tuple(selection.kinds)), 1))

    def _most(self, selection: Selection) -> Ruled:
        """Return the answer that says who sent the most documents."""
        name = self.people.directory.name
        senders = Counter(name(each.people[0]) for each in selection.documents if each.people)
        ranked = sorted(senders.items(), key=lambda counted: (-counted[1], counted[0]))
        if not ranked:
            return self._list(selection)
        most = ranked[0][1]
        ties = [safe_line(sender) for sender, count in ranked if count == most]
        first = f"{', '.join(ties[:-1])} and {ties[-1]}" if 1 < len(ties) <= _MOST_SENDERS else ties[0]
        first = f"{len(ties):,} senders" if len(ties) > _MOST_SENDERS else first
        each = "each " if len(ties) > 1 else ""
        head = f"{first}: {each}{' '.join((counted_kind('mail', most), *selection.limits))}."
        counts = ranked[: min(max(len(ties), _MOST_SENDERS), _MOST_TIES)]
        listed = [f"- {safe_line(sender)}: {counted_kind('mail', count)}" for sender, count in counts]
        listed += [f"- … and {len(ties) - len(counts):,} more"] if len(ties) > len(counts) else []
        text = "\n".join((head, "", *listed)) if len(counts) > 1 else head
        return Ruled(text, f"who sent most · {selection.understood}", [SenderItem(*each) for each in counts])

    def _whether(self, selection: Selection) -> Ruled:
        listed = self._list(selection, "Yes: ")
        if selection.documents:
            return listed
        return Ruled(f"No: your files hold 0 {' '.join((selection.noun, *selection.limits))}.", listed.understood)

    def _list(self, selection: Selection, before: str = "") -> Ruled:
        documents = selection.documents
        senders = "mail" in selection.kinds and len({each.people[:1] for each in documents}) > 1
        head = before + (selection.counted(len(documents)) if documents else self._none(selection))
        text = "\n".join((f"{head}:", "", *lines(documents, senders=senders))) if documents else f"{head}."
        if selection.unknown:
            text += f" Nobody in your {selection.noun} is called “{selection.unknown}”."
        sources = self.store.passages_of_documents([each.id for each in documents[:MOST_LISTED]], 1)
        return Ruled(text, selection.understood, [item(each) for each in documents], sources)

    def _none(self, selection: Selection) -> str:
        return f"I found no {' '.join((selection.noun, *selection.limits))} in your files"

    def _latest(self, selection: Selection, reading: Reading) -> Ruled:
        is_first = reading.parts["order"] == "first"
        dated = [each for each in selection.documents if each.date] or selection.documents
        if not dated:
            return self._list(selection)
        return self._single(dated[0], f"{'first' if is_first else 'latest'} of {selection.understood}")

    def _undated(self, selection: Selection) -> Ruled:
        """List all documents, as the latest is asked for, but none is dated today or earlier."""
        if not selection.documents:
            return self._list(selection)
        return self._list(selection, "I cannot tell which is the latest, as none is dated today or earlier: ")

    def _by_title(self, reading: Reading, asked: Asked) -> Ruled | None:
        """Return the mail with the title in the question; if several have it, a list."""
        title = _title(reading.parts["title"])
        if not title:
            return None
        longest = max(title.split(), key=len)
        mails = asked.present(self.store.latest(SearchFilters(kinds=("mail",), titles=(longest,))))
        same = [each for each in mails if _title(each.title) == title] or [
            each for each in mails if f" {title} " in f" {_title(each.title)} "
        ]
        limits = (f"with the subject “{reading.parts['title']}”",)
        if not same:
            return self._list(Selection(("mail",), (), limits)) if reading.parts["by"] != "implicit" else None
        return self._titled(same, limits, is_list=len(same) > _MOST_TITLES and reading.parts["by"] != "author")

    def _by_held_title(self, asked: Asked) -> Ruled | None:
        """Return the mail whose whole title is in the question, if the question's other words only ask for a mail."""
        text = asked.text
        others = listing.other_words(text) if listing.speaks_of_mail(text) else []
        if not others:
            return None
        said = f" {_title(text)} "
        mails = asked.present(self.store.latest(SearchFilters(kinds=("mail",), titles=(max(others, key=len),))))
        same = [
            each
            for each in mails
            if f" {_title(each.title)} " in said and set(others) <= set(_title(each.title).split())
        ]
        return self._titled(same, (f"with the subject “{same[0].title}”",)) if same else None

    def _titled(self, same: Sequence[StoredDocument], limits: tuple[str, ...], *, is_list: bool = False) -> Ruled:
        """Return the oldest of several mails with one title in full, and the others as a list."""
        if is_list:
            return self._list(Selection(("mail",), same, limits))
        whole = self._single(same[-1], f"mail · {limits[0]}")
        if len(same) == 1:
            return whole
        others = "\n".join(
            ("", "", f"{counted_kind('mail', len(same))} with this subject:", "", *lines(same, senders=True))
        )
        sources = self.store.passages_of_documents([each.id for each in same[:MOST_LISTED]], 1)
        text = whole.text.replace("[1]", f"[{min(len(same), MOST_LISTED)}]", 1)
        return Ruled(text + others, whole.understood, [item(each) for each in same], sources)

    def _single(self, document: StoredDocument, understood: str) -> Ruled:
        """Return the answer that shows one document with its text."""
        passages = self.store.passages_of_documents([document.id])
        text = f"{heading(document)} [1]\n\n{quote(text_of(passages))}"
        return Ruled(text, understood, [item(document)], passages[:1])


def _title(text: str) -> str:
    return " ".join(re.findall(r"\w+", _REPLY.sub("", text.strip()).lower()))
