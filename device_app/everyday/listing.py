"""Answers questions for documents from their kind, people, title and date: lists, counts, the latest, one by title."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english import listing, loosely
from device_app.english.listing import Wanted
from device_app.english.periods import Period
from device_app.english.terms import terms
from device_app.english.words import content_words
from device_app.everyday.kinds import PLURALS, counted_kind
from device_app.everyday.people import People, shown
from device_app.everyday.rule import Asked, Item, Ruled
from device_app.everyday.showing import MOST_LISTED, heading, item, lines, quote, text_of
from shared.printable import safe_line
from shared.types import SearchFilters
from storage.documents import Documents, StoredDocument
from storage.keywords import quoted
from storage.search import DocumentFacts, FullText, all_of

if TYPE_CHECKING:
    from storage.knowledge import KnowledgeStore

_ROLES: Final = {
    "who": ("from", "senders"),
    "whose": ("from", "senders"),
    "to": ("to", "recipients"),
    "with": ("with", "people"),
}
"""What a name in a question is to a document, in words, and the filter that says so."""

_FILES: Final = (("pdf", ".pdf"), ("spreadsheet", ".xls"), ("word", ".doc"))
_NOUNS: Final = (
    (("note", "entry", "entries", "memo", "write-up"), ("note",)),
    (("chat", "conversation"), ("chat",)),
    (("message",), ("mail", "chat")),
    (("mail", "email", "e-mail", "emial", "post"), ("mail",)),
)
_GENERAL: Final = frozenset(
    ["meeting", "project", "personal", "own", "short", "long", "work", "little", "written", "private"]
)
"""Words before a kind that say little beside a topic."""

_MOST_SENDERS, _MOST_TITLES = 5, 8
"""The most documents whose titles hold the words of a title that is asked for."""

_REPLY = re.compile(r"^(?:(?:re|fwd?|aw|wg)\s*(?:\[\d+\])?:\s*)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SenderItem(Item):
    """How many documents a person sent."""

    TYPE: ClassVar[str] = "sender"
    person: str
    count: int


@dataclass(frozen=True, slots=True)
class Selection:
    """The documents that a question asks for: their kinds, and what limits them in words, for `understood`.

    `other` names documents of no kind; `unknown` is a name of nobody in documents of these kinds.
    """

    kinds: tuple[str, ...]
    documents: Sequence[StoredDocument]
    limits: tuple[str, ...] = ()
    other: str = "documents"
    unknown: str = ""

    @property
    def noun(self) -> str:
        """The kinds in words, in the plural."""
        return " and ".join(PLURALS.get(kind, f"{kind}s") for kind in self.kinds) or self.other

    @property
    def understood(self) -> str:
        """How the question was read."""
        return " · ".join((self.noun, *self.limits))

    def counted(self, count: int) -> str:
        """Return the number of documents in words, with what limits them."""
        one = self.noun.removesuffix("s") if count == 1 else self.noun
        noun = counted_kind(self.kinds[0], count) if len(self.kinds) == 1 else f"{count:,} {one}"
        return " ".join((noun, *self.limits))


@dataclass(frozen=True, slots=True)
class Listing:
    """Lists and counts mails, notes and chats, and finds the latest, or one by its title."""

    store: KnowledgeStore
    stands_alone: ClassVar[bool] = True

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the list, the count, or the document that is asked for."""
        today = asked.now.date()
        wanted = listing.read(asked.text, today)
        if wanted is None and not asked.query.is_limited and (titled := self._by_held_title(asked.text)):
            return titled
        for reading in filter(None, (wanted, loosely.read(asked.text, today))):
            if ruled := self._read(reading, asked):
                return ruled
        return None

    def _read(self, wanted: Wanted, asked: Asked) -> Ruled | None:
        """Return the answer to a question that was read so; None if that is unsure."""
        is_limited = asked.query.is_limited
        if wanted.form == "title":
            return None if is_limited else self._by_title(wanted)
        is_open = wanted.form == "bare" and not (wanted.period or is_limited)
        selection = None if is_open else self._selection(wanted, asked)
        if selection is None:
            return None
        if wanted.form == "latest":
            return self._latest(selection, wanted)
        shown_by = {"most": self._most, "whether": self._whether}.get(wanted.form, self._list)
        return shown_by(selection)

    @property
    def _documents(self) -> Documents:
        return Documents(self.store.database)

    # Selecting

    def _selection(self, wanted: Wanted, asked: Asked) -> Selection | None:
        """Return the documents that are asked for; None if that is unsure."""
        held = self._documents.kinds()
        kinds = _kinds(wanted)
        kinds = tuple(kind for kind in kinds if kind in held) or kinds[:1]
        people = People(self._documents, kinds or held)
        filters = _limited(SearchFilters(kinds=kinds), wanted, asked)
        limits: list[str] = []
        unknown = ""
        for name, (before, field) in _ROLES.items():
            if said := wanted.parts.get(name):
                meant = people.named(said)
                if not meant and (_is_vague(said) or name == "whose" or "kind" not in wanted.parts):
                    return None
                limits.append(f"{before} {_names_of(meant) or f'“{said}”'}")
                unknown = "" if meant else said
                some = tuple(meant) or ("\0",)
                filters = replace(filters, **{field: some})  # type: ignore[arg-type]
        documents = self._documents.latest(filters, oldest=wanted.parts.get("order") in ("first", "oldest", "earliest"))
        if (
            not _ROLES.keys() & wanted.parts.keys() - {"to"}
            and (wanted.form == "most" or {"me", "mine"} & wanted.parts.keys())
            and kinds == ("mail",)
        ):
            owner, is_mine = people.owner, "mine" in wanted.parts
            if not owner and is_mine:
                return None
            documents = [each for each in documents if (each.people[:1] and each.people[0] in owner) == is_mine]
            limits.append("that you sent" if is_mine else "that you received")
        if wanted.period:
            limits.append(_in_period(wanted.period))
        topics = [wanted.parts[name] for name in ("adjective", "topic") if name in wanted.parts]
        noun = wanted.parts.get("kind", "documents")
        return self._about(Selection(kinds, documents, tuple(limits), noun, unknown), topics)

    def _about(self, selection: Selection, topics: Sequence[str]) -> Selection | None:
        """Return the documents about these topics: those with their words in title or path, else in the text.

        Of "the last boathouse note on the roof", those about the roof count that also hold "boathouse", if any.
        """
        *adjectives, topic = topics or ("",)
        if not topic:
            return selection
        if not content_words(topic):
            return None
        documents = self._named(selection.documents, topic) or self._holding(selection.documents, topic)
        for adjective in [each for each in adjectives if each not in _GENERAL]:
            narrower = {each.id for find in (self._named, self._holding) for each in find(documents, adjective)}
            documents = [each for each in documents if each.id in narrower] or documents
        return replace(selection, documents=documents, limits=(*selection.limits, f"about “{' '.join(topics)}”"))

    def _named(self, documents: Sequence[StoredDocument], topic: str) -> list[StoredDocument]:
        words = set(content_words(topic))
        return [each for each in documents if words <= set(content_words(f"{each.title} {_file(each)}"))]

    def _holding(self, documents: Sequence[StoredDocument], topic: str) -> list[StoredDocument]:
        passages = FullText(self.store.database).matches(all_of([quoted(word) for word in terms(topic)]))
        held = {fact.document for fact in DocumentFacts(self.store.database).facts(passages.tolist())}
        return [each for each in documents if each.id in held]

    # Answers

    def _most(self, selection: Selection) -> Ruled:
        """Return who sent the most of the documents."""
        counts = Counter(shown(each.people[0]) for each in selection.documents if each.people).most_common(
            _MOST_SENDERS
        )
        if not counts:
            return self._list(selection)
        listed = (f"- {safe_line(name)}: {counted_kind('mail', count)}" for name, count in counts)
        first, most = counts[0]
        head = f"{safe_line(first)}: {' '.join((counted_kind('mail', most), *selection.limits))}."
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
        sources = self._documents.passages([each.id for each in documents[:MOST_LISTED]], 1)
        return Ruled(text, selection.understood, [item(each) for each in documents], sources)

    def _none(self, selection: Selection) -> str:
        return f"I found no {' '.join((selection.noun, *selection.limits))} in your files"

    def _latest(self, selection: Selection, wanted: Wanted) -> Ruled | None:
        order = wanted.parts["order"]
        is_first = order in ("first", "oldest", "earliest")
        dated = [each for each in selection.documents if each.date] or selection.documents
        if not dated:
            return self._list(selection)
        return self._one(dated[0], f"{'first' if is_first else 'latest'} of {selection.understood}")

    def _by_title(self, wanted: Wanted) -> Ruled | None:
        """Return the mail with that title; of several, a list."""
        title = _title(wanted.parts["title"])
        if not title:
            return None
        longest = max(title.split(), key=len)
        mails = self._documents.latest(SearchFilters(kinds=("mail",), titles=(longest,)))
        same = [each for each in mails if _title(each.title) == title] or [
            each for each in mails if f" {title} " in f" {_title(each.title)} "
        ]
        limits = (f"with the subject “{wanted.parts['title']}”",)
        if not same:
            return self._list(Selection(("mail",), (), limits)) if wanted.parts["by"] != "implicit" else None
        return self._titled(same, limits, is_list=len(same) > _MOST_TITLES and wanted.parts["by"] != "author")

    def _by_held_title(self, text: str) -> Ruled | None:
        """Return the mail whose whole title a text about a mail holds, besides words that ask for it."""
        others = loosely.other_words(text) if loosely.speaks_of_mail(text) else []
        if not others:
            return None
        said = f" {_title(text)} "
        mails = self._documents.latest(SearchFilters(kinds=("mail",), titles=(max(others, key=len),)))
        same = [
            each
            for each in mails
            if f" {_title(each.title)} " in said and set(others) <= set(_title(each.title).split())
        ]
        return self._titled(same, (f"with the subject “{same[0].title}”",)) if same else None

    def _titled(self, same: Sequence[StoredDocument], limits: tuple[str, ...], *, is_list: bool = False) -> Ruled:
        """Return the oldest of the mails of one title, and the others in a list."""
        if is_list:
            return self._list(Selection(("mail",), same, limits))
        whole = self._one(same[-1], f"mail · {limits[0]}")
        if len(same) == 1:
            return whole
        others = "\n".join(
            ("", "", f"{counted_kind('mail', len(same))} with this subject:", "", *lines(same, senders=True))
        )
        sources = self._documents.passages([each.id for each in same[:MOST_LISTED]], 1)
        text = whole.text.replace("[1]", f"[{min(len(same), MOST_LISTED)}]", 1)
        return Ruled(text + others, whole.understood, [item(each) for each in same], sources)

    def _one(self, document: StoredDocument, understood: str) -> Ruled:
        """Return one document with its text."""
        passages = self._documents.passages([document.id])
        text = f"{heading(document)} [1]\n\n{quote(text_of(passages))}"
        return Ruled(text, understood, [item(document)], passages[:1])


