"""The question of a race, and the race's outcome for the answer's trace, the ledger and the estimates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from device_app.companion.dispatch.dispatcher import Outcome
from device_app.question.answer import AT
from models.sampling import SamplingSettings
from shared.printable import counted
from shared.prompt import ChatTemplate, Prompt, turn
from shared.protocol.messages import ChosenPipeline, PublicPassage
from shared.public import public_prompt
from shared.side import Side

_DOUBTS = ("the server may have failed", "the server failed")
"""Reasons for which the device was started while the server might still have come back."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the limits of its answer. If `pipeline` is "", the server chooses a pipeline.

    If `passages` is 0, a model answers alone. `server_begins`: only the server may write the first token, as the
    question is too hard for this device's model.
    """

    text: str
    sampling: SamplingSettings
    max_tokens: int
    passages: int
    pipeline: ChosenPipeline = ""
    server_begins: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether a model answers alone, without passages."""
        return self.passages == 0

    def prompt(self, passages: Sequence[PublicPassage], template: ChatTemplate) -> Prompt:
        """Return the prompt for this question, which is the same on both sides."""
        return turn(self.text, template) if self.is_alone else public_prompt(self.text, passages, template)


@dataclass(slots=True)
class RaceReport:
    """The course of a race, for trace, ledger and estimates.

    `reasons` say what was decided and what failed, as shown to the person. `moves` are the indexes at which the answer
    changed sides, each with the side that went on. `winner` wrote the first token, with the model `model`. `sent` names
    the data that left the device, as phrases. `server_read` and `server_wrote` count the tokens that the server was
    given to read, and that it wrote. `rates` are the tokens a second of each side that wrote enough. `basis` is the
    rule that decided which side starts, see `Weighed.basis`; empty if no policy was asked. `outcome` holds the measured
    times; None until the race is over, and if nothing was measured.
    """

    reasons: list[str] = field(default_factory=list)
    moves: list[tuple[int, Side]] = field(default_factory=list)
    winner: Side | None = None
    sent_bytes: int = 0
    server_read: int = 0
    server_wrote: int = 0
    sent: list[str] = field(default_factory=list)
    outcome: Outcome | None = None
    rates: dict[Side, float] = field(default_factory=dict)
    model: str = ""
    basis: dict[str, Any] = field(default_factory=dict)

    def learned(self, answer: int, *, cut: bool) -> Outcome:
        """Return the race's outcome, with the answer's length in tokens and `cut`, whether a limit ended the answer."""
        assert self.outcome is not None
        return replace(self.outcome, answer=answer, answer_cut=cut)

    @property
    def origin(self) -> Literal["device", "cloud", "migrated"]:
        """The side or sides that wrote the answer."""
        if self.moves:
            return "migrated"
        return "cloud" if self.winner == "server" else "device"

    def blame(self, reason: str) -> None:
        """Add the reason why the server failed, unless it is among the reasons already."""
        if reason not in self.reasons:
            self.reasons.append(reason)

    def settle_doubts(self, moving: str, blamed: Callable[[str], str]) -> None:
        """Replace doubts about the server among the reasons by the outcome, once the answer moved to the device.

        The outcome is that the device continued, after a failure or a lost connection. `moving` is the reason for the
        answer's last move; `blamed` adds the server's name to a reason.
        """
        if self.moves and self.moves[-1][1] == "device" and moving in _DOUBTS:
            self.reasons = [why for why in self.reasons if why not in _DOUBTS]
            reason = f"the device continued after {counted(self.moves[-1][0], 'token')}"
            if any(why.startswith(AT) for why in self.reasons):
                self.reasons.append(reason)
            else:
                self.blame(blamed(f"the connection was lost; {reason}"))


def pace(times: Sequence[float]) -> float | None:
    """Return the tokens per second from the tokens' arrival times; None for fewer than 8."""
    return (len(times) - 1) / max(times[-1] - times[0], 1e-6) if len(times) >= 8 else None


def measured(started: Mapping[Side, float], first: Mapping[Side, float], prompt: int, now: float) -> Outcome:
    """Return the measurements for the estimates, at the time `now`, of a prompt of `prompt` tokens.

    `started` and `first` are the times at which each side was started and wrote its first token, all by one clock. A
    server without one was waited for until the device's first token; not if it was started later, to continue the
    answer.
    """
    took = {side: at - started[side] for side, at in first.items() if side in started}
    waited = None
    if "server" in started and "server" not in took:
        until = first.get("device", now)
        waited = until - started["server"] if started["server"] <= until else None
    return Outcome(
        prompt=prompt,
        device_started="device" in started,
        server_started="server" in started,
        device_s=took.get("device"),
        server_s=took.get("server"),
        server_waited_s=waited,
    )
