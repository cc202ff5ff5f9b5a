"""Predicted questions, from what was read since and from what was asked since (PerCache, section 4.1.2).

Composes what `predictor` and `questions` propose, and keeps the questions that are like none that is known and, where
they were made from a passage, find that very passage first. Marks how far it came, so that nothing is predicted from
twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from device_app.assistant import Assistant, Options
from device_app.cache import predictor, questions
from device_app.cache.qa_bank import QABank
from device_app.knowledge import query
from device_app.knowledge.ingest import embedded_text
from device_app.knowledge.query import Query
from device_app.work import Step
from models.sampling import SamplingSettings
from shared import prompt as prompts
from shared.trace import Trace
from shared.types import StoredPassage
from storage.counters import Counters
from storage.vectors import Vectors

HISTORY = 10
"""Questions asked last that the next ones are predicted from."""

_KNOWLEDGE_MARK, _HISTORY_MARK, _READ_MARK = "predicted_passage", "predicted_turn", "read_turn"
_QUESTION_TOKENS = 40
"""Tokens that the model is let write for a question."""

PER_PASSAGE = 2
"""Questions predicted from one passage."""

_NEAR, _AROUND = 30, 6
"""Passages looked at for each question that was asked last, and on both sides of the one that answered it."""


def predict_again(counters: Counters) -> None:
    """Let all be predicted anew, from the first passage on."""
    counters.forget(_KNOWLEDGE_MARK, _HISTORY_MARK)


@dataclass(frozen=True, slots=True)
class Predicted:
    """A question that may be asked, and what it was predicted from."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """Prediction over one person's files and history. `stride` is how many questions are predicted at a time."""

    assistant: Assistant
    options: Options
    bank: QABank
    counters: Counters
    stride: int

    def questions(self) -> Iterator[Predicted | Step]:
        """What may be asked next, and the steps that the model took to tell.

        Each question is marked as predicted once the next one is taken.
        """
        yield from self._from_history()
        yield from self._from_knowledge()

    def _from_history(self) -> Iterator[Predicted | Step]:
        newest = self._newest_turn()
        if newest <= self.counters.all().get(_HISTORY_MARK, 0):
            return
        latest = self._latest()
        for question in self._analogues(latest[-1]):
            yield Predicted(question, "the last question, asked of somebody else")
        for passage in self._next(latest, self.stride):
            for question in self._about(passage):
                yield Predicted(question, f"{passage.title}, near what was asked last")
        trace = Trace()
        said = self._written(predictor.history_prompt(latest, self.stride), trace)
        like = self._new(predictor.parse(said, self.stride), None)
        yield Step.traced("predict", f"{len(like)} questions like yours", "you have asked something since", trace)
        for question in like:
            yield Predicted(question, "what was asked before")
        self.counters.set(_HISTORY_MARK, newest)

    def _from_knowledge(self) -> Iterator[Predicted]:
        mark = int(self.counters.all().get(_KNOWLEDGE_MARK, 0))
        while passages := self.assistant.retriever.store.passages_after(mark, self.stride):
            for passage in passages:
                for question in self._about(passage):
                    yield Predicted(question, passage.title)
                mark = passage.id
                self.counters.set(_KNOWLEDGE_MARK, mark)

    def likeliest(self) -> Iterator[StoredPassage]:
        """What will most likely be read for the next question; nothing until another is asked.

        Reading them ahead, without any question, hits more than predicted questions do (`scripts/bench percache`).
        """
        newest = self._newest_turn()
        if newest > self.counters.all().get(_READ_MARK, 0):
            yield from self._next(self._latest(), _NEAR)
            self.counters.set(_READ_MARK, newest)

    def newest(self) -> Iterator[StoredPassage]:
        """All passages, the newest first: of what nobody has asked about yet, people ask most about what is new."""
        return self.assistant.retriever.store.newest_passages()

    def _newest_turn(self) -> int:
        return max((turn for turn, _ in self.assistant.conversations.questions(HISTORY)), default=0)

    def _latest(self) -> list[str]:
        return [query.parse(text, date.today()).text for _, text in self.assistant.conversations.questions(HISTORY)]

    def _next(self, latest: Sequence[str], count: int) -> list[StoredPassage]:
        """The passages most likely asked about next, after these questions."""
        retriever, store = self.assistant.retriever, self.assistant.retriever.store
        found = [retriever.search(Query(text), _NEAR) for text in latest]
        sources = [hits[0].passage for hits in found if hits]
        if not sources:
            return []
        near = {hit.passage.id: hit.passage for hits in found for hit in hits}
        near |= {one.id: one for source in sources for one in store.passages_around(source, _AROUND)}
        passages = list(near.values())
        texts = [embedded_text(passage.title, passage.text) for passage in passages]
        vectors = self.assistant.embedder.embed([*texts, *latest])
        asked = vectors[len(texts) :][[bool(hits) for hits in found]]
        scores = predictor.expected_use(passages, vectors[: len(texts)], asked, sources)
        return [passages[place] for place in np.argsort(-scores, kind="stable")[:count].tolist()]

    def _written(self, text: str, trace: Trace) -> str:
        """What the model writes to this, always the likeliest token; nothing where it does not fit."""
        source = self.assistant.source()
        prompt = prompts.turn(text, source.template)
        most = min(_QUESTION_TOKENS * self.stride, source.room(prompt))
        if most <= 0:
            return ""
        return "".join(piece.text for piece in source.stream(prompt, SamplingSettings(), max_tokens=most, trace=trace))

    def _analogues(self, last: str) -> list[str]:
        hits = self.assistant.retriever.search(Query(last), _AROUND, self.options.relevance)
        if not hits:
            return []
        people = [person for hit in hits for person in hit.passage.people]
        near = self.assistant.embedder.embed([embedded_text(hits[0].passage.title, hits[0].passage.text)])[0]
        return self._new(questions.analogues(last, people), near)[:1]

    def _about(self, passage: StoredPassage) -> list[str]:
        """Questions that find their own passage first: others are vague, or answered better elsewhere."""
        near = self.assistant.embedder.embed([embedded_text(passage.title, passage.text)])[0]
        return [
            question
            for question in self._new(questions.from_passage(passage), near)
            if (hits := self.assistant.retriever.search(Query(question), 1, self.options.relevance))
            and hits[0].passage.id == passage.id
        ]

    def _new(self, candidates: Sequence[str], near: Vectors | None) -> list[str]:
        """Those of the candidates that are like none that is kept, nor like each other."""
        if not candidates:
            return []
        vectors = self.assistant.embedder.embed(candidates)
        fresh = [place for place, vector in enumerate(vectors) if self.bank.nearest(vector) <= predictor.ALIKE]
        chosen = [candidates[place] for place in fresh]
        most = self.stride if near is None else PER_PASSAGE
        return predictor.choose(chosen, vectors[fresh], most, near)
