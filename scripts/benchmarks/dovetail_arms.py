"""The arms of the benchmark `dovetail`, answers that the default model wrote, and their replay, which counts the passes
that each arm would need.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Final, Literal, cast

import numpy as np

from device_app.inference.local import LocalSource
from models.decoder import Decoder
from models.engine import Engine, EngineInfo, Logits
from models.sampling import SamplingSettings
from models.speculative.choice import Acceptance
from models.speculative.costs import PassCosts
from models.speculative.decoding import DraftingDecoder
from models.speculative.draft_model import DraftModel
from models.speculative.drafting import Drafting
from models.speculative.lookup import LONGEST
from shared.aggregation.weights import row_weights
from shared.ending import Piece, ended
from shared.prompt import Prompt
from shared.trace import DraftCounts

Arm = Literal["none", "lookup", "auto", "trained"]
ARMS: Final[tuple[Arm, ...]] = ("none", "lookup", "auto")
"""The arms that need no trained network."""

LEAST_TOKENS, MOST_TOKENS = 30, 200
"""The fewest and the most tokens of an answer. A shorter answer is not used, a longer one is cut."""

FIXED_DRAFT, FIXED_MATCH = 3, 2
"""The number of tokens that the arm `lookup` drafts, and the fewest tokens that have to match before them."""

COUNTED_DRAFT: Final = 7
"""The number of tokens drafted after any match, to count how many of them are accepted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the default model alone, up to where Jackdaw ends it: its prompt, the prompt's tokens, and the
    answer's tokens.
    """

    kind: str
    prompt: Prompt
    read: tuple[int, ...]
    tokens: tuple[int, ...]


class Always(Acceptance):
    """A stand-in for measured acceptance (`Acceptance`) by which drafts are made after every match of at least `least`
    tokens. It also counts how many drafted tokens are accepted.
    """

    def __init__(self, least: int) -> None:
        super().__init__()
        self._least = least
        self.counts = [[0, 0] for _ in range(LONGEST)]
        """Tokens drafted and accepted, after matches of 1 to `LONGEST` tokens."""

    def chance(self, matched: int) -> float:
        return float(matched >= self._least)

    def learn(self, matched: int, *, is_accepted: bool) -> None:
        counts = self.counts[min(matched, LONGEST) - 1]
        counts[0] += 1
        counts[1] += is_accepted


def fixed(draft: int, match: int) -> Drafting:
    """Return a `Drafting` that drafts `draft` tokens wherever at least `match` tokens matched: a longer pass is
    declared prohibitively expensive, a shorter one free.
    """
    free = PassCosts(((1, 1.0), (draft + 1, 1.0), (draft + 2, 1e6)), is_exact=True)
    return Drafting("lookup", costs=free, acceptance=Always(match))


def drafting(arm: Arm, costs: PassCosts, model: DraftModel | None = None) -> Drafting:
    """Return the `Drafting` of an arm (which decides how many tokens are drafted), for an engine with the given costs
    of passes. `model` is the drafting model of the arm `trained`.
    """
    if arm == "lookup":
        return fixed(FIXED_DRAFT, FIXED_MATCH)
    return Drafting("off" if arm == "none" else "auto", costs=costs, model=model)


def answered(source: LocalSource, kind: str, prompts: Iterator[Prompt], count: int) -> list[Answer]:
    """Return `count` answers to the prompts, each of at least LEAST_TOKENS tokens; fewer if the prompts run out."""
    answers: list[Answer] = []
    for prompt in prompts:
        if len(answers) == count:
            break
        if source.room(prompt) < MOST_TOKENS:
            continue
        answer = drawn(source, Answer(kind, prompt, tuple(_read(source, prompt)), ()), SamplingSettings())
        if len(answer.tokens) >= LEAST_TOKENS:
            answers.append(answer)
    return answers


def drawn(source: LocalSource, answer: Answer, sampling: SamplingSettings) -> Answer:
    """Return another answer to the same prompt, of at most MOST_TOKENS tokens, drawn by the given rule."""
    tokens: list[int] = []
    with closing(source.stream(answer.prompt, sampling, max_tokens=MOST_TOKENS)) as stream:
        for _ in ended(_noted(stream, tokens)):
            pass
    return replace(answer, tokens=tuple(tokens))


def _read(source: LocalSource, prompt: Prompt) -> list[int]:
    """Return the tokens of the whole prompt."""
    return source.tokens((*prompt.head, *(part for own in prompt.passages for part in own), *prompt.tail))


def _noted(pieces: Iterator[Piece], drawn: list[int]) -> Iterator[Piece]:
    for piece in pieces:
        if len(drawn) < MOST_TOKENS:
            drawn.append(piece.token)
        yield piece


@dataclass(slots=True)
class Passes:
    """The passes of a replay: how many there were of each size, how many tokens of an answer were read in them, and the
    drafter's seconds.
    """

    sizes: Counter[int] = field(default_factory=Counter)
    tokens: int = 0
    seconds: float = 0.0

    @property
    def count(self) -> int:
        """The number of passes."""
        return self.sizes.total()

    def add(self, other: "Passes") -> None:
        """Add the counts of other passes."""
        self.sizes += other.sizes
        self.tokens += other.tokens
        self.seconds += other.seconds

    def speedup(self, costs: PassCosts, pass_s: float) -> float:
        """Return the speed of reading the tokens in these passes, relative to one token per pass; `pass_s` is the
        seconds of a pass over one token.
        """
        spent = sum(count * costs.ratio(size) for size, count in self.sizes.items()) + self.seconds / pass_s
        return self.tokens / spent


class Script:
    """A stand-in for an engine in a replay, with the methods that a decoder needs: it keeps tokens, computes nothing,
    and counts passes by their size.
    """

    def __init__(self, info: EngineInfo, read: Sequence[int]) -> None:
        self.info = info
        self.sizes: Counter[int] = Counter()
        self._tokens = list(read)
        self._logits: Logits = np.zeros(1, np.float32)

    def tokens(self, _: int) -> tuple[int, ...]:
        return tuple(self._tokens)

    def append(self, tokens: Iterable[int]) -> None:
        """Append further tokens."""
        self._tokens += tokens

    def length(self, sequence: int) -> int:
        return 0 if sequence else len(self._tokens)

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        self.sizes[1] += 1
        self._tokens.append(tokens[0])
        return {0: self._logits}

    def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
        self.sizes[len(tokens[0])] += 1
        self._tokens += tokens[0]
        return {0: [self._logits] * len(tokens[0])}

    def rollback(self, _: int, count: int) -> None:
        del self._tokens[len(self._tokens) - count :]


def replayed(answer: Answer, drafting: Drafting, info: EngineInfo, script: Script | None = None) -> Passes:
    """Return the passes in which an engine with the given facts would write the answer, if the given `Drafting` decides
    what is drafted. The drafter's time is the time of everything but the engine's work, for which `script` stands.
    """
    script = script or Script(info, answer.read)
    engine = cast(Engine, script)
    plain = Decoder(engine, {0: np.zeros(1, np.float32)}, row_weights((1.0,)))
    began = time.perf_counter()
    with DraftingDecoder(plain, engine, drafting, MOST_TOKENS, DraftCounts()) as decoder:
        for token in answer.tokens:
            decoder.append(token)
    return Passes(script.sizes, len(answer.tokens), time.perf_counter() - began)


def accepted_shares(answers: Sequence[Answer], info: EngineInfo) -> dict[str, dict[str, float]]:
    """Return, for each number of matched tokens, how many tokens were drafted and the share accepted."""
    always = fixed(COUNTED_DRAFT, 1)
    for answer in answers:
        replayed(answer, always, info)
    assert isinstance(always.acceptance, Always)
    return {
        str(matched): {"drafted": drafted, "accepted": round(accepted / drafted, 3)}
        for matched, (drafted, accepted) in enumerate(always.acceptance.counts, 1)
        if drafted
    }


def in_turn(by_kind: Mapping[str, Sequence[Answer]]) -> list[Answer]:
    """Return the answers in turn: the first of each kind, then the second of each kind, and so on."""
    longest = max(map(len, by_kind.values()), default=0)
    return [answers[place] for place in range(longest) for answers in by_kind.values() if place < len(answers)]
