"""Answers who said something in a chat, and when, by the speaker, words and day of each message.

It answers only if one message has nearly all content words of the statement in the question, and no other speaker's
message does.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english import hearsay, periods, speech
from device_app.english.deeds import tells_of
from device_app.english.following import begins_as_question
from device_app.english.hearsay import KIN, Hearsay
from device_app.english.naming import shown
from device_app.english.periods import Period
from device_app.english.terms import terms, with_families
from device_app.english.words import content_words, denies
from device_app.everyday.rule import Asked, Item, Ruled
from device_app.everyday.showing import moment, noted
from device_app.knowledge.directory import several
from shared.printable import safe_line
from shared.text import sentences
from shared.types import StoredPassage
from storage.search import FullText, any_of

if TYPE_CHECKING:
    from device_app.knowledge.known_people import KnownPeople
    from device_app.knowledge.people import Person
    from storage.knowledge import KnowledgeStore

_CANDIDATES: Final = 150
"""The number of passages in which a statement is searched for, the best by BM25."""

_LEAST_SHARE, _FEW_WORDS = 0.75, 3
"""The share of the statement's content words that a message needs; a statement of few words needs all of them."""

_LIGHT: Final = frozenset(["go", "com", "get", "mak", "tak", "want", "thing", "hav", "like"])
"""Stems of common words, which a message need not contain."""

_LEAST_OF_DEED: Final = 2
"""The content words of what somebody did, its verb among them, without which no message can be sure to tell of it."""

_MOST_QUOTED, _MOST_DAYS, _MOST_SPEAKERS = 400, 4, 4
_IS_STATEMENT = re.compile(r"\b(?:is|are|was|were|has|have|had|will|can|be)\b")
"""Matches a verb, which distinguishes a whole sentence, such as "the baby is here", from a single content word."""

_PRESENT: Final = {"was": "is", "were": "are", "had": "have", "would": "will", "could": "can", "there": "here"}
_ASKED = re.compile(r" (?P<asks>who|what|when|where|how|which) (?P<subject>.+) (?P<is>is|are|can|will) ")
"""Matches a question in reported speech, with its verb behind the subject."""


@dataclass(frozen=True, slots=True)
class MessageItem(Item):
    """A message of a chat. `date` is the day of the chat in ISO 8601, or None."""

    TYPE: ClassVar[str] = "message"
    speaker: str
    text: str
    date: str | None
    path: str


@dataclass(frozen=True, slots=True)
class _Message:
    """A message: its speaker as stored, its words, its passage, and its share of the words in the statement asked
    about.
    """

    speaker: str
    text: str
    passage: StoredPassage
    share: float


@dataclass(frozen=True, slots=True)
class HearsayRule:
    """Finds the message in which something was said."""

    store: KnowledgeStore
    people: KnownPeople
    stands_alone: ClassVar[bool] = True

    def answer(self, asked: Asked) -> Ruled | None:
        """Return who made the statement in the question, or when, with the messages; None if none fits well enough."""
        return next(filter(None, (self._answer(reading, asked) for reading in hearsay.readings(asked.text))), None)

    def _answer(self, reading: Hearsay, asked: Asked) -> Ruled | None:
        """Return the answer to a question that is read in this way; None if no message fits well enough."""
        period = periods.read(reading.what, asked.now.date())
        what = period.rest if period and content_words(period.rest) else reading.what
        words = content_words(what)
        words = [word for word in words if word not in _LIGHT] or words
        if not words or denies(what) or (reading.deed and len(words) < _LEAST_OF_DEED):
            return None
        people = self.people.directory
        meant = people.meant(reading.speaker)
        is_kin = not meant and reading.speaker in KIN
        if reading.speaker and not meant and not is_kin:
            return None
        speakers = speech.speakers(self._written(reading, meant))
        held = list(self._messages(what, words, asked))
        if len(words) == 1 and _IS_STATEMENT.search(what):
            held = [each for each in held if _is_verbatim(what, each.text)]
        messages = [each for each in held if _is_in(each, period) and (not speakers or each.speaker in speakers)]
        if reading.deed:
            is_base = reading.asks == "when"  # "when did Petra lend", but "who lent"
            messages = [each for each in messages if tells_of(each.text, reading.deed, words, is_base=is_base)]
        if reading.is_inquiry:
            messages = [each for each in messages if _inquires(each.text, words)]
        if reading.asks == "what":
            messages += self._replies(held, speakers)
        if reading.to and reading.to != "me":
            others = set(people.written_as(reading.to, people.meant(reading.to)))
            messages = [each for each in messages if others & set(each.passage.people)]
        if (reading.asks == "who" and reading.to == "me") or is_kin:
            mine = speech.speakers(people.written("me"))
            messages = [each for each in messages if each.speaker not in mine]
        best = _surest(messages, len(words), _most_days(reading))
        if reading.order == "last":
            best.reverse()
        if (reading.asks == "who" and reading.to == "me") or reading.order:  # who said it first
            best = [each for each in best if each.speaker == best[0].speaker]
        most_speakers = 1 if is_kin or reading.deed else _MOST_SPEAKERS
        if not best or (reading.asks != "when" and len({each.speaker for each in best}) > most_speakers):
            return None
        return noted(_messages_of(reading, what, best[:_MOST_DAYS]), several(reading.speaker, meant))

    def _written(self, reading: Hearsay, meant: Sequence[Person]) -> list[str]:
        """Return all spellings in documents of the people whom the question names as possible speakers."""
        people = self.people.directory
        among = [name for each in reading.among for name in people.written_as(each, people.meant(each))]
        return among or people.written_as(reading.speaker, meant)

    def _replies(self, messages: Sequence[_Message], speakers: Container[str]) -> Iterator[_Message]:
        """Yield what one of the `speakers` said right after each message, such as the answer to a question in it."""
        for each in messages:
            if each.speaker not in speakers:
                spoken = list(speech.spoken(each.passage))
                place = spoken.index((each.speaker, each.text))
                reply = next((words for speaker, words in spoken[place + 1 : place + 3] if speaker in speakers), "")
                speaker = next((name for name, words in spoken[place + 1 : place + 3] if words == reply), "")
                if reply:
                    yield _Message(speaker, reply, each.passage, each.share)

    def _messages(self, what: str, words: Sequence[str], asked: Asked) -> Iterator[_Message]:
        """Yield messages with some of the statement's `words`, each with the share of those words that it contains."""
        among = self.store.matching(self.people.widened(asked.query.filters))
        ids = FullText(self.store.database).best(
            [any_of(with_families([word])) for word in terms(what)], (), _CANDIDATES, among
        )
        passages = self.store.passages(ids.tolist())
        for passage in asked.present(passages.values()):
            for speaker, said in speech.spoken(passage) if passage.kind != "mail" else ():
                if speaker:
                    held = _held(content_words(said))
                    yield _Message(speaker, said, passage, sum(word in held for word in words) / len(words))


