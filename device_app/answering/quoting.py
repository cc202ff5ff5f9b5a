"""Answers by quoting the person's files, for questions about what was said on a subject.

A quote is exact, unlike a small model's summary.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from device_app.english import beyond, changes, discourse, outcomes, speech
from device_app.english.dates import Span
from device_app.english.outcomes import Outcome, OutcomesAsked
from device_app.english.query import Query
from device_app.english.terms import searched, terms, with_families
from device_app.english.words import content_words
from device_app.knowledge import corrections, minutes, quotes
from device_app.knowledge.known_people import KnownPeople
from device_app.knowledge.quotes import Quote
from device_app.knowledge.retriever import Retriever
from device_app.question.request import Request
from models.engine import Embedder
from shared.types import Hit, StoredPassage
from storage.knowledge import KnowledgeStore
from storage.search import all_of, any_of

_NUMBERED: Final = re.compile(r"\b(?=\w*[^\W\d])\w*\d\w*\b")
"""Matches a name that contains a digit."""

_BETWEEN_WORDS: Final = re.compile(r"[_\W]+")
_LINE: Final = re.compile(r"- (.+) \[(\d+)\]")
"""Matches a quoted line and the number of its source."""

_MOST_LINES: Final = 12
"""The most lines of minutes that are shown of each outcome; the number of others is stated."""

_HEADINGS: Final[dict[Outcome, str]] = {"decision": "Decided", "action": "To do", "question": "Open"}

_BEFORE: Final = timedelta(days=21)
"""If a question names days, passages written up to this long before these days are searched too: they may say that an
event was moved or cancelled.
"""

_MOST_CORRECTING: Final = 50
"""The most passages that are read for corrections of figures."""

CORRECTED: Final = "a newer message or file changes what was said before"

PASSAGES: Final = 3
"""The most passages quoted: another speaker is often in another passage. For a question about a day, all are quoted."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """The quoted sentences as Markdown, and the passages they are from, in the order of the numbers in the text.

    `why` is the reason for a quote that was not asked for.
    """

    text: str
    hits: Sequence[Hit]
    why: str = ""


def chosen(request: Request, near: Sequence[Hit], retriever: Retriever, today: date) -> Quoted | None:
    """Return what the passages `near` a question say word for word, if that answers it; else None.

    That is what the question asks to quote or, for another question that is no follow-up, a statement that changed.
    """
    if request.is_quotable:
        with request.trace.step("quote"):
            parts = retriever.embedder, retriever.people
            outcome = _outcomes_of_meeting(request.query, near, retriever.store.passages_of_documents)
            quote = outcome or quoted(request.query, request.search_query, near, *parts)
            return quote and _with_corrections(quote, retriever.store, today)
    aspect = None if request.is_follow_up else changes.aspect(request.query.text)
    if aspect is None:
        return None
    if aspect == "time":
        near = [*near, *_written_before(request.query, retriever, today)]
    elif aspect == "other":
        near = [*near, *_correcting(request.query, retriever.store, today)]
    return _corrected(request.query, near, today)


def quoted(asked: Query, about: Query, near: Sequence[Hit], embedder: Embedder, people: KnownPeople) -> Quoted | None:
    """Return the relevant sentences of the passages `near` the subject; None if there are none.

    Sentences are compared with the whole question, which says more than its subject `about`. A numbered name in the
    subject ("meeting ES2009b") must occur in a passage for it to be quoted. If the question asks for a person's own
    words, only these are quoted, under any of the person's names in `people`.
    """
    said = discourse.said_by(asked.text)
    speakers = _names(said.speaker, people) if said else None
    if (meeting := outcomes.asked_for(asked.text)) and not any(_is_meant(meeting, [hit.passage]) for hit in near):
        return None
    if numbered := _NUMBERED.findall(about.text.lower()):
        near = [hit for hit in near if all(number in _named(hit) for number in numbered)]
    of_then = [hit for hit in near if _is_of(hit, about.days)] or near
    hits = _in_their_order(of_then if about.is_open else of_then[:PASSAGES])
    question = about.text if said else "" if about.is_open else asked.text
    sentences = quotes.find(question, [hit.passage for hit in hits], embedder, speakers)
    if not sentences:
        return None
    sources = sorted({quote.source for quote in sentences})
    lines = [f"- {quote.text} [{sources.index(quote.source) + 1}]" for quote in sentences]
    heading = said.heading if said else f"{about.text[:1].upper()}{about.text[1:]}:"
    return Quoted("\n".join([heading, "", *lines]), [hits[source - 1] for source in sources])


def _outcomes_of_meeting(
    asked: Query, near: Sequence[Hit], passages_of: Callable[[Sequence[int]], Sequence[StoredPassage]]
) -> Quoted | None:
    """Return the decisions, actions and open questions of the meeting nearest to the question, with who said them.

    `passages_of` returns all passages of the documents with the given ids. Return None if the question does not ask for
    a meeting's outcomes, or if no meeting near it states one.
    """
    request = outcomes.asked_for(asked.text)
    if request is None:
        return None
    nearest = {hit.passage.document_id: hit for hit in reversed(near)}
    meetings = list(reversed(nearest.items()))
    if request.is_last:
        meetings.sort(key=lambda each: (_is_in_name(request, each[1]), each[1].passage.date or ""), reverse=True)
    for document, meeting in meetings:
        passages = passages_of([document])
        is_of_then = not asked.days or _is_of(meeting, asked.days)
        if is_of_then and _is_meant(request, passages) and (stated := minutes.outcomes(passages, request.outcomes)):
            return _as_minutes(meeting, passages, stated)
    return None


def _is_meant(request: OutcomesAsked, passages: Sequence[StoredPassage]) -> bool:
    """Return whether the passages have a word of the meeting's name; true if the question names only its day."""
    words = {
        word for each in passages for word in content_words(f"{_BETWEEN_WORDS.sub(' ', each.path)} {searched(each)}")
    }
    return not request.named or not words.isdisjoint(request.named)


