"""Questions with known answers, on which pipelines are measured, and the recall of passages found for them. Apart from
reading the file, pure functions.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from shared.errors import NothingFound, UsageError
from shared.printable import safe_line
from shared.protocol.messages import PublicPassage

RESAMPLES = 20_000
"""The number of resamples in the paired bootstrap (Efron and Tibshirani, 1993, chapter 13)."""

_LONGEST_QUESTION = 8192


@dataclass(frozen=True, slots=True)
class KnownQuestion:
    """A question with either the ids of its relevant passages, as the index's sources name them, or its possible
    answers, one of which a relevant passage contains.
    """

    question: str
    ids: frozenset[str] = frozenset()
    answers: tuple[str, ...] = ()

    def relevant(self, passage: PublicPassage) -> bool:
        """Return whether the passage has a relevant id or, if no ids are known, contains an answer."""
        if self.ids:
            return bool(self._names(passage) & self.ids)
        text = _words(f"{passage.title} {passage.text}")
        return any(_words(answer) in text for answer in self.answers)

    def recall(self, passages: Sequence[PublicPassage]) -> float:
        """Return the share of the relevant ids that the passages cover; without ids, 1 if a passage contains an answer,
        else 0.
        """
        if not self.ids:
            return float(any(map(self.relevant, passages)))
        names = set[str]().union(*map(self._names, passages))
        return len(names & self.ids) / len(self.ids)

    @staticmethod
    def _names(passage: PublicPassage) -> set[str]:
        return {passage.path, passage.path.rpartition("#")[2]} - {""}


class _Line(msgspec.Struct):
    question: str
    ids: list[str | int] = []
    answer: str | list[str] = []
    answers: list[str] = []


def read_questions(path: Path) -> list[KnownQuestion]:
    """Return the questions in a JSON Lines file. Raises UsageError, NothingFound."""
    decoder = msgspec.json.Decoder(_Line)
    questions = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({(error.strerror or str(error)).lower()}).") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            questions.append(_known(decoder.decode(line)))
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
            raise UsageError(
                f"Line {number} of {path} is not a question: {safe_line(str(error))}. A line is "
                '{"question": "…", "ids": ["…"]} or {"question": "…", "answer": "…"}.'
            ) from None
    if not questions:
        raise NothingFound(f"{path} holds no question.")
    return questions


def _known(line: _Line) -> KnownQuestion:
    listed = [line.answer] if isinstance(line.answer, str) else line.answer
    answers = tuple(answer for answer in (*listed, *line.answers) if _words(answer).strip())
    ids = frozenset(map(str, line.ids))
    if not line.question.strip() or len(line.question) > _LONGEST_QUESTION:
        raise ValueError("its question is empty or too long")
    if not (ids or answers):
        raise ValueError("it has neither ids nor an answer")
    return KnownQuestion(line.question, ids, answers)


def interval(differences: Sequence[float], level: float) -> tuple[float, float]:
    """Return the confidence interval of the mean of paired differences, from the percentiles of a paired bootstrap.

    Equal differences are resampled together: the counts of the distinct values are multinomial.
    """
    values, counts = np.unique(np.asarray(differences, np.float64), return_counts=True)
    total = int(counts.sum())
    drawn = np.random.default_rng(0).multinomial(total, counts / total, RESAMPLES)
    means: npt.NDArray[np.float64] = drawn @ values / total
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _words(text: str) -> str:
    """Return the text's words in lower case, with a space around each, so that `in` compares whole words."""
    words = " ".join(re.findall(r"\w+", text.casefold()))
    return f" {words} "
