"""The arms' ways to predict questions: as in the app, in the protocol of PerCache's section 5.3, or with the paper's
prompts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from device_app.ahead import predictor
from device_app.ahead.prediction import KNOWLEDGE_MARK, Predicted, Prediction
from device_app.ahead.work import Step
from scripts.benchmarks import percache_prompts as published
from shared.trace import Trace
from shared.types import StoredPassage
from storage.vectors import Vectors

AHEAD = 2
"""The number of questions predicted from files before the first question (PerCache, section 5.3)."""

EVERY = 1 << 30
"""A limit greater than the number of passages in any store, which means all passages."""

ABSTRACTS = 2
"""The number of abstracts, each of one passage, from which one prompt predicts questions."""

SENTENCES, SENTENCE_TOKENS = 10, 60
"""The number of sentences of the files' stored abstract that a published prediction reads, and the most tokens
of each.
"""

_ROUND_MARK = "published_round"

_KNOWN = 0.999
"""The cosine from which on two questions count as the same, up to rounding."""


def so_many(items: Iterator[Predicted | Step], most: int) -> Iterator[Predicted | Step]:
    """Yield the items up to and including question number `most`: questions, and the model's steps between them."""
    for item in items:
        yield item
        most -= isinstance(item, Predicted)
        if not most:
            return


@dataclass(frozen=True)
class FromFiles(Prediction):
    """The app's own prediction of questions from files, before the first question."""

    def questions(self) -> Iterator[Predicted | Step]:
        """Yield questions from the files: `AHEAD` times as many as the app predicts in one step."""
        return so_many(self._from_passages(), AHEAD * self.stride)


@dataclass(frozen=True)
class FromHistory(Prediction):
    """The app's own prediction after a question. It predicts as many questions as one published prediction does."""

    def questions(self) -> Iterator[Predicted | Step]:
        """Yield the likeliest questions."""
        return so_many(self._from_history(), self.stride)


@dataclass(frozen=True)
class Nothing(Prediction):
    """A stand-in for a predictor of questions that predicts none, for arms without prediction."""

    def questions(self) -> Iterator[Predicted | Step]:
        """Return no questions: nothing is predicted."""
        return iter(())

    def likeliest(self) -> Iterator[StoredPassage]:
        """Return no passages: nothing is predicted."""
        return iter(())

    def newest(self) -> Iterator[StoredPassage]:
        """Return no passages: nothing is predicted."""
        return iter(())


@dataclass(frozen=True)
class Published(Nothing):
    """Prediction with the paper's prompts (B.3): `times` rounds from the stored abstract of the files, or with 0, from
    the questions asked so far.

    Each round reads the next sentences of the abstract, from the first again after the last; a sentence is written once
    it is needed. `kind` is the word for the files in the prompts.
    """

    times: int = 0
    kind: str = "personal files"

    def questions(self) -> Iterator[Predicted | Step]:
        """Yield the questions that the model generated."""
        for _ in range(self.times):
            yield from self._from_kept_abstract()
        if not self.times:
            prompt = published.history_prompt(self.kind, self._latest(), self.stride)
            yield from self._asked(prompt, Trace(), "your earlier questions")

    def _from_kept_abstract(self) -> Iterator[Predicted | Step]:
        """Yield questions from the next sentences of the stored abstract of all files."""
        assert self.abstracts
        trace, mark = Trace(), self._mark()
        passages = self.assistant.retriever.store.passages_after(mark, SENTENCES * self.stride)
        for start in range(0, len(passages), self.stride):
            self._kept_abstract(passages[start : start + self.stride], trace)
        if passages:
            self.counters.set(KNOWLEDGE_MARK, passages[-1].id)
        sentences, done = self.abstracts.all(), int(self.counters.all().get(_ROUND_MARK, 0))
        start = done * SENTENCES % max(len(sentences), 1)
        self.counters.set(_ROUND_MARK, done + 1)
        prompt = published.knowledge_prompt(self.kind, sentences[start : start + SENTENCES], self.stride)
        yield from self._asked(prompt, trace, "the abstract of your files")

    def _asked(self, prompt: str, trace: Trace, source: str) -> Iterator[Predicted | Step]:
        """Yield the questions that the model writes for a prompt."""
        said = self._questions(prompt, trace)
        questions = self._new(predictor.parse(said, self.stride), self.stride)
        yield Step.traced("predict", f"questions from {source}: {len(questions)}", "the prompt is new", trace)
        for question in questions:
            yield Predicted(question, source)

    def _abstract(self, passages: Sequence[StoredPassage], trace: Trace) -> str:
        """Return the sentence that the model writes about the passages."""
        return self._written(published.abstract_prompt(passages), SENTENCE_TOKENS, trace).strip()

    def _new(self, candidates: Sequence[str], most: int, near: Vectors | None = None) -> list[str]:  # noqa: ARG002
        """Return the candidate questions that are not known already, compared up to rounding."""
        vectors = self.assistant.embedder.embed(candidates)
        return [
            candidate
            for candidate, vector in zip(candidates, vectors, strict=True)
            if self.bank.nearest(vector) < _KNOWN
        ]


@dataclass(frozen=True)
class Prompted(Published):
    """Prediction with the paper's prompts from every passage: `stride` questions per two abstracts."""

    def questions(self) -> Iterator[Predicted | Step]:
        """Yield the questions that the model generated."""
        passages = self.assistant.retriever.store.passages_after(0, EVERY)
        for start in range(0, len(passages), ABSTRACTS):
            trace, some = Trace(), passages[start : start + ABSTRACTS]
            abstracts = [Prediction._abstract(self, [passage], trace) for passage in some]
            said = self._questions(predictor.knowledge_prompt(abstracts, self.stride), trace)
            questions = self._new(predictor.parse(said, self.stride), self.stride)
            yield Step.traced("predict", f"questions from abstracts: {len(questions)}", "passages are new", trace)
            for question in questions:
                yield Predicted(question, some[-1].title)


@dataclass(frozen=True)
class OfFiles(Nothing):
    """The app's own prediction of questions from every passage."""

    def questions(self) -> Iterator[Predicted | Step]:
        """Yield all predicted questions."""
        return self._from_passages()


@dataclass(frozen=True)
class OfAbstracts(Nothing):
    """The app's own prediction of questions from abstracts of every passage."""

    def questions(self) -> Iterator[Predicted | Step]:
        """Yield all predicted questions."""
        return self._from_abstracts()
