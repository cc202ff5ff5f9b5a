"""Predicts questions: writes prompts for the model, parses its replies, and chooses among them (PerCache, 4.1.2, B.3).

Pure: the caller runs the model on a prompt, embeds, retrieves and answers.
"""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from device_app.english import questions, words
from device_app.english.query import Query
from shared.prompt import passage_text
from shared.types import StoredPassage

Vectors = npt.NDArray[np.float32]
"""Unit vectors, shape (texts, dimensions)."""

Scores = npt.NDArray[np.float32]

STRIDE = 5
"""The number of questions predicted at a time (PerCache, Table 1)."""

ALIKE = 0.9
"""The cosine from which two questions count as one: a cached answer to the first would serve the second."""

RECENT = 5
"""The number of latest questions used to predict the next ones."""

FADING, SAME_DOCUMENT, NEXT_DOCUMENT = 0.5, 0.3, 0.15
"""Three numbers: a question's weight relative to that of the question after it; bonuses for passages in the document
that answered a question, and in the documents before and after that one.
"""

LIKED = 0.1
"""The most that is added to a question's nearness because the person often asks questions of its form."""

NAMED, DATED = 0.2, 0.2
"""Bonuses for passages with a person, and for passages of a day, that the latest questions name."""

LEAST_WORDS, MOST_WORDS = 4, 30

# Separates the items of a list, on lines of their own or all on one line.
_BORDER = re.compile(r"[\r\n]+|(?<=\?)[\"”’*]*[;,]?\s+(?=\(?\d{1,2}[.):])")
_MARK = re.compile(r"\s*(?:[-*•–]\s+)?(?:\(?\d{1,2}[.):]+\s*)?(?:(?:question|q)\s?\d{0,2}\s?[.):]+\s*)?", re.IGNORECASE)
_QUOTES = "\"“”‘’'`*_ \t"
_PLACEHOLDER = re.compile(r"X{2,}|_{2,}|\.{3}|…|[\[\]{}<>]")
# The model refers to itself, the person, or the prompt: not a question to one's files.
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


# The prompts are short. With instructions on whose questions these are, or on their form, the smallest model writes
# fewer and vaguer ones; `parse` checks the form.


def history_prompt(history: Sequence[str], stride: int = STRIDE) -> str:
    """Return the prompt for `stride` questions like the earlier ones, oldest first (PerCache, Figure 28)."""
    listed = "\n".join(history)
    return f"{listed}\n\nWrite {stride} more questions like these."


def abstract_prompt(passages: Sequence[StoredPassage]) -> str:
    """Return the prompt for one sentence about some passages (PerCache, Figure 26)."""
    texts = "\n".join(map(passage_text, passages))
    return f"{texts}\nSummarize this in one sentence."


def knowledge_prompt(abstracts: Sequence[str], stride: int = STRIDE) -> str:
    """Return the prompt for `stride` questions about the files, from their abstracts (PerCache, Figure 27)."""
    listed = "\n".join(abstracts)
    return f"{listed}\n\nWrite {stride} questions about this."


def parse(text: str, stride: int = STRIDE) -> list[str]:
    """Return the questions in a model's reply, at most `stride`, without duplicates and incomplete ones."""
    by_text: dict[str, str] = {}
    for item in _BORDER.split(text):
        question = " ".join(item[_item_start(item) :].strip(_QUOTES).split())
        if _is_question(question):
            by_text.setdefault(normalised(question), question)
    return list(by_text.values())[:stride]


def as_question(text: str) -> str:
    """Return a generated question with a capital and a question mark.

    The model may leave them out, as it learned from questions that people typed.
    """
    text = text.strip()
    return f"{text[0].upper()}{text[1:]}?" if _CARELESS.fullmatch(text) else text


def choose(
    candidates: Sequence[str],
    embeddings: Vectors,
    limit: int,
    near: Vectors | None = None,
    liking: Sequence[float] = (),
) -> list[str]:
    """Return the first `limit` candidates that differ from those chosen before them.

    `embeddings` has a row for each candidate. Candidates are taken in the order given or, with a vector `near`, shape
    (dimensions,), nearest first: of a passage's questions, the nearest to the passage are about its subject. `liking`
    is how often the person asks questions of each candidate's form, 0..1; it adds at most LIKED to the nearness.
    """
    order: Sequence[int] = range(len(candidates))
    if near is not None:
        liked = LIKED * np.array(liking or [0.0] * len(candidates), np.float32)
        order = np.argsort(-(embeddings @ near + liked), kind="stable").tolist()
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
    """Return scores, shape (passages,), of how likely each passage is to be asked about next.

    `vectors` are those of the passages. `asked` holds the vectors of the questions so far, latest last, `sources` the
    passage that answered each; the last RECENT are used. A score sums the similarity to these questions, and a bonus
    for a passage in a source's document, or in the one before or after it in its file, since people stay with a
    subject. Each question weighs half as much as the next one.
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


def asked_about(passages: Sequence[StoredPassage], asked: Sequence[Query]) -> Scores:
    """Return a bonus for each passage whose people or day the questions name; shape (passages,)."""
    named = frozenset(name for question in asked for name in words.names(question.text))
    days = [day for question in asked for day in question.days]
    scores: Scores = np.zeros(len(passages), np.float32)
    for place, passage in enumerate(passages):
        people = words.content_words(" ".join(map(questions.short_name, passage.people)))
        scores[place] += NAMED * bool(named.intersection(people))
        on = (passage.date or "")[:10]
        scores[place] += DATED * any(first.isoformat() <= on <= last.isoformat() for first, last in days)
    return scores


def normalised(question: str) -> str:
    """Return the words of the question in lower case, for finding repetitions."""
    return " ".join(_WORD.findall(question.casefold()))


def _item_start(item: str) -> int:
    mark = _MARK.match(item)
    return mark.end() if mark else 0


def _is_question(text: str) -> bool:
    counts = len(_WORD.findall(text)), len(text.split())  # marks may join words, or stand alone
    return (
        text.endswith("?")
        and text.count("?") == 1
        and not re.search(r"[.!:;]\s", text)
        and min(counts) >= LEAST_WORDS
        and max(counts) <= MOST_WORDS
        and not _PLACEHOLDER.search(text)
        and not _ASIDE.search(text)
    )
