"""A simulation of a joint answer: two sides with toy models, and a network between them, in virtual time.

Without clock and threads; all randomness is seeded.
"""

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from shared.aggregation import rules
from shared.aggregation.aggregator import Aggregator, JointPhase
from shared.aggregation.distribution import Distribution, Quantised, quantise, top
from shared.aggregation.messages import (
    Cancelled,
    Command,
    Draft,
    Drafted,
    Emit,
    Event,
    Finish,
    GoAlone,
    HandOver,
    Lost,
    Message,
    Place,
    Reweight,
    RollBack,
    Rule,
    Send,
    Supplied,
    Supply,
    Weighed,
)
from shared.aggregation.terms import Terms
from shared.aggregation.weights import basis, device_share
from shared.side import Side, other

SIDES: tuple[Side, Side] = ("device", "server")
VOCABULARY = 5
SENT_TOP = 1
"""The number of tokens of a distribution that is sent with a greedy draft: so few that sides must request more."""


class Models:
    """Toy models: the next-token probabilities of both sides, given the last two tokens; similar, but not equal."""

    def __init__(
        self,
        seed: int = 0,
        vocabulary: int = VOCABULARY,
        distance: float = 0.6,
        sharp: float = 1.5,
        kept: tuple[int, int] = (3, 4),
    ) -> None:
        draw = np.random.Generator(np.random.Philox(seed))
        shape = (vocabulary + 1, vocabulary + 1, vocabulary)
        base = draw.normal(size=shape) * sharp
        self.vocabulary, self._kept = vocabulary, dict(zip(SIDES, kept, strict=True))
        self._logits = {side: base + draw.normal(size=shape) * distance * sharp for side in SIDES}

    def probabilities(self, side: Side, prefix: tuple[int, ...]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return the probabilities of the next token, shape (vocabulary,)."""
        last, before = (*prefix[::-1], -1, -1)[:2]
        weights = np.exp(self._logits[side][before, last])
        return np.asarray(weights / weights.sum())

    @lru_cache(maxsize=4096)  # noqa: B019  # as long as the tests
    def quantised(self, side: Side, prefix: tuple[int, ...]) -> Quantised:
        """Return the next token's distribution, truncated, then quantised."""
        whole = self.probabilities(side, prefix)
        kept = np.sort(np.argsort(-whole)[: self._kept[side]])
        return quantise(kept, whole[kept])

    def draft(self, rule: Rule, side: Side, seed: int, prefix: tuple[int, ...]) -> Draft:
        """Return the side's draft, with the distribution that it would send."""
        if rule == "greedy":
            whole = self.probabilities(side, prefix).astype(np.float32)
            token = rules.draft(rule, side, seed, len(prefix), np.arange(self.vocabulary), whole)
            return Draft(0, token, top(whole, SENT_TOP))
        held = self.quantised(side, prefix)
        token = rules.draft(rule, side, seed, len(prefix), held.ids, held.counts)
        return Draft(0, token, held if rule == "algorithm1" else None)


def log_odds(prefix: Sequence[int]) -> float:
    """Return the device's weight after these tokens, as log odds; it depends on each of them."""
    return float(np.random.Generator(np.random.Philox([len(prefix), *prefix])).normal())


def reference(models: Models, terms: Terms, first: float, every: int = 0) -> list[int]:
    """Return the answer as one process with both sides' models generates it, token by token.

    `first` is the device's weight in the mixture, which `log_odds` changes after every `every` tokens.
    """
    written: list[int] = []
    while len(written) < terms.max_tokens and not (written and written[-1] in terms.ends):
        count = basis(len(written), every)
        share = device_share(log_odds(written[:count]), 0.0) if count else first
        drafts = {side: models.draft(terms.rule, side, terms.seed, tuple(written)) for side in SIDES}
        if terms.rule == "greedy":
            whole = {side: models.probabilities(side, tuple(written)).astype(np.float32) for side in SIDES}
            both = rules.mixture(whole["device"].astype(float), whole["server"].astype(float), share)
            written.append(int(np.argmax(both)))
            continue
        token = rules.decide(terms.rule, terms.seed, len(written), share, drafts["device"], drafts["server"])
        assert token is not None
        written.append(token)
    return written


@dataclass
class Player:
    """One side: its aggregator, and a simulated decoder that takes time for each token and cannot be interrupted."""

    machine: Aggregator
    log_h: float
    read: list[int] = field(default_factory=list)
    busy: bool = False
    emitted: list[tuple[float, int]] = field(default_factory=list)
    over: Finish | None = None
    alone: GoAlone | None = None
    sent: list[tuple[float, Message]] = field(default_factory=list)
    drafted: int = 0


@dataclass(frozen=True)
class Pace:
    """The seconds that a draft takes on each side, and that a message takes from each side."""

    decode: Callable[[Side, int], float]
    trans: Callable[[Side, float], float]


def at_random(draw: np.random.Generator, ordered: bool = False) -> Pace:
    """Return random delays with which any message may overtake any other."""
    return Pace(lambda side, position: float(draw.exponential()), lambda side, now: float(draw.exponential(3.0)))


class World:
    """Simulates one joint answer.

    `patience` is how long, in virtual seconds, a side waits before it continues without the other. `copies`: how often
    the next message arrives. `every`: after how many tokens the device's weight changes; 0 for never.
    """

    def __init__(
        self,
        terms: Terms,
        models: Models,
        pace: Pace,
        log_h: tuple[float, float] = (0.0, 0.0),
        patience: float = float("inf"),
        scheduler: Callable[["World", Side], bool] | None = None,
        copies: Callable[[], int] = lambda: 1,
        every: int = 0,
    ) -> None:
        self._every = every
        self.models, self.pace, self.patience, self._scheduler = models, pace, patience, scheduler
        self._copies = copies
        self.players = {
            side: Player(Aggregator(replace(terms, side=side)), weight)
            for side, weight in zip(SIDES, log_h, strict=True)
        }
        self.now, self.steps = 0.0, 0
        self.cut: set[Side] = set()
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        """Call `what` after these seconds."""
        heapq.heappush(self._heap, (self.now + seconds, next(self._count), what))

    def begin(self, weighed: tuple[float, float] = (0.0, 0.0)) -> None:
        """Start both decoders; `weighed` are the seconds after which each side knows the weight of its passages."""
        for side, seconds in zip(SIDES, weighed, strict=True):
            self.after(seconds, lambda side=side: self.tell(side, self._weighed(side)))  # type: ignore[misc]
            self._decode(side)

    def _weighed(self, side: Side) -> Weighed:
        return Weighed(self.players[side].log_h, self._every if side == "device" else 0)

    def run(self, most: int = 200_000) -> None:
        """Run the simulation until nothing more can happen."""
        while self._heap:
            self.steps += 1
            assert self.steps < most, "it never ends"
            self.now, _, what = heapq.heappop(self._heap)
            what()

    def tell(self, side: Side, event: Event) -> None:
        """Pass an event to a side, unless that side has died."""
        if side in self.cut:
            return
        for command in self.players[side].machine.receive(event):
            self._obey(side, command)
        player = self.players[side]
        assert [token for _, token in player.emitted] == player.machine.settled
        assert (player.over is not None) == (player.machine.phase is JointPhase.OVER)
        self._decode(side)
        if self._scheduler and not player.over and self._scheduler(self, side):
            self._scheduler, kept = None, self._scheduler
            self.tell(side, HandOver())
            self._scheduler = kept
        self._watch(side)

    def lose(self, side: Side) -> None:
        """Let a side die; messages that it has sent still arrive."""
        self.cut.add(side)

    def cancel(self, side: Side) -> None:
        """Let the person on this side cancel the answer."""
        self.tell(side, Cancelled())

    def _watch(self, side: Side) -> None:
        """Let the side continue alone unless a token comes within `patience`; each token restarts the wait."""
        player = self.players[side]
        if self.patience == float("inf") or player.over:
            return
        known = len(player.machine.settled)

        def look() -> None:
            if not player.over and player.machine.waits and len(player.machine.settled) == known:
                self.tell(side, Lost("waited for too long"))

        self.after(self.patience, look)

    def _obey(self, side: Side, command: Command) -> None:
        player = self.players[side]
        assert player.over is None, "nothing follows the end"
        match command:
            case Emit(position, token):
                assert position == len(player.emitted)
                player.emitted.append((self.now, token))
                count = position + 1
                if side == "device" and self._every and count % self._every == 0:
                    text = [token for _, token in player.emitted]
                    weight = Reweight(count + self._every, log_odds(text))
                    if weight.position < player.machine.terms.max_tokens:
                        self.after(self.pace.decode(side, position), lambda: self.tell(side, weight))
            case Send(message):
                player.sent.append((self.now, message))
                for _ in range(self._copies()):
                    self.after(self.pace.trans(side, self.now), lambda: self.tell(other(side), message))
            case RollBack(keep, tokens, epoch):
                assert keep <= len(player.read)
                assert keep + len(tokens) == epoch == player.machine.epoch
                del player.read[keep:]
                player.read += tokens
                assert player.read == player.machine.settled
            case Supply(position, count):
                prefix = tuple(player.read[:position])
                whole = self.models.probabilities(side, prefix).astype(np.float32)
                self.after(0.0, lambda: self.tell(side, Supplied(position, top(whole, count))))
            case Finish():
                player.over = command
            case GoAlone(position, _):
                assert side == "device"
                assert position == len(player.emitted)
                player.alone = command

    def _decode(self, side: Side) -> None:
        player = self.players[side]
        position = player.machine.next_draft
        if player.busy or position is None:
            return
        assert position == len(player.read)
        player.busy = True
        prefix, epoch = tuple(player.read), player.machine.epoch

        def done() -> None:
            player.busy = False
            terms = player.machine.terms
            drawn = self.models.draft(terms.rule, side, terms.seed, prefix)
            player.drafted += 1
            if player.machine.epoch == epoch:
                player.read.append(drawn.token)
            self.tell(side, Drafted(epoch, position, drawn.token, drawn.distribution))

        self.after(self.pace.decode(side, position), done)


def terms(rule: Rule = "coupled", place: Place = "both", **changed: object) -> Terms:
    """Return the terms of a short answer."""
    plain = Terms("device", rule, place, seed=1, vocabulary=VOCABULARY, max_tokens=24, ends=frozenset({0}), ahead=4)
    return replace(plain, **changed)  # type: ignore[arg-type]


def share(world: World) -> float:
    """Return the device's share of the mixture (η) in this world."""
    return device_share(world.players["device"].log_h, world.players["server"].log_h)


__all__ = ["Distribution", "Models", "Pace", "Player", "World", "at_random", "reference", "share", "terms"]
