"""Selects the questions that are worth predicting: new, as this person asks, and not answered without a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from device_app.ahead import predictor, usefulness
from device_app.ahead.usefulness import Tally
from device_app.answering import quoting
from device_app.answering.assistant import Assistant
from device_app.cache.answers.bank import QABank
from device_app.english import query
from device_app.english.first_person import in_first_person
from device_app.everyday.rule import Asked
from device_app.question.options import Options
from shared.errors import UsageError
from storage.vectors import Vectors

_SPARE = 2
"""How many times as many questions are chosen as wanted, since rules or quotes answer some."""


def own_names(assistant: Assistant) -> frozenset[str]:
    """Return the names of the person whose files these are; empty if they are not known. Raises StoreError."""
    return assistant.retriever.people.mine


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection for one person. `tallies` are those of earlier predictions (`usefulness`)."""

    assistant: Assistant
    options: Options
    bank: QABank
    tallies: Mapping[str, Tally]

    def of(self, candidates: Sequence[str], most: int, asked: Sequence[str], near: Vectors | None = None) -> list[str]:
        """Return at most `most` candidates, in the first person, that differ from kept questions and each other.

        With `near`, shape (dimensions,), the nearest come first, those of the forms that the person has `asked` a
        little sooner. None is of a form that is asked too rarely, or answered without a model.
        """
        own = own_names(self.assistant)
        worth = dict.fromkeys(in_first_person(candidate, own) for candidate in candidates)
        texts = [text for text in worth if usefulness.is_worth(text, self.tallies)]
        if not texts:
            return []
        vectors = self.assistant.embedder.embed(texts)
        fresh = [place for place, vector in enumerate(vectors) if self.bank.nearest(vector) <= predictor.ALIKE]
        some = [texts[place] for place in fresh]
        liking = usefulness.liking(some, asked)
        chosen = predictor.choose(some, vectors[fresh], _SPARE * most, near, liking)
        return [question for question in chosen if self._needs_model(question)][:most]

    def _needs_model(self, question: str) -> bool:
        """Return whether neither a rule nor a quote answers the question: these cost nothing when it is asked."""
        now = self.assistant.clock()
        try:
            asked = query.parse(question, now.date())
        except UsageError:  # an invalid filter in the question: it cannot be asked
            return False
        is_quoted = quoting.search_query(asked, self.options) != asked
        return not is_quoted and self.assistant.everyday.answer(Asked(asked, now)) is None
