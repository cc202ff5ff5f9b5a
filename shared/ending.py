"""Converts tokens to text, and ends an answer early if the model repeats itself or writes the user's turn.

Small models repeat sentences and loop over tokens. Ending the answer leaves good answers unchanged, unlike different
sampling. Text that may begin a repetition is held back, so that shown text never has to be removed. Device and server
end answers by the same rules, so that one can continue the other's.
"""

import codecs
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

# A sentence keeps the white space before it, as a line break marks the start of a line. The full stop of a list item's
# number ends no sentence.
_BORDER = re.compile(r"(?<=[.!?])(?<!^\d\.)(?<!^\d\d\.)(?=\s)|(?!\A)(?=\n)", re.MULTILINE)
_NUMBER = re.compile(r"\s*(\d{1,3})(?:([.)])(?:\s|$)|$)")
_WORD = re.compile(r"\S*\w\S*")
_USER_TURNS = ("question:", "earlier question:")
_LEAST_WORDS = 3
"""The fewest words of a sentence that may not be repeated; a shorter one ("Yes.") may."""

_LONGEST_CIRCLE, _LEAST_TURNS, _LEAST_TOKENS = 12, 4, 16


@dataclass(frozen=True, slots=True)
class Piece:
    """A drawn token, and the text that it completes (may be empty).

    `cut`: the answer ends here only because of its token limit.
    """

    token: int
    text: str
    cut: bool = False


class Speller:
    """Converts tokens to text one at a time. A piece with a negative token id already has its text."""

    def __init__(self, detokenize: Callable[[Sequence[int]], bytes], accepted: Sequence[int] = ()) -> None:
        """Start after the `accepted` tokens, the last of which may have left a character incomplete."""
        self._detokenize = detokenize
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder.decode(detokenize(accepted))
        self._last: Piece | None = None

    def spelled(self, piece: Piece) -> Piece:
        """Return the piece with the characters that its token completes as its text; "" if it completes none.

        The first pieces of a character spread over several tokens thus have no text. A piece with a negative token id
        is returned unchanged.
        """
        if piece.token >= 0:
            piece = replace(piece, text=self._decoder.decode(self._detokenize([piece.token])))
        else:
            self._decoder.reset()  # the other vocabulary's text begins at a whole character
        self._last = piece
        return piece

    def rest(self) -> Piece | None:
        """Return the replacement for an incomplete character at the end, as the last piece; None if there is none."""
        text = self._decoder.decode(b"", final=True)
        return replace(self._last, text=text) if text and self._last else None


def spelled(
    tokens: Iterable[int], detokenize: Callable[[Sequence[int]], bytes], most: int, accepted: Sequence[int] = ()
) -> Iterator[Piece]:
    """Yield a piece with its text for each token, the answer's next ones after the `accepted` tokens.

    The answer's token number `most` is marked as cut. If the tokens end within a character, a last piece holds the
    character's replacement.
    """
    speller = Speller(detokenize, accepted)
    for count, token in enumerate(tokens, len(accepted) + 1):
        yield speller.spelled(Piece(token, "", cut=count >= most))
    if rest := speller.rest():
        yield rest


def ended(pieces: Iterable[Piece]) -> Generator[Piece, None, None]:
    """Yield the pieces up to the point where the answer repeats itself or the user's turn begins."""
    ending = Ending()
    for piece in pieces:
        yield from ending.feed(piece)
        if ending.over:
            return
    yield from ending.rest()


