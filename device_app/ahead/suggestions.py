"""Suggests first questions to a new person: a few that their own files answer, each from another document.

Made like predictions (device_app/ahead/prediction.py), so that each retrieves its own passage. Needs only the embedder.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from device_app.ahead.prediction import Prediction
from shared.text import embedded_text
from shared.types import StoredPassage

LOOKED_AT = 36
"""The number of passages that questions are made from: two or three seconds of work on a phone."""

_OWN_KIND = 0.2
"""The addition to a cosine if no chosen suggestion is from a document of the same kind."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """A question, the document that it was made from, that document's kind, and its cosine with the passage."""

    question: str
    document: int
    kind: str
    nearness: float


def suggest(prediction: Prediction, count: int) -> list[str]:
    """Return `count` questions, or as many as can be made. Raises StoreError, and the embedder's errors."""
    suggested = []
    for passage in prediction.assistant.retriever.store.spread(LOOKED_AT):
        suggested += _about(prediction, passage)
    return choose(suggested, count)


def choose(suggested: Sequence[Suggested], count: int) -> list[str]:
    """Return the questions nearest to their passages, each of another document and kind if possible."""
    left, chosen = list(suggested), list[Suggested]()
    while left and len(chosen) < count:
        documents, kinds = {candidate.document for candidate in chosen}, {candidate.kind for candidate in chosen}
        left.sort(
            key=lambda candidate: (
                candidate.document in documents,
                -candidate.nearness - _OWN_KIND * (candidate.kind not in kinds),
            )
        )
        chosen.append(left.pop(0))
    return [candidate.question for candidate in chosen]


def _about(prediction: Prediction, passage: StoredPassage) -> list[Suggested]:
    questions = prediction.about(passage)
    if not questions:
        return []
    near, *vectors = prediction.assistant.embedder.embed([embedded_text(passage.title, passage.text), *questions])
    return [
        Suggested(question, passage.document_id, passage.kind, float(near @ vector))
        for question, vector in zip(questions, vectors, strict=True)
    ]
