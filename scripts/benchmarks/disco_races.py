"""Live races of the benchmark `disco`: requests without passages, dispatched by the default policy or by coin flips."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from device_app.companion.dispatch.cost import ServerPrice
from device_app.companion.dispatch.dispatcher import Estimates
from device_app.companion.dispatch.first_token import DeviceFirstToken
from device_app.companion.dispatch.memory import Held, Memory
from device_app.companion.dispatch.policy import Decision, Ledger
from device_app.companion.dispatch.public import Prices, PublicQuestions
from device_app.companion.dispatch.race import Race
from device_app.companion.dispatch.race_report import Question
from models.sampling import SamplingSettings
from scripts.benchmarks.disco_data import DEVICES, Device
from scripts.benchmarks.disco_setting import Setting, as_link
from shared.side import Side, other
from shared.trace import Trace

DEVICE: Final[Device] = DEVICES[0]
"""The phone whose pace the device takes: the slowest, so that this machine keeps it also while other work runs."""

TOKENS: Final = 4
"""The tokens of an answer, of which only the first is timed."""

_NO_HANDOVER = 1_000.0
"""A reading rate above both sides' pace, with which no answer changes sides."""

_ALONE: Mapping[Side, Decision] = {
    "device": Decision(0.0, None, "the device alone"),
    "server": Decision(None, 0.0, "the server alone"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its text, the tokens of its prompt, the server's first-token time to replay in s, and the random
    number of its coin flip.
    """

    text: str
    length: int
    delay_s: float
    coin: float


@dataclass(frozen=True, slots=True)
class Raced:
    """The result of one race: the seconds to its first token, whether each side was started, and whether the server
    itself was slower than its delay.
    """

    first_s: float
    started: Mapping[Side, bool]
    late: bool


class Coins(random.Random):
    """A random generator whose every draw is the preset number `coin`, so that a race repeats a recorded coin flip."""

    coin = 0.0

    def random(self) -> float:
        """Return the preset number, as if it were drawn."""
        return self.coin


class Dispatch:
    """Runs races by both policies, the default one and stochastic dispatch, at one budget. `side` is the side whose use
    the budget limits. Each policy learns from, and accounts for, its own races only.
    """

    def __init__(self, setting: Setting, side: Side, budget: float, file: Path) -> None:
        self.side, self.budget = side, budget
        self.ours: list[Raced] = []
        self.stochastic: list[Raced] = []
        self._setting, self._coins, self._ledger = setting, Coins(), Ledger()
        spare = budget / 2 if side == "device" else 1 - budget / 2
        prices = Prices(ServerPrice(1.0, 1.0), 1.0, 1e-6, spare, _NO_HANDOVER)
        memory = Memory(file)
        # The device's pace is known from the start, as in the paper and in the simulation.
        memory.hold(Held(Estimates(device=DeviceFirstToken.prior(DEVICE.prefill, 0.0))))
        self._public = PublicQuestions(
            lambda: as_link(setting.link), lambda: setting.source, prices, memory, self._coins
        )

    def race_ours(self, asked: Asked) -> None:
        """Race the request as the product does, and learn from the race."""
        self._coins.coin = asked.coin
        raced, race = self._raced(asked, lambda question: self._public.race(question, Trace()))
        self._public.learn(race, TOKENS, cut=True)
        self.ours.append(raced)

    def race_stochastic(self, asked: Asked) -> None:
        """Let one side answer alone: the coin flip decides which."""
        spared = asked.coin < self._ledger.allowed(self.budget)
        answers = self.side if spared else other(self.side)
        raced, _ = self._raced(asked, partial(self.alone, answers))
        self._ledger = self._ledger.charge(asked.length, self.budget, used=spared)
        self.stochastic.append(raced)

    def alone(self, side: Side, question: Question) -> Race:
        """Return a race in which one side answers alone."""
        weighed = self._public.weighed(question.text, question.max_tokens, model_only=True)
        link = self._public.link
        return Race(link, self._public.source, question, _ALONE[side], weighed.terms, Trace())

    def own_s(self, text: str) -> float:
        """Return the server's own seconds to the first token, without added delay."""
        self._raced(Asked(text, 0, 0.0, 0.0), partial(self.alone, "server"))
        assert self._setting.link.arrived_s is not None
        return self._setting.link.arrived_s

    def _raced(self, asked: Asked, race_of: Callable[[Question], Race]) -> tuple[Raced, Race]:
        link, question = self._setting.link, Question(asked.text, SamplingSettings(), TOKENS, 0)
        self._setting.source.engine.clear(0)  # the same prompt was read before
        link.forget()
        link.delay_s = asked.delay_s
        began = time.monotonic()
        with race_of(question) as race:
            pieces = race.pieces()
            next(pieces)
            first_s = time.monotonic() - began
            for _ in pieces:
                pass
        outcome = race.report.outcome
        assert outcome
        started: dict[Side, bool] = {"device": outcome.device_started, "server": outcome.server_started}
        late = link.arrived_s is not None and link.arrived_s > asked.delay_s
        return Raced(first_s, started, late), race
