"""Tokens as text, and where an answer ends although the model goes on: it says a sentence again, turns in a circle, or
plays the user.

Small models do so. Sampling differently would change good answers as well; ending here changes none. What may be the
beginning of a repetition is held back until it is clear, so that nothing shown has to be taken away. Both sides end
alike: else what one wrote could not be continued by the other.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

# A sentence keeps the white space before it: a line break tells that it begins a line. The full stop of a list's number
# ends none.
_BORDER = re.compile(r"(?<=[.!?])(?<!^\d\.)(?<!^\d\d\.)(?=\s)|(?!\A)(?=\n)", re.MULTILINE)
_NUMBER = re.compile(r"\s*(\d{1,3})(?:([.)])(?:\s|$)|$)")
_WORD = re.compile(r"\S*\w\S*")
_USER_TURNS = ("question:", "earlier question:")
_LEAST_WORDS = 3
"""A shorter sentence may well be said twice ("Yes.")."""

_LONGEST_CIRCLE, _LEAST_TURNS, _LEAST_TOKENS = 12, 4, 16


@dataclass(frozen=True, slots=True)
class Piece:
    """A token as it was drawn, and the text that became complete with it (may be empty).

    It is `cut` where the model would go on but may not.
    """

    token: int
    text: str
    cut: bool = False


class Speller:
    """Tokens with the text that each completes, one at a time. A token below 0 has its text already."""

    def __init__(self, detokenize: Callable[[Sequence[int]], bytes], accepted: Sequence[int] = ()) -> None:
        """Behind the `accepted` tokens."""
        self._detokenize = detokenize
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder.decode(detokenize(accepted))
        self._last: Piece | None = None

    def spelled(self, piece: Piece) -> Piece:
        """The piece with its text."""
        if piece.token >= 0:
            piece = replace(piece, text=self._decoder.decode(self._detokenize([piece.token])))
        else:
            self._decoder.reset()  # whoever writes in another vocabulary went on behind whole characters
        self._last = piece
        return piece

    def rest(self) -> Piece | None:
        """The last token once more, with what a character that never became complete is shown as; None if none is."""
        text = self._decoder.decode(b"", final=True)
        return replace(self._last, text=text) if text and self._last else None


def spelled(
    tokens: Iterable[int], detokenize: Callable[[Sequence[int]], bytes], most: int, accepted: Sequence[int] = ()
) -> Iterator[Piece]:
    """Tokens with their text, at most so many, the `accepted` ones before them counted; and what is left at the end."""
    speller = Speller(detokenize, accepted)
    for count, token in enumerate(tokens, len(accepted) + 1):
        yield speller.spelled(Piece(token, "", cut=count >= most))
    if rest := speller.rest():
        yield rest


def ended(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces up to where the answer repeats itself or the user's turn begins."""
    ending = Ending()
    for piece in pieces:
        yield from ending.feed(piece)
        if ending.over:
            return
    yield from ending.rest()


class Ending:
    """The same for pieces that come one at a time: once it is `over`, what is held back is dropped."""

    def __init__(self) -> None:
        self.over = False
        self._said = _Said()
        self._held: list[Piece] = []
        self._tokens: list[int] = []
        self._sentence = ""

    def feed(self, piece: Piece) -> list[Piece]:
        """The pieces that may be shown now that this one is there."""
        self._tokens.append(piece.token)
        self._held.append(piece)
        ready: list[Piece] = []
        *whole, self._sentence = _BORDER.split(self._sentence + piece.text)
        for sentence in whole:
            if self._said.again(sentence) or self._said.by_user(sentence):
                self.over = True
                return ready
            self._said.add(sentence)
        if whole:  # all before this piece ends a sentence that may be shown, and so does the piece unless it begins one
            begins = piece.text.strip() == self._sentence.strip()
            ready, self._held = (self._held[:-1], [piece]) if begins else (self._held, [])
        if self._said.by_user(self._sentence) or _circles(self._tokens):
            self.over = True
        elif not self._said.may_end(self._sentence):
            ready, self._held = ready + self._held, []
        return ready

    def go_on(self, tokens: Sequence[int], text: str) -> None:
        """Begin behind what was written elsewhere, which may be long: token by token it would take seconds.

        It is over wherever in that it would have been over, whatever follows there.
        """
        self._tokens += tokens
        *whole, self._sentence = _BORDER.split(text)
        for piece in whole:
            self.over = self.over or self._said.again(piece) or self._said.by_user(piece)
            self._said.add(piece)
        self.over = self.over or self._said.by_user(self._sentence) or _circled(self._tokens)

    def rest(self) -> list[Piece]:
        """What may still be shown where the model itself ended."""
        again = self._said.again(self._sentence, broken_off=self._sentence[-1:] not in ".!?")
        return [] if again else self._held


@dataclass(slots=True)
class _Said:
    """The sentences so far, as they are compared, and the number of the last item of a list."""

    sentences: set[str] = field(default_factory=set)
    item: int = 0

    def add(self, sentence: str) -> None:
        """Remember a whole sentence."""
        if compared := self._compared(sentence):
            self.sentences.add(compared)
        if (number := self._number(sentence)) and number[2]:
            self.item = int(number[1])

    def again(self, sentence: str, *, broken_off: bool = False) -> bool:
        """Whether the sentence was said before; broken off, whether it was as far as it goes."""
        words = self._compared(sentence)
        if len(_WORD.findall(words)) < _LEAST_WORDS:
            return False
        return words in self.sentences or (broken_off and any(line.startswith(words + " ") for line in self.sentences))

    def by_user(self, sentence: str) -> bool:
        """Whether the user's turn begins here: on a line of its own, behind an answer."""
        return self._may_be_by_user(sentence) and self._compared(sentence).startswith(_USER_TURNS)

    def may_end(self, sentence: str) -> bool:
        """Whether the sentence, as far as it goes, may become one at which the answer ends."""
        turns = _USER_TURNS if self._may_be_by_user(sentence) else ()
        beginning = self._compared(sentence)
        return any(line.startswith(beginning) for line in (*self.sentences, *turns))

    def _may_be_by_user(self, sentence: str) -> bool:
        return bool(self.sentences) and sentence.startswith("\n")

    def _compared(self, sentence: str) -> str:
        """The sentence without its number in a list, capitals and last stop. Signs and decimal points tell facts apart.

        As a sentence grows, so does this, at its end alone.
        """
        if number := self._number(sentence):
            sentence = sentence[number.end() :]
        return " ".join(sentence.casefold().split()).rstrip(" .!?")

    def _number(self, sentence: str) -> re.Match[str] | None:
        """The number of a list's first or next item, or what may become it; others ("19. March") are what is said."""
        number = _NUMBER.match(sentence)
        return number if number and (not number[2] or int(number[1]) in (1, self.item + 1)) else None


def _circles(tokens: list[int]) -> bool:
    """Whether the last tokens are the same few again and again."""
    for length in range(1, _LONGEST_CIRCLE + 1):
        turns = _turns(length)
        last = tokens[-length * turns :]
        if len(last) == length * turns and last == last[:length] * turns:
            return True
    return False


def _circled(tokens: list[int]) -> bool:
    """Whether `_circles` was true of them or of any beginning of them."""
    for length in range(1, _LONGEST_CIRCLE + 1):
        equal, least = 0, length * (_turns(length) - 1)
        for earlier, token in zip(tokens, tokens[length:], strict=False):
            equal = equal + 1 if earlier == token else 0
            if equal == least:
                return True
    return False


def _turns(length: int) -> int:
    """How often so many tokens make a circle."""
    return max(_LEAST_TURNS, -(-_LEAST_TOKENS // length))
