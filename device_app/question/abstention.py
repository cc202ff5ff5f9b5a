"""Handles abstentions: a trained model writes the text `NOT_FOUND` if the passages do not contain the answer.

That text is held back, and replaced by a sentence for the person.
"""

from collections.abc import Iterable, Iterator, Sequence

from shared.ending import Piece
from shared.prompt import NOT_FOUND, is_not_found
from shared.types import Hit

NOT_TOLD = "Your files do not seem to answer this."
NOT_TOLD_THERE = "Your files have nothing on this, and the server's passages do not seem to answer it."
NOT_TOLD_ANYWHERE = "Neither your files nor the server's passages seem to answer this."

NEAREST = "Nearest passages:"
"""The heading of the passages that are shown because they gave no answer."""

NEAREST_SHOWN = 3
"""The most passages shown in place of an answer."""

_STEM = NOT_FOUND.rstrip(".")


def not_told(hits: Sequence[Hit]) -> str:
    """Return the sentence for the person that the passages of `hits` do not contain the answer."""
    sides = {hit.side for hit in hits}
    if "server" not in sides:
        return NOT_TOLD
    return NOT_TOLD_ANYWHERE if "device" in sides else NOT_TOLD_THERE


def nearest(read: Sequence[Hit], near: Sequence[Hit]) -> Sequence[Hit]:
    """Return the passages shown when the model abstains: the first of those `near` the question, if all that were
    `read` are among them; else those `read`.
    """
    known = {hit.passage.id for hit in near if hit.side == "device"}
    mine = all(hit.side == "device" and hit.passage.id in known for hit in read)
    return near[:NEAREST_SHOWN] if mine else read


def relevance(hits: Iterable[Hit]) -> float | None:
    """Return the highest relevance score of the passages; None without passages, or if one is from a server, which
    scores differently.
    """
    given = list(hits)
    return max((hit.score for hit in given), default=None) if all(hit.side == "device" for hit in given) else None


def shown(pieces: Iterable[Piece], said: list[Piece]) -> Iterator[str]:
    """Yield the text of an answer that may be shown: not `NOT_FOUND`, the model's "no answer", and no blank answer.

    A beginning of `NOT_FOUND` is held back until more text comes. Each piece is also appended to `said` as it comes,
    shown or not.
    """
    held, clear = "", False
    for piece in pieces:
        said.append(piece)
        held += piece.text
        clear = clear or not _may_become(held)
        if clear:
            yield held
            held = ""
    if held.strip() and not is_not_found(held):
        yield held


def _may_become(text: str) -> bool:
    """Return whether the text is, or may become, `NOT_FOUND`: a model's statement that it has no answer."""
    return _STEM.startswith(text.lstrip()) or is_not_found(text)
