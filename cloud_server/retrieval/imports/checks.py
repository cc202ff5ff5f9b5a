"""Checks whether vectors fit an index, and whether an embedder makes the same vectors of their texts. Pure
functions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cloud_server.retrieval.shards import Vectors
from shared.errors import UsageError
from shared.text import embedded_text
from storage.public_passages import PassageText

IS_UNIT = 1e-3
"""The deviation from length 1 up to which a vector counts as a unit vector: twice the deviation that rounding to half
precision causes.
"""

AGREES = 0.95
"""The least cosine between an imported vector and the embedder's vector of the same text at which both count as made by
the same model.
"""

_LEAST_AGREE = 0.9
_LEAST_IN_STEP = 0.5

TEMPLATES: tuple[tuple[str, Callable[[str, str], str]], ...] = (
    ("the text", lambda _, text: text),
    ("title, line break, text", embedded_text),
    ("title, blank, text", lambda title, text: f"{title} {text}"),
    ("title, full stop, text", lambda title, text: f"{title}. {text}"),
)
"""Common ways to join a passage's title and text for embedding: a description, and a function of title and text."""


def unit(vectors: Vectors, row: int) -> tuple[Vectors, int]:
    """Return the vectors scaled to unit length, and how many had another length. `row` is the row number of the first
    vector.

    Raises UsageError, with the row, for NaN, infinity or a zero vector.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    usable = np.isfinite(lengths) & (lengths > 0)
    if not usable.all():
        at = int(np.argmin(usable))
        reason = "is all zeros" if lengths[at] == 0 else "holds a number that is NaN or infinite"
        raise UsageError(
            f"The vector of row {row + at:,}, counted from 0, {reason}. Remove the vector and its text, or "
            "compute the vector again."
        )
    is_other = np.abs(lengths - 1) > IS_UNIT
    count = int(is_other.sum())
    if count:
        vectors = vectors.copy()
        vectors[is_other] = (vectors[is_other] / lengths[is_other, None]).astype(np.float32)
    return vectors, count


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of a block: row numbers, their documents, and their unit vectors, shape (rows, dimensions)."""

    rows: Sequence[int]
    documents: Sequence[PassageText]
    vectors: Vectors


Embed = Callable[[Sequence[str]], Vectors]


def choose_template(sample: Sample, embed: Embed) -> tuple[int, Vectors]:
    """Return the number of the template (a way to join title and text) whose vectors are nearest to the sample's, and
    the cosines.

    Raises UsageError if too many rows have a cosine below `AGREES`: another model made the vectors, or they belong to
    other texts.
    """
    cosines = [_cosines(sample, number, embed) for number in range(len(TEMPLATES))]
    best = int(np.argmax([np.median(values) for values in cosines]))
    nearest = cosines[best]
    share, middle = float((nearest >= AGREES).mean()), float(np.median(nearest))
    if share >= _LEAST_AGREE:
        return best, nearest
    if share < _LEAST_IN_STEP:
        raise UsageError(
            f"The vectors were not made of these texts by the server's embedder: of {len(nearest)} texts embedded "
            f"again, {share:.0%} have the same vector (median cosine {middle:.2f}). Questions have to be embedded by "
            "the model that made the vectors: name it with --embedder, with its prefixes; or check that texts and "
            "vectors are in the same order."
        )
    raise _out_of_step(sample, nearest)


def check_template(sample: Sample, template: int, embed: Embed) -> Vectors:
    """Return the cosines between the vectors of a later block's sample and the embedder's vectors, with the chosen way
    to join title and text.

    Raises UsageError if half of the rows or more have a cosine below `AGREES`.
    """
    cosines = _cosines(sample, template, embed)
    if (cosines >= AGREES).mean() <= _LEAST_IN_STEP:
        raise _out_of_step(sample, cosines)
    return cosines


def _cosines(sample: Sample, template: int, embed: Embed) -> Vectors:
    text_of = TEMPLATES[template][1]
    again = embed([text_of(document.title, document.text) for document in sample.documents])
    cosines: Vectors = np.einsum("ij,ij->i", again, sample.vectors)
    return cosines


def _out_of_step(sample: Sample, cosines: Vectors) -> UsageError:
    at = int(np.argmin(cosines))
    return UsageError(
        f"The vectors do not belong to these texts: of {len(cosines)} texts embedded again near row "
        f"{sample.rows[at]:,}, {int((cosines < AGREES).sum())} have other vectors (lowest cosine {cosines[at]:.2f}). "
        "Check that texts and vectors are in the same order, and none is missing."
    )
