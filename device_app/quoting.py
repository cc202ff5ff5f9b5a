"""Answers in the words of the person's files, where a question asks what was said of something: exact where a small
model's summary is not, and there before such a model has read the first passage.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from device_app.knowledge import discourse, quotes
from device_app.knowledge.query import Query
from device_app.options import Options
from models.engine import Embedder
from shared.types import Hit

PASSAGES: Final = 3
"""That are quoted from at most: who says something else of it stands in another passage."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """What the files say, below a heading, in Markdown; and the passages that it is from."""

    text: str
    hits: Sequence[Hit]


def wanted(asked: Query, options: Options) -> Query:
    """What is looked for: what was talked about, where the files are quoted; else the question itself."""
    written = options.plan.summaries == "written" or options.together
    said = None if written else discourse.read(asked.text)
    return replace(asked, text=said.subject) if said else asked


def quoted(asked: Query, subject: Query, near: Sequence[Hit], embedder: Embedder) -> Quoted | None:
    """What is said in what was found `near` the subject; None where none of it is to the point, or no such thing is
    asked.
    """
    said = discourse.read(asked.text)
    hits = _in_their_order(near[:PASSAGES])
    found = quotes.find("" if subject.is_open else asked.text, [hit.passage for hit in hits], embedder)
    if not (said and found):
        return None
    sources = sorted({quote.source for quote in found})
    lines = [f"- {quote.text} [{sources.index(quote.source) + 1}]" for quote in found]
    return Quoted("\n".join([f"{said.heading}:", "", *lines]), [hits[source - 1] for source in sources])


def _in_their_order(hits: Sequence[Hit]) -> list[Hit]:
    """Those of one document as they stand there, at the place of the best of them."""
    documents = [hit.passage.document_id for hit in hits]
    return sorted(hits, key=lambda hit: (documents.index(hit.passage.document_id), hit.passage.id))