def _is_in_name(request: OutcomesAsked, meeting: Hit) -> bool:
    """Return whether the title or the path of the document has all words of the meeting's name."""
    name = f"{meeting.passage.title} {_BETWEEN_WORDS.sub(' ', meeting.passage.path)}"
    return set(request.named) <= set(content_words(name))


def _as_minutes(meeting: Hit, passages: Sequence[StoredPassage], stated: Mapping[Outcome, Sequence[Quote]]) -> Quoted:
    sources = sorted({quote.source for quotes_of in stated.values() for quote in quotes_of})
    title, day = meeting.passage.title, (meeting.passage.date or "")[:10]
    lines = [f"{title}:" if day in title else f"{title}, {_written(meeting)}:"]
    for kind, each in stated.items():
        lines += ["", f"**{_HEADINGS[kind]}**", ""]
        lines += [f"- {quote.text} [{sources.index(quote.source) + 1}]" for quote in each[:_MOST_LINES]]
        lines += [f"- … and {len(each) - _MOST_LINES} more"] if len(each) > _MOST_LINES else []
    return Quoted("\n".join(lines), [replace(meeting, passage=passages[each - 1], copies=()) for each in sources])


def _names(speaker: str, people: KnownPeople) -> frozenset[str]:
    """Return a speaker's names, in the form that `speech.spoken` gives them."""
    return speech.speakers((*people.directory.written(speaker), speaker))


def _written_before(asked: Query, retriever: Retriever, today: date) -> Sequence[Hit]:
    """Return the passages nearest to a question that were written in the weeks before the days it names.

    Changes of plans are often in such passages.
    """
    if not asked.days:
        return ()
    first, last = min(asked.days, key=lambda days: abs(days[0] - today))
    weeks = replace(asked, filters=asked.filters.within(first - _BEFORE, last), days=())
    return retriever.search(weeks, beyond.NEAR)


