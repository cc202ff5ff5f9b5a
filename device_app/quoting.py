"""Answers in the words of the person's files, where a question asks what was said of something: exact where a small
model's summary is not, and there before such a model has read the first passage.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from device_app.answer import Answer
from device_app.knowledge import discourse, quotes
from device_app.knowledge.query import Query
from device_app.knowledge.retriever import Retriever
from device_app.options import Options
from device_app.outside import Outside
from models.engine import Embedder
from shared.trace import Trace
from shared.types import Hit

PASSAGES: Final = 3
"""That are quoted from at most: who says something else of it stands in another passage."""


@dataclass(frozen=True, slots=True)
class Quoting:
    """Quotes from a store, where nothing is to be had of a server besides."""

    retriever: Retriever
    outside: Outside

    def answer(self, asked: Query, options: Options, trace: Trace) -> Answer | None:
        """The answer in the files' words; None where the model is to write it, or nothing near is said.

        Loads no model.
        """
        said = discourse.read(asked.text) if options.plan.summaries == "quoted" and not options.together else None
        if said is None:
            return None
        with trace.step("retrieve"):
            subject = replace(asked, text=said.subject)
            near = self.retriever.search(subject, self.outside.passages(options), options.relevance)
        lacking = self.outside.lacking(asked, near) if near else ""
        begun = self.outside.at_home(lacking, options, private=asked.is_limited)
        if begun is None:
            return None
        with trace.step("quote"):
            text, hits = quoted(asked.text, said.heading, near[:PASSAGES], self.retriever.embedder)
        if not text:
            return None
        trace.first_token()
        return begun.told(Answer(text, hits, None, trace, "", support="word for word", quoted=True))


def quoted(question: str, heading: str, hits: Sequence[Hit], embedder: Embedder) -> tuple[str, Sequence[Hit]]:
    """What of these says most of what is asked, below the heading, in Markdown; and the hits that it is from.

    "" where none of it comes near.
    """
    found = quotes.find(question, [hit.passage.text for hit in hits], embedder)
    sources = sorted({quote.source for quote in found})
    lines = [f"- {quote.text} [{sources.index(quote.source) + 1}]" for quote in found]
    return "\n".join([f"{heading}:", "", *lines]) if lines else "", [hits[source - 1] for source in sources]
