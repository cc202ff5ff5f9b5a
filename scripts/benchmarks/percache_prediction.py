"""What the arms predict: as the app does, in the protocol of PerCache's section 5.3, or with the paper's prompts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from device_app.cache import predictor
from device_app.cache.prediction import HISTORY, Predicted, Prediction
from device_app.work import Step
from shared.prompt import passage_text
from shared.types import StoredPassage

AHEAD = 2
"""Predictions from the files before the first question (PerCache, section 5.3)."""

_ABSTRACTS = 2
"""Abstracts that one published prediction is made from, each of `stride` passages."""

_ABSTRACT_TOKENS, _QUESTION_TOKENS = 60, 40
_KNOWN = 0.999
"""Cosine of a question with itself, but for rounding."""


@dataclass(frozen=True)
class FromFiles(Prediction):
    """The app's own prediction before the first question."""

    def questions(self) -> Iterator[Predicted]:
        """So many predictions from the files."""
        return islice(self._from_knowledge(), AHEAD * self.stride)


@dataclass(frozen=True)
class FromHistory(Prediction):
    """The app's own prediction after a question."""

    def questions(self) -> Iterator[Predicted | Step]:
        """A prediction from what was asked."""
        return self._from_history()


@dataclass(frozen=True)
class Nothing(Prediction):
    """No prediction."""

    def questions(self) -> Iterator[Predicted]:
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

    def questions(self) -> Iterator[Predicted]:
        """What the model wrote, less what is known already."""
        for turn in range(self.times or 1):
            prompt, source = self._abstracts(turn) if self.times else self._history()
            said = self.assistant.source().write(prompt, _QUESTION_TOKENS * self.stride)
            for question in predictor.parse(said, self.stride):
                if self.bank.nearest(self.assistant.embedder.embed([question])[0]) < _KNOWN:
                    yield Predicted(question, source)

    def _history(self) -> tuple[str, str]:
        asked = [question for _, question in self.assistant.conversations.questions(HISTORY)]
        return predictor.history_prompt(asked, self.stride), "what was asked before"

    def _abstracts(self, turn: int) -> tuple[str, str]:
        """From where the last prediction stopped; from the beginning where all was read."""
        store, mark = self.assistant.retriever.store, int(self.counters.all().get("abstracted_passage", 0))
        abstracts = []
        for _ in range(_ABSTRACTS):
            passages = store.passages_after(mark, self.stride) or store.passages_after(0, self.stride)
            mark = passages[-1].id
            said = self.assistant.source().write(abstract_prompt(passages), _ABSTRACT_TOKENS)
            abstracts.append(said.strip())
        self.counters.set("abstracted_passage", mark)
        return knowledge_prompt(abstracts, self.stride), f"abstracts {turn}"


def abstract_prompt(passages: Sequence[StoredPassage]) -> str:
    """The turn that asks for one sentence about some passages (PerCache, Figure 26)."""
    texts = "\n".join(map(passage_text, passages))
    return f"{texts}\nSummarize this in one sentence."


def knowledge_prompt(abstracts: Sequence[str], stride: int) -> str:
    """The turn that asks for questions about what is known, from its abstracts (PerCache, Figure 27)."""
    listed = "\n".join(abstracts)
    return f"{listed}\n\nWrite {stride} questions about this."