def _kinds(wanted: Wanted) -> tuple[str, ...]:
    noun = wanted.parts.get("kind", "")
    if not noun:
        return ("note",) if wanted.form == "latest" and "who" not in wanted.parts else ("mail",)
    return next((kinds for nouns, kinds in _NOUNS if any(noun.startswith(each) for each in nouns)), ())


def _limited(filters: SearchFilters, wanted: Wanted, asked: Asked) -> SearchFilters:
    """Return the filters limited to the question's period and filters, and of what is latest to what has come."""
    given, period = asked.query.filters, wanted.period
    first, last = (period.first, period.last) if period else (None, None)
    if wanted.form == "latest" and last is None:
        last = asked.now.date()
    noun = wanted.parts.get("kind", "")
    suffixes = tuple(suffix for name, suffix in _FILES if noun.startswith(name))
    return replace(
        filters,
        people=given.people,
        places=given.places or suffixes,
        kinds=given.kinds or filters.kinds,
        after=max(filter(None, (first, given.after)), default=None),
        before=min(filter(None, (last, given.before)), default=None),
    )


def _in_period(period: Period) -> str:
    """Return a period with its preposition: "in October 2026", "on Monday 2 March 2026"."""
    if not period.days:
        return period.words
    return f"{'on' if period.days == 1 else 'from' if ' to ' in period.words else 'in'} {period.words}"


def _names_of(people: Sequence[str]) -> str:
    names = list(dict.fromkeys(map(shown, people)))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}" if names else ""


def _is_vague(name: str) -> bool:
    return len(content_words(name)) > 3 or not content_words(name)


def _file(document: StoredDocument) -> str:
    return re.sub(r"[_\W\d]+", " ", "/".join(document.path.split("/")[-2:]))


def _title(text: str) -> str:
    return " ".join(re.findall(r"\w+", _REPLY.sub("", text.strip()).lower()))