def _corrected(asked: Query, near: Sequence[Hit], today: date) -> Quoted | None:
    """Return quotes of a sentence that moves, cancels or replaces something, and of the earlier statement.

    Each is quoted with the day on which it was written; the earlier statement may be missing. Return None if nothing
    about the subject was changed.
    """
    if (changed := corrections.correction(asked, near, today)) is None:
        return None
    text = f"Changed on {_written(changed.newer)}: “{changed.change}” [1]"
    if changed.older is None:
        return Quoted(text, [changed.newer], CORRECTED)
    hits = list({hit.passage.id: hit for hit in (changed.newer, changed.older)}.values())
    before = f"Before, on {_written(changed.older)}: “{changed.before}” [{len(hits)}]"
    return Quoted(f"{text}\n\n{before}", hits, CORRECTED)


def _correcting(asked: Query, store: KnowledgeStore, today: date) -> Sequence[Hit]:
    """Return the latest passages that may correct a figure that the question asks for."""
    if not (words := changes.subject(asked.text)):
        return ()
    forms = [any_of(with_families([word])) for word in words]
    return [Hit(passage, 1.0, 0.0) for passage in _later(forms, date.min, store, today)]


def _with_corrections(quote: Quoted, store: KnowledgeStore, today: date) -> Quoted:
    """Return a quote, below it the later sentences that correct a figure in it, with their days.

    A correction that is quoted already is not repeated.
    """
    figures = [(line, passage) for line, passage in _lines_with_figures(quote) if passage.date]
    words = {word for line, _ in figures for word in terms(line) if not word.isdigit()}
    if not words:
        return quote
    first = min(date.fromisoformat((passage.date or "")[:10]) for _, passage in figures)
    text, hits = quote.text, [*quote.hits]
    for each in corrections.of_figures(figures, _later([any_of(with_families(sorted(words)))], first, store, today)):
        if each.sentence not in quote.text:
            numbers = [number for number, hit in enumerate(hits, 1) if hit.passage.id == each.passage.id]
            hits += [] if numbers else [Hit(each.passage, 1.0, 0.0)]
            number = numbers[0] if numbers else len(hits)
            text += f"\n\nCorrected on {_written(hits[number - 1])}: “{each.sentence}” [{number}]"
    return replace(quote, text=text, hits=hits)


def _later(expressions: Sequence[str], first: date, store: KnowledgeStore, today: date) -> list[StoredPassage]:
    """Return the latest passages that match all FTS5 expressions and may be corrections, from a day to today."""
    kinds = [kind for kind in store.kinds() if kind not in ("event", "task")]
    return store.dated(all_of([*expressions, any_of(changes.CORRECTING)]), kinds, first, today, _MOST_CORRECTING)


def _lines_with_figures(quote: Quoted) -> list[tuple[str, StoredPassage]]:
    """Return the quoted lines that have a figure, each with its passage."""
    lines = (_LINE.fullmatch(line) for line in quote.text.splitlines())
    return [(line[1], quote.hits[int(line[2]) - 1].passage) for line in lines if line and re.search(r"\d", line[1])]


def _written(hit: Hit) -> str:
    day = date.fromisoformat((hit.passage.date or "")[:10])
    return f"{day.day} {day:%B} {day.year}"


def _named(hit: Hit) -> str:
    return f"{hit.passage.path} {searched(hit.passage)}".lower()


def _is_of(hit: Hit, days: Sequence[Span]) -> bool:
    """Return whether the passage's date is within one of the spans of days."""
    return any(first.isoformat() <= (hit.passage.date or "")[:10] <= last.isoformat() for first, last in days)


def _in_their_order(hits: Sequence[Hit]) -> list[Hit]:
    """Sort the passages: those of one document together, in document order, at the rank of its best passage."""
    documents = [hit.passage.document_id for hit in hits]
    return sorted(hits, key=lambda hit: (documents.index(hit.passage.document_id), hit.passage.id))
