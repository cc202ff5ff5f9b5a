"""What will be asked next: prompts for the model, what is kept of its replies, and which of it (PerCache, 4.1.2, B.3).

Knows no engine and no store: the caller lets a model write to a prompt, embeds, retrieves and answers.
"""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shared.prompt import passage_text
from shared.types import StoredPassage

Vectors = npt.NDArray[np.float32]
"""Unit vectors, shape (texts, dimensions)."""

Scores = npt.NDArray[np.float32]

STRIDE = 5
"""Questions predicted at a time (PerCache, Table 1)."""

ALIKE = 0.9
"""Cosine from which two questions count as one: what is cached for the first would be served for the second."""

RECENT = 5
"""Questions from which what comes next is read."""

FADING, SAME_DOCUMENT, NEXT_DOCUMENT = 0.5, 0.3, 0.15
"""How much a question counts against the one after it, and what a place beside its source adds to a cosine."""

LEAST_WORDS, MOST_WORDS = 4, 30

# A list's items, whether each has a line or all stand in one.
_BORDER = re.compile(r"[\r\n]+|(?<=\?)[\"”’*]*[;,]?\s+(?=\(?\d{1,2}[.):])")
_MARK = re.compile(r"\s*(?:[-*•–]\s+)?(?:\(?\d{1,2}[.):]+\s*)?(?:(?:question|q)\s?\d{0,2}\s?[.):]+\s*)?", re.IGNORECASE)
_QUOTES = "\"“”‘’'`*_ \t"
_PLACEHOLDER = re.compile(r"X{2,}|_{2,}|\.{3}|…|[\[\]{}<>]")
# The model speaks of itself or to the person, or of the prompt: nobody asks their files such a thing.
_ASIDE = re.compile(
    r"\b(?:your|yours|yourself|AI|assistant|chatbot|language model"
    r"|(?:this|the|these|above|following|given|provided) "
    r"(?:text|passage|paragraph|sentence|summary|abstract|author|speaker)s?)\b"
    r"|\byou\b(?<!^can you)(?<!^could you)(?<!^will you)(?<!^would you)",
    re.IGNORECASE,
)
_CARELESS = re.compile(
    r"(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|has|have|had|can|could)\b[^?]*[^?.!\s]",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+(?:[-'’.]\w+)*")


# The prompts say little. Told whose questions these are, what to mind and how to write them down, the smallest model
# writes fewer and vaguer ones; `parse` sees to the form.


def history_prompt(history: Sequence[str], stride: int = STRIDE) -> str:
    """The turn that asks for questions like those asked before, the latest last (PerCache, Figure 28)."""
    listed = "\n".join(history)
    return f"{listed}\n\nWrite {stride} more questions like these."


def abstract_prompt(passages: Sequence[StoredPassage]) -> str:
    """The turn that asks for one sentence about some passages (PerCache, Figure 26)."""
    texts = "\n".join(map(passage_text, passages))
    return f"{texts}\nSummarize this in one sentence."


def knowledge_prompt(abstracts: Sequence[str], stride: int = STRIDE) -> str:
    """The turn that asks for questions about what is known, from its abstracts (PerCache, Figure 27)."""
    listed = "\n".join(abstracts)
    return f"{listed}\n\nWrite {stride} questions about this."


def parse(text: str, stride: int = STRIDE) -> list[str]:
    """The questions in a model's reply, at most `stride`; what rambles, repeats or was cut off is left out."""
    by_text: dict[str, str] = {}
    for item in _BORDER.split(text):
        question = " ".join(item[_item_start(item) :].strip(_QUOTES).split())
        if _is_question(question):
            by_text.setdefault(normalised(question), question)
    return list(by_text.values())[:stride]


def as_question(text: str) -> str:
    """What a model wrote where it was asked for one question; what it was taught with people typed, some carelessly."""
    text = text.strip()
    return f"{text[0].upper()}{text[1:]}?" if _CARELESS.fullmatch(text) else text


def choose(candidates: Sequence[str], embeddings: Vectors, limit: int, near: Vectors | None = None) -> list[str]:
    """The first `limit` candidates that are like none before them.

    `embeddings` has a row for each candidate. They are taken in the order given, or the nearest to the vector `near`
    first, shape (dimensions,): of the questions made of a passage, those are what it is about.
    """
    order = range(len(candidates)) if near is None else np.argsort(-(embeddings @ near), kind="stable").tolist()
    kept: list[int] = []
    for number in order:
        if len(kept) == limit:
            break
        if float((embeddings[kept] @ embeddings[number]).max(initial=-1.0)) <= ALIKE:
            kept.append(number)
    return [candidates[number] for number in kept]


def expected_use(
    passages: Sequence[StoredPassage], vectors: Vectors, asked: Vectors, sources: Sequence[StoredPassage]
) -> Scores:
    """How much each passage is expected to be asked about next, shape (passages,): the more, the sooner to predict for.

    `asked` holds the questions so far, the latest last, `sources` the passage that answered each; the last RECENT are
    read. What counts is nearness to them, and standing in the same document as a source, or in the one before or behind
    it in its file: people go on with what they have begun. Each question counts half as much as the one after it.
    """
    asked, sources = asked[-RECENT:], sources[-RECENT:]
    weights = FADING ** np.arange(len(sources) - 1, -1, -1, dtype=np.float32)
    scores: Scores = vectors @ (asked.T @ weights) / max(float(weights.sum()), 1.0)
    for source, weight in zip(sources, weights.tolist(), strict=True):
        for number, passage in enumerate(passages):
            if passage.path == source.path:
                distance = abs(passage.document_id - source.document_id)
                scores[number] += weight * (SAME_DOCUMENT, NEXT_DOCUMENT, 0.0)[min(distance, 2)]
    return scores


def normalised(question: str) -> str:
    """The question as repetitions are told by: its words alone, in small letters."""
    return " ".join(_WORD.findall(question.casefold()))


def _item_start(item: str) -> int:
    mark = _MARK.match(item)
    return mark.end() if mark else 0


def _is_question(text: str) -> bool:
    return (
        text.endswith("?")
        and text.count("?") == 1
        and not re.search(r"[.!:;]\s", text)
        and LEAST_WORDS <= len(_WORD.findall(text)) <= MOST_WORDS
        and not _PLACEHOLDER.search(text)
        and not _ASIDE.search(text)
    )
