"""The room from which everything on the device is reached: `Assistant.ask`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Literal

from device_app.knowledge import evidence, query
from device_app.knowledge.evidence import Evidence
from device_app.knowledge.query import Query
from device_app.knowledge.retriever import Retriever
from device_app.sources.ending import ended
from device_app.sources.local import LocalSource
from models.engine import Embedder
from models.sampling import SamplingSettings
from shared import prompt as prompts
from shared.errors import EngineError
from shared.prompt import Exchange, Prompt
from shared.trace import Trace
from shared.types import Hit
from storage.conversations import ConversationStore

NOTHING_FOUND = "I found nothing about that in your files."
MOST_EARLIER = 2
"""Earlier exchanges a follow-up question is read with; more would crowd out the passages of a small context."""

SHORT_ANSWER = 64
"""Tokens for which passages are left out where the context is full; a longer answer is cut instead."""

SNIPPET_CHARACTERS = 240


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model answers: from how many passages, in one prompt or each in a row of its own."""

    passages: int
    arrangement: Literal["prompt", "rows"]


@dataclass(frozen=True, slots=True)
class Options:
    """What one question may ask for. `relevance` is the score under which a passage is no source."""

    plan: Plan
    sampling: SamplingSettings
    max_tokens: int
    relevance: float
    evidence: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """The passages the answer will be drawn from, the best first."""

    hits: Sequence[Hit]


@dataclass(frozen=True, slots=True)
class Wrote:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished answer. `found` is False where no passage was relevant enough to answer from.

    It is `cut` where the model would have gone on, but for `max_tokens` or the room in its context.
    """

    text: str
    hits: Sequence[Hit]
    evidence: Evidence | None
    trace: Trace
    model: str
    conversation_id: int
    tokens_prefilled: int
    found: bool = True
    cut: bool = False

    def as_json(self) -> dict[str, Any]:
        """The object that `ask --json` prints."""
        return {
            "answer": self.text,
            "found": self.found,
            "cut": self.cut,
            "origin": "device",
            "sources": [_source(number, hit) for number, hit in enumerate(self.hits, 1)],
            "evidence": None if self.evidence is None else asdict(self.evidence),
            "cache": {
                "qa": {"hit": False, "similarity": None, "matched": None},
                "kv": {"segments_cached": 0, "tokens_cached": 0, "tokens_prefilled": self.tokens_prefilled},
            },
            "trace": self.trace.as_json(),
            "egress": {"bytes": 0, "items": []},
            "model": self.model,
            "conversation": self.conversation_id,
        }


@dataclass(frozen=True, slots=True)
class Assistant:
    """Answers questions from the store. `source` waits for the model, which may still be loading."""

    retriever: Retriever
    embedder: Embedder
    conversations: ConversationStore
    source: Callable[[], LocalSource]

    def ask(self, question: str, options: Options, conversation: int | None = None) -> Iterator[Found | Wrote | Answer]:
        """Answer a question: what was found, then the text as it is written, then the finished answer.

        With a conversation, the question is read as one that follows on it. A stream that is dropped or fails leaves
        what was written in the history, marked incomplete. Raises UsageError, StoreError, WeightsError, EngineError:
        that as well where the model writes nothing, ContextFull where not even one passage fits.
        """
        trace = Trace()
        asked = query.parse(question, date.today())
        earlier, before = self._earlier(conversation)
        hits: Sequence[Hit]
        with trace.step("retrieve"):
            hits = self.retriever.search(asked, options.plan.passages, options.relevance, before)
        yield Found(hits)
        turn = self.conversations.begin(question, conversation)
        if not hits:
            yield self._finish(turn.id, Answer(NOTHING_FOUND, (), None, trace, "", turn.conversation_id, 0, False))
            return
        with trace.step("load"):
            source = self.source()
        prompt, hits = self._prompt(source, asked.text, hits, options, earlier)
        written, cut = "", False
        try:
            with closing(
                source.stream(
                    prompt,
                    options.sampling,
                    max_tokens=max(min(options.max_tokens, source.room(prompt)), 1),
                    similarities=[hit.similarity for hit in hits][: len(prompt.passages)],
                    trace=trace,
                )
            ) as stream:
                for piece in ended(stream):
                    written += piece.text
                    cut = piece.cut
                    yield Wrote(piece.text)
        finally:
            self.conversations.write(turn.id, written.strip())
        text = written.strip()
        if not text:
            raise EngineError(
                "The model wrote nothing. Try again with --temperature 0.7, or use another model: jackdaw models list"
            )
        with trace.step("evidence"):
            carried = (
                evidence.find(asked.text, text, [hit.passage.text for hit in hits], self.embedder)
                if options.evidence
                else None
            )
        model, prefilled = source.engine.info.model, source.count(prompt)
        answer = Answer(text, hits, carried, trace, model, turn.conversation_id, prefilled, cut=cut)
        yield self._finish(turn.id, answer)

    def prompt(self, question: str, options: Options, conversation: int | None = None) -> Prompt | None:
        """The prompt that `ask` would answer; None where nothing relevant is found."""
        asked = query.parse(question, date.today())
        earlier, before = self._earlier(conversation)
        hits = self.retriever.search(asked, options.plan.passages, options.relevance, before)
        return self._prompt(self.source(), asked.text, hits, options, earlier)[0] if hits else None

    def _prompt(
        self, source: LocalSource, question: str, hits: Sequence[Hit], options: Options, earlier: Sequence[Exchange]
    ) -> tuple[Prompt, Sequence[Hit]]:
        """The prompt and the passages in it: the weakest are left out until a short answer has room."""
        while True:
            prompt = prompts.build(question, [hit.passage for hit in hits], source.template, earlier)
            if options.plan.arrangement == "prompt":
                prompt = prompt.joined()
            if len(hits) == 1 or source.room(prompt) >= min(options.max_tokens, SHORT_ANSWER):
                return prompt, hits
            hits = hits[:-1]

    def _earlier(self, conversation: int | None) -> tuple[list[Exchange], Query | None]:
        """What was said before, and the last question of it, with the filters and days that still held for it."""
        turns = [] if conversation is None else self.conversations.turns(conversation)
        said: list[Exchange] = []
        before: Query | None = None
        for turn in turns:
            if turn.complete:
                asked = query.parse(turn.question, date.today())
                said.append(Exchange(asked.text, turn.answer))
                before = asked if before is None else asked.following(before)[0]
        return said[-MOST_EARLIER:], before

    def _finish(self, turn_id: int, answer: Answer) -> Answer:
        self.conversations.write(turn_id, answer.text, answer.as_json())
        return answer


def _source(number: int, hit: Hit) -> dict[str, Any]:
    passage = hit.passage
    snippet = " ".join(passage.text.split())
    if len(snippet) > SNIPPET_CHARACTERS:
        snippet = snippet[: SNIPPET_CHARACTERS - 1] + "…"
    return {
        "id": passage.id,
        "number": number,
        "path": passage.path,
        "line": passage.line,
        "page": passage.page,
        "date": passage.date,
        "title": passage.title,
        "copies": [copy.path for copy in hit.copies],
        "snippet": snippet,
        "score": round(hit.score, 4),
        "similarity": round(hit.similarity, 4),
        "side": "device",
    }
