"""Predicted questions, from what was read since and from what was asked since (PerCache, section 4.1.2).

Lets the model write to the predictor's prompts and keeps the questions that find something, are like none that is
known, and, where they were written from a passage, find that very passage first. Marks how far it came, so that
nothing is predicted from twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from device_app.assistant import Assistant, Options
from device_app.cache import predictor
from device_app.cache.qa_bank import QABank
from device_app.knowledge.query import Query
from shared.types import StoredPassage
from storage.counters import Counters

HISTORY = 10
"""Questions asked last that the next ones are predicted from."""

_KNOWLEDGE_MARK, _HISTORY_MARK = "predicted_passage", "predicted_turn"
_WORDS = 40
"""Tokens of a question, at the most, that the model is let write."""


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

    def questions(self) -> Iterator[Predicted]:
        """What may be asked next; each is marked as predicted once the next one is taken."""
        yield from self._from_history()
        yield from self._from_knowledge()

    def _from_history(self) -> Iterator[Predicted]:
        asked = self.assistant.conversations.questions(HISTORY)
        newest = max((turn for turn, _ in asked), default=0)
        if newest <= self.counters.all().get(_HISTORY_MARK, 0):
            return
        said = self.assistant.source().write(
            predictor.history_prompt("files", [question for _, question in asked], self.stride), _WORDS * self.stride
        )
        for question in self._new(predictor.parse(said, self.stride)):
            yield Predicted(question, "what was asked before")
        self.counters.set(_HISTORY_MARK, newest)

    def _from_knowledge(self) -> Iterator[Predicted]:
        mark = int(self.counters.all().get(_KNOWLEDGE_MARK, 0))
        while passages := self.assistant.retriever.store.passages_after(mark, self.stride):
            for passage in passages:
                for question in self._new(self._about(passage)):
                    yield Predicted(question, passage.title)
                mark = passage.id
                self.counters.set(_KNOWLEDGE_MARK, mark)

    def _about(self, passage: StoredPassage) -> Sequence[str]:
        """Questions that find their own passage first: others are vague, or answered better elsewhere."""
        candidates = predictor.from_passage(passage)
        found = []
        for question in candidates:
            hits = self.assistant.retriever.search(Query(question), 1, self.options.relevance)
            if hits and hits[0].passage.id == passage.id:
                found.append(question)
        return found

    def _new(self, candidates: Sequence[str]) -> list[str]:
        if not candidates:
            return []
        vectors = self.assistant.embedder.embed(candidates)
        known = [self.bank.nearest(vector) for vector in vectors]
        fresh = [place for place, cosine in enumerate(known) if cosine <= predictor.ALIKE]
        chosen = [candidates[place] for place in fresh]
        return predictor.choose(chosen, vectors[fresh], np.empty((0, vectors.shape[1]), np.float32), self.stride)