class Ending:
    """Detects the end of an answer piece by piece, as `ended` does. Once it is `over`, held-back pieces are dropped."""

    def __init__(self) -> None:
        self.over = False
        self._said = _Said()
        self._held: list[Piece] = []
        self._tokens: list[int] = []
        self._sentence = ""

    def feed(self, piece: Piece) -> list[Piece]:
        """Add a piece; return the pieces that may be shown now."""
        self._tokens.append(piece.token)
        self._held.append(piece)
        ready: list[Piece] = []
        *whole, self._sentence = _BORDER.split(self._sentence + piece.text)
        for sentence in whole:
            if self._said.again(sentence) or self._said.by_user(sentence):
                self.over = True
                return ready
            self._said.add(sentence)
        if whole:  # all earlier pieces end in a finished sentence; so does this one, unless it begins the next
            begins = piece.text.strip() == self._sentence.strip()
            ready, self._held = (self._held[:-1], [piece]) if begins else (self._held, [])
        if self._said.by_user(self._sentence) or _circles(self._tokens):
            self.over = True
        elif not self._said.may_end(self._sentence):
            ready, self._held = ready + self._held, []
        return ready

    def go_on(self, tokens: Sequence[int], text: str) -> None:
        """Add, in one step, a text that was generated elsewhere. Adding a long text token by token with `feed` would
        take seconds.

        The answer is over if it would have ended at any point in that text.
        """
        self._tokens += tokens
        *whole, self._sentence = _BORDER.split(text)
        for piece in whole:
            self.over = self.over or self._said.again(piece) or self._said.by_user(piece)
            self._said.add(piece)
        self.over = self.over or self._said.by_user(self._sentence) or _circled(self._tokens)

    def rest(self) -> list[Piece]:
        """Return the held-back pieces that may still be shown after the model ended the answer."""
        again = self._said.again(self._sentence, broken_off=self._sentence[-1:] not in ".!?")
        return [] if again else self._held


@dataclass(slots=True)
class _Said:
    """The normalised sentences so far, and the number of the last list item."""

    sentences: set[str] = field(default_factory=set)
    item: int = 0

    def add(self, sentence: str) -> None:
        """Add a complete sentence."""
        if compared := self._compared(sentence):
            self.sentences.add(compared)
        if (number := self._number(sentence)) and number[2]:
            self.item = int(number[1])

    def again(self, sentence: str, *, broken_off: bool = False) -> bool:
        """Return whether the sentence occurred before; with `broken_off`, also whether an earlier one begins with it.

        Sentences of fewer than `_LEAST_WORDS` words may be repeated.
        """
        words = self._compared(sentence)
        if len(_WORD.findall(words)) < _LEAST_WORDS:
            return False
        return words in self.sentences or (broken_off and any(line.startswith(words + " ") for line in self.sentences))

    def by_user(self, sentence: str) -> bool:
        """Return whether a user's turn begins: on a new line after an answer, "Question:" or "Earlier question:"."""
        return self._may_be_by_user(sentence) and self._compared(sentence).startswith(_USER_TURNS)

    def may_end(self, sentence: str) -> bool:
        """Return whether the unfinished sentence could become a repeated one or the user's turn."""
        turns = _USER_TURNS if self._may_be_by_user(sentence) else ()
        beginning = self._compared(sentence)
        return any(line.startswith(beginning) for line in (*self.sentences, *turns))

    def _may_be_by_user(self, sentence: str) -> bool:
        return bool(self.sentences) and sentence.startswith("\n")

    def _compared(self, sentence: str) -> str:
        """Return the sentence normalised: without list number, case and final stop. Signs and decimal points are kept.

        If a sentence grows, its normal form only grows at the end.
        """
        if number := self._number(sentence):
            sentence = sentence[number.end() :]
        return " ".join(sentence.casefold().split()).rstrip(" .!?")

    def _number(self, sentence: str) -> re.Match[str] | None:
        """Match the number of a list's first or next item, or a prefix of the number.

        Other numbers ("19. March") are content.
        """
        number = _NUMBER.match(sentence)
        return number if number and (not number[2] or int(number[1]) in (1, self.item + 1)) else None


def _circles(tokens: list[int]) -> bool:
    """Return whether the tokens end with `_turns` or more repetitions of one sequence of up to 12 tokens."""
    for length in range(1, _LONGEST_CIRCLE + 1):
        turns = _turns(length)
        last = tokens[-length * turns :]
        if len(last) == length * turns and last == last[:length] * turns:
            return True
    return False


def _circled(tokens: list[int]) -> bool:
    """Return whether `_circles` is true for the given tokens or for any prefix of them."""
    for length in range(1, _LONGEST_CIRCLE + 1):
        equal, least = 0, length * (_turns(length) - 1)
        for earlier, token in zip(tokens, tokens[length:], strict=False):
            equal = equal + 1 if earlier == token else 0
            if equal == least:
                return True
    return False


def _turns(length: int) -> int:
    """Return the number of repetitions from which a sequence of the given length counts as a loop."""
    return max(_LEAST_TURNS, -(-_LEAST_TOKENS // length))
