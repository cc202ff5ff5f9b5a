"""What a newcomer may ask first: a few questions that the person's own files answer, each from another document.

Made as predictions are (device_app/ahead/prediction.py), so each finds its own passage. Needs the embedder alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from device_app.ahead.prediction import Prediction
from shared.text import embedded_text
from shared.types import StoredPassage

LOOKED_AT = 36
"""Passages that questions are made from: two or three seconds of work on a phone."""

_OWN_KIND = 0.2
"""What being of a kind that no other suggestion is of adds to a cosine."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """A question, the document and its kind that it was made from, and its cosine with that passage."""

    question: str
    document: int
    kind: str
    nearness: float


def suggest(prediction: Prediction, count: int) -> list[str]:
    """So many questions, or as many as can be made. Raises StoreError, and what the embedder raises."""
    suggested = []
    for passage in prediction.assistant.retriever.store.spread(LOOKED_AT):
        suggested += _about(prediction, passage)
    return choose(suggested, count)


def choose(suggested: Sequence[Suggested], count: int) -> list[str]:
    """The nearest to their passages first, if possible each of another document and kind than those before."""
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
