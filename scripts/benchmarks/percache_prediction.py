"""What the arms predict: as the app does, in the protocol of PerCache's section 5.3, or with the paper's prompts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from device_app.ahead import predictor
from device_app.ahead.prediction import Predicted, Prediction
from device_app.ahead.work import Step
from shared.trace import Trace
from shared.types import StoredPassage
from storage.vectors import Vectors

AHEAD = 2
"""Predictions from the files before the first question (PerCache, section 5.3)."""

EVERY = 1 << 30
"""More passages than anybody keeps."""

ABSTRACTS = 2
"""Abstracts, each of one passage, that a prompted prediction is made from."""

_KNOWN = 0.999
"""Cosine of a question with itself, but for rounding."""


def so_many(items: Iterator[Predicted | Step], most: int) -> Iterator[Predicted | Step]:
    """The first of the questions, and the model's steps before the last of them."""
    for item in items:
        yield item
        most -= isinstance(item, Predicted)
        if not most:
            return


@dataclass(frozen=True)
class FromFiles(Prediction):
    """The app's own prediction before the first question."""

    def questions(self) -> Iterator[Predicted | Step]:
        """So many predictions from the files."""
        return so_many(self._from_passages(), AHEAD * self.stride)


@dataclass(frozen=True)
class FromHistory(Prediction):
    """The app's own prediction after a question: as many questions as a published prediction has."""

    def questions(self) -> Iterator[Predicted | Step]:
        """The likeliest."""
        return so_many(self._from_history(), self.stride)


@dataclass(frozen=True)
class Nothing(Prediction):
    """No prediction."""

    def questions(self) -> Iterator[Predicted | Step]:
        """None."""
        return iter(())

    def likeliest(self) -> Iterator[StoredPassage]:
        """None."""
        return iter(())

    def newest(self) -> Iterator[StoredPassage]:
        """None."""
        return iter(())


@dataclass(frozen=True)
class Published(Nothing):
    """Prediction with the paper's prompts: `times` from abstracts of the files, or from what was asked (0)."""

    times: int = 0

    def questions(self) -> Iterator[Predicted | Step]:
        """What the model wrote."""
        for _ in range(self.times):
            yield from self._from_next_abstracts()
        if not self.times:
            yield from self._like(self._latest())

    def _new(self, candidates: Sequence[str], most: int, near: Vectors | None = None) -> list[str]:  # noqa: ARG002
        """Those that are not known already, alike or not."""
        vectors = self.assistant.embedder.embed(candidates)
        return [
            candidate
            for candidate, vector in zip(candidates, vectors, strict=True)
            if self.bank.nearest(vector) < _KNOWN
        ]


@dataclass(frozen=True)
class Prompted(Published):
    """Prediction with the paper's prompts from every passage: `stride` questions from the abstracts of each two."""

    def questions(self) -> Iterator[Predicted | Step]:
        """What the model wrote."""
        passages = self.assistant.retriever.store.passages_after(0, EVERY)
        for start in range(0, len(passages), ABSTRACTS):
            trace, some = Trace(), passages[start : start + ABSTRACTS]
            abstracts = [self._abstract([passage], trace) for passage in some]
            said = self._questions(predictor.knowledge_prompt(abstracts, self.stride), trace)
            questions = self._new(predictor.parse(said, self.stride), self.stride)
            yield Step.traced("predict", f"questions from abstracts: {len(questions)}", "passages are new", trace)
            for question in questions:
                yield Predicted(question, some[-1].title)


@dataclass(frozen=True)
class OfFiles(Nothing):
    """The app's own prediction from every passage."""

    def questions(self) -> Iterator[Predicted | Step]:
        """All of them."""
        return self._from_passages()
