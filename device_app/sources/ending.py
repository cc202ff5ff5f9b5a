"""Where an answer ends although the model goes on: it says a sentence again, turns in a circle, or plays the user.

Small models do so. Sampling differently would change good answers as well; ending here changes none. What may be the
beginning of a repetition is held back until it is clear, so that nothing shown has to be taken away.
"""

import re
from collections.abc import Iterable, Iterator

from device_app.sources.local import Piece

_BORDER = re.compile(r"(?<=[.!?])\s+|\n\s*")
_NOISE = re.compile(r"\W+")
_USER_TURN = re.compile(r"\s*(?:earlier question|question|user)\s*:", re.IGNORECASE)
_USER_TURNS = ("earlier question", "question", "user")
_LEAST_WORDS = 3
"""A shorter sentence may well be said twice ("Yes.")."""

_LONGEST_CIRCLE, _LEAST_TURNS, _LEAST_TOKENS = 12, 4, 16


def ended(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces up to where the answer repeats itself or the user's turn begins."""
    said: set[str] = set()
    held: list[Piece] = []
    tokens: list[int] = []
    sentence = ""
    for piece in pieces:
        tokens.append(piece.token)
        held.append(piece)
        *whole, sentence = _BORDER.split(sentence + piece.text)
        for one in whole:
            if _again(one, said) or _USER_TURN.match(one):
                return
            said.add(_normalised(one))
        if whole:  # all before this piece ends a sentence that may be shown, and so does the piece unless it begins one
            ready = held[:-1] if sentence and piece.text.lstrip() == sentence else held
            yield from ready
            held = held[len(ready) :]
        if _USER_TURN.match(sentence) or _circles(tokens):
            return
        if not _may_end(sentence, said):
            yield from held
            held = []
    if not _again(sentence, said):
        yield from held


def _again(sentence: str, said: set[str]) -> bool:
    """Whether the sentence was said before, whole or to where it broke off."""
    words = _normalised(sentence)
    return words.count(" ") + 1 >= _LEAST_WORDS and any(one.startswith(words) for one in said)


def _may_end(sentence: str, said: set[str]) -> bool:
    """Whether the sentence, as far as it goes, may become one at which the answer ends."""
    begun = _normalised(sentence)
    return any(one.startswith(begun) for one in (*said, *_USER_TURNS))


def _circles(tokens: list[int]) -> bool:
    """Whether the last tokens are the same few again and again."""
    for length in range(1, _LONGEST_CIRCLE + 1):
        turns = max(_LEAST_TURNS, -(-_LEAST_TOKENS // length))
        last = tokens[-length * turns :]
        if len(last) == length * turns and last == last[:length] * turns:
            return True
    return False


def _normalised(sentence: str) -> str:
    return _NOISE.sub(" ", sentence.lower()).strip()
