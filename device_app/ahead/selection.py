"""Selects the predicted questions that are worth preparing.

They are new, need a model, and have a form ("when", "how much") in which this person often asks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from device_app.ahead import predictor, usefulness
from device_app.ahead.usefulness import Tally
from device_app.answering.assistant import Assistant
from device_app.cache.answers.bank import QABank
from device_app.english import query
from device_app.english.first_person import in_first_person
from device_app.everyday.rule import Asked
from device_app.question.options import Options
from device_app.question.request import search_query_of
from shared.errors import UsageError
from storage.vectors import Vectors

_SPARE = 2
"""The factor by which more questions are chosen than requested, since rules or quotes answer some of them."""


def own_names(assistant: Assistant) -> frozenset[str]:
    """Return the names of the owner of the files; empty if the owner is not known. Raises StoreError."""
    return assistant.retriever.people.mine


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of questions to predict for one person. `tallies` count earlier predictions (`usefulness`)."""

    assistant: Assistant
    options: Options
    bank: QABank
    tallies: Mapping[str, Tally]

    def of(self, candidates: Sequence[str], most: int, asked: Sequence[str], near: Vectors | None = None) -> list[str]:
        """Return at most `most` candidates, in the first person, that differ from kept questions and from each other.

        With `near`, shape (dimensions,), the nearest come first, with a bonus for the forms of the questions `asked` so
        far. Questions of a form that is asked too rarely, and those answered without a model, are left out.
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
        """Return whether neither a rule nor a quote answers the question: both cost nothing when it is asked."""
        now = self.assistant.clock()
        try:
            asked = query.parse(question, now.date())
        except UsageError:  # an invalid filter in the question: it cannot be asked
            return False
        is_quoted = search_query_of(asked, self.options) != asked
        return not is_quoted and self.assistant.everyday.answer(Asked(asked, now)) is None
