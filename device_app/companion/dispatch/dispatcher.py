"""What was learned of how soon and how fast device and server answer, and the policy that starts an answer (DiSCo §4).

`Estimates` is an immutable value: `policy` derives decisions from it, `after` returns the updated value. Its owner
stores it as JSON, across restarts.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from device_app.companion.dispatch import first_token
from device_app.companion.dispatch.cost import Budget
from device_app.companion.dispatch.distribution import Distribution
from device_app.companion.dispatch.energy import Energy
from device_app.companion.dispatch.first_token import DeviceFirstToken
from device_app.companion.dispatch.optimal import Optimal
from device_app.companion.dispatch.policy import Ledger, Routing, Waiting
from shared.side import Side

PolicyName = Literal["ours", "paper"]
"""`ours` minimises the expected wait (`Optimal`); `paper` uses DiSCo's algorithms 2 and 3, with corrections."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Measurements from one question, in seconds; None if the side was not asked.

    `server_s` is the time from the request to the server's first token, as seen by the client; `server_waited_s` is how
    long the client waited for a server that timed out, failed or was cancelled. `device_s` is None unless the device
    wrote its first token. `prompt` is the real length, in tokens. `is_alone`: the prompt held no passages, so that its
    length and that of the answer are not usual for a question with passages.
    """

    prompt: int
    device_started: bool
    server_started: bool
    device_s: float | None = None
    server_s: float | None = None
    server_waited_s: float | None = None
    answer: int | None = None
    answer_cut: bool = False
    is_alone: bool = False


@dataclass(frozen=True)
class Estimates:
    """Learned estimates of response times and costs, for one server and one model of this device.

    `server` and `device` are the seconds to each side's first token. `prompts` are the lengths, in tokens, of all
    prompts that the budget counts; `with_passages` and `answers` are the lengths of the prompts with passages and of
    their answers. `ledger` holds the use of the budget, `energy` the joules per operation, from the battery's readings.
    """

    server: Distribution = field(default_factory=first_token.server)
    device: DeviceFirstToken = field(default_factory=DeviceFirstToken.prior)
    prompts: Distribution = field(default_factory=lambda: first_token.lengths(100.0))
    with_passages: Distribution = field(default_factory=lambda: first_token.lengths(100.0))
    answers: Distribution = field(default_factory=lambda: first_token.lengths(100.0))
    ledger: Ledger = field(default_factory=Ledger)
    energy: Energy = field(default_factory=Energy)

    def after(self, outcome: Outcome, budget: Budget) -> "Estimates":
        """Return the estimates updated by the outcome of a public question, which `budget` was to limit."""
        server, device, with_passages, answers = self.server, self.device, self.with_passages, self.answers
        if outcome.server_s is not None:
            server = server.observe(outcome.server_s)
        elif outcome.server_waited_s is not None:
            server = server.observe(outcome.server_waited_s, censored=True)
        if outcome.device_s is not None:
            device = device.observe(outcome.prompt, outcome.device_s)
        if not outcome.is_alone:
            with_passages = with_passages.observe(outcome.prompt)
        if outcome.answer is not None and not outcome.is_alone:
            answers = answers.observe(outcome.answer, censored=outcome.answer_cut)
        used = outcome.device_started if budget.constraint == "device" else outcome.server_started
        return replace(
            self,
            server=server,
            device=device,
            prompts=self.prompts.observe(outcome.prompt),  # thresholds are shares of what the ledger charges
            with_passages=with_passages,
            answers=answers,
            ledger=self.ledger.charge(outcome.prompt, budget.share, used=used),
        )

    def policy(self, constraint: Side, name: PolicyName = "ours") -> Optimal | Waiting | Routing:
        """Return the policy that saves tokens of the side `constraint`: `Optimal` or, for the name "paper", DiSCo's
        own.

        Building `Optimal` takes about 2 ms.
        """
        if name == "ours":
            return Optimal.build(constraint, self.server, self.device, self.prompts)
        return Waiting.build(self.server, self.prompts) if constraint == "device" else Routing.build(self.prompts)

    def ready_s(self, side: Side, length: int, round_trip_s: float = 0.0) -> float:
        """Return the 95th percentile of the seconds to a side's first token after `length` prompt tokens."""
        if side == "server":
            return round_trip_s + self.server.quantile(0.95)
        return self.device(length) * float(self.device.scenarios(20)[-1])

    def remaining(self, written: int, most: int) -> float:
        """Return the expected number of remaining tokens of an answer with `written` tokens, if `most` are allowed."""
        return self.answers.remaining(written, most)

    def as_json(self) -> dict[str, Any]:
        """Return the estimates as JSON, small enough to be stored after each answer."""
        return {
            "server": self.server.as_json(),
            "device": self.device.as_json(),
            "prompts": self.prompts.as_json(),
            "with_passages": self.with_passages.as_json(),
            "answers": self.answers.as_json(),
            "ledger": asdict(self.ledger),
            "energy": self.energy.as_json(),
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any], device: DeviceFirstToken | None = None) -> "Estimates":
        """Restore the estimates from the result of `as_json`. Raises ValueError if the data is damaged.

        `device` replaces the stored estimates of the device's time, for a model without measurements.
        """
        fresh = cls()
        try:
            held = kept["ledger"]
            ledger = Ledger(float(held["debt"]), float(held["usual"]), int(held["count"]))
            if not (math.isfinite(ledger.debt) and 0 <= ledger.usual < math.inf and ledger.count >= 0):
                raise ValueError(f"the stored ledger is not valid: {ledger}")
            return cls(
                server=fresh.server.restored(kept["server"]),
                device=device or fresh.device.restored(kept["device"]),
                prompts=fresh.prompts.restored(kept["prompts"]),
                # A file of an older version has only the prompts with passages.
                with_passages=fresh.with_passages.restored(kept.get("with_passages", kept["prompts"])),
                answers=fresh.answers.restored(kept["answers"]),
                ledger=ledger,
                energy=Energy.restored(kept["energy"]) if "energy" in kept else fresh.energy,
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"the stored estimates are not valid: {error!r}") from error