def _messages_of(reading: Hearsay, what: str, messages: Sequence[_Message]) -> Ruled:
    """Return an answer that quotes the given messages, each with its speaker and day."""
    parts = []
    for number, message in enumerate(messages, 1):
        day = _day(message.passage.date)
        said = message.text if len(message.text) <= _MOST_QUOTED else f"{message.text[:_MOST_QUOTED]}…"
        day = f"said on {day}" if reading.deed else day  # what was done may be older
        head = day if reading.asks == "when" and reading.speaker not in KIN else f"{shown(message.speaker)}, {day}"
        head = head[0].upper() + head[1:]
        parts.append(f"{head}: [{number}]\n> {safe_line(shown(message.speaker))}: {safe_line(said)}")
    items = [MessageItem(shown(each.speaker), each.text, each.passage.date, each.passage.path) for each in messages]
    speaker = f" · by {shown(messages[0].speaker)}" if reading.speaker else ""
    sources = [message.passage for message in messages]
    if reading.asks == "whether":
        parts.insert(0, "Yes.")
    asked = "whether anything was said" if reading.asks == "whether" else f"{reading.asks} said it"
    return Ruled("\n\n".join(parts), f"{asked} in a chat{speaker} · “{what}”", items, sources)


def _most_days(reading: Hearsay) -> int:
    """Return on how many different days the quoted messages may have been written, at most; 0 sets no limit."""
    return 1 if reading.deed else 0 if reading.asks == "who" or reading.order else _MOST_DAYS


def _surest(messages: Sequence[_Message], count: int, most_days: int) -> list[_Message]:
    """Return the messages with most of the statement's words, one for each day and speaker, oldest first.

    Return none if they have too few of the words, or were written on more than `most_days` different days (0: no
    limit).
    """
    most = max((each.share for each in messages), default=0.0)
    best: dict[tuple[str, str], _Message] = {}
    for each in sorted(messages, key=lambda each: (each.passage.date or "~", each.passage.id)):
        if each.share == most:
            best.setdefault(((each.passage.date or "")[:10], each.speaker), each)
    too_many = most_days and len({day for day, _ in best}) > most_days
    is_sure = most >= (1.0 if count <= _FEW_WORDS else _LEAST_SHARE) and not too_many
    return list(best.values()) if is_sure else []


def _verbatim(text: str) -> str:
    """Return a text for word-for-word comparison: its words in lower case, without articles, a space around each.

    Verbs of reported speech are put into the present: "the tiles were there" becomes " tiles are here ".
    """
    words = (word for word in re.findall(r"\w+", text.lower()) if word not in ("the", "a", "an"))
    return f" {' '.join(_PRESENT.get(word, word) for word in words)} "


def _is_verbatim(what: str, message: str) -> bool:
    """Return whether a message holds a statement word for word, or as a question: "where the charger is"."""
    said, held = _verbatim(what), _verbatim(message)
    asked = _ASKED.fullmatch(said)
    return said in held or (asked is not None and f" {asked['asks']} {asked['is']} {asked['subject']} " in held)


def _inquires(message: str, words: Sequence[str]) -> bool:
    """Return whether a question in a message holds one of the `words`; people do not always end it with a "?"."""
    return any(
        (sentence.rstrip().endswith("?") or begins_as_question(sentence) or "wonder" in sentence.lower())
        and not _held(content_words(sentence)).isdisjoint(words)
        for sentence in sentences(message)
    )


def _held(words: Sequence[str]) -> set[str]:
    """Return a message's words, and each word joined with the next one: "Wi-Fi" also gives "wifi"."""
    return {*words, *(f"{first}{second}" for first, second in pairwise(words))}


def _is_in(message: _Message, period: Period | None) -> bool:
    if period is None or not message.passage.date:
        return period is None
    day = message.passage.date[:10]
    return (not period.first or period.first.isoformat() <= day) and (not period.last or day <= period.last.isoformat())


def _day(date: str | None) -> str:
    return moment(date[:10]) if date else "on a day that is not known"
