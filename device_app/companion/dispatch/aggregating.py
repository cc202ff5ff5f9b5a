"""How an answer comes about that the person's files alone do not hold: together, fetched, or alone (DRAGON, section 2).

*Together*: both sides write it, each from its own passages (section 4), and drafts of it leave. *Fetch*: the question
leaves, the server's passages come, and the device, which has to read them first, writes alone. *Alone*: from the
person's files, and nothing leaves. Forecasts and the choice between them; pure.
"""

from dataclasses import dataclass
from typing import Final, Literal

from shared.aggregation import scheduler
from shared.aggregation.scheduler import Figures

Plan = Literal["alone", "fetch", "together"]

WORTH: Final = 0.9
"""Drafts may tell what stands in the files; the reader has to have the answer in so much of the time for that."""


AGREE: Final = "link.together = fitting"
"""How a person agrees that drafts leave."""


@dataclass(frozen=True, slots=True)
class SideTimes:
    """What both sides take, in seconds. `read_s` is for one token of a prompt, on the device; `search_s` runs from the
    question to the server's passages, `start_s` from there to its first token, both as the device sees them.
    """

    read_s: float
    search_s: float
    start_s: float
    figures: Figures


@dataclass(frozen=True, slots=True)
class Work:
    """Tokens: what the device has to read of its own, what the server's passages have, and how long answers are.

    `mixing` is what an answer takes besides where the device writes from both sides' passages in rows, as if so many
    more were read.
    """

    own: float
    public: float
    answer: float
    mixing: float = 0.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """Seconds to the first token, and from one to the next."""

    first: float
    token: float

    def whole(self, answer: float, reading_rate: float) -> float:
        """Seconds until somebody who reads so many tokens a second has read so many."""
        return self.first + answer * max(self.token, 1 / reading_rate)


def forecasts(known: SideTimes, work: Work) -> dict[Plan, Forecast]:
    """Each plan's.

    Together, the first token waits for the slower side, every other as equation 7 says; the device reads none of the
    server's passages, and the server reads while the device does. Drafting ahead through a rejection is not counted.
    """
    figures, own = known.figures, known.read_s * work.own
    step = figures.decode["device"]
    return {
        "alone": Forecast(own, step),
        "fetch": Forecast(
            known.search_s + own + known.read_s * work.public, step + known.read_s * work.mixing / max(work.answer, 1)
        ),
        "together": Forecast(max(own, known.search_s + known.start_s), scheduler.waiting(figures, "device")),
    }


@dataclass(frozen=True, slots=True)
class Limits:
    """`agreed`: the person lets drafts leave. `incompatible`: why the sides cannot write together. `fits`: the device
    has room to read the server's passages too. `spared`: the server's tokens are to be spared, and what may be used is
    used.
    """

    agreed: bool = False
    incompatible: str = ""
    fits: bool = True
    spared: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """What is done, and why, for the person."""

    plan: Plan
    reason: str


def choose(known: SideTimes, work: Work, reading_rate: float, limits: Limits) -> Choice:
    """The plan for a question that goes beyond the files, where a server can be asked.

    Together where the reader is through with it in `WORTH` of the time that fetching takes, or where the device has no
    room for what would be fetched; and only where the person agreed, the sides can, and the server need not be spared.
    """
    by_plan = forecasts(known, work)
    fetch, both = (by_plan[plan].whole(work.answer, reading_rate) for plan in ("fetch", "together"))
    times = f"read in {both:.1f} s written together, in {fetch:.1f} s from fetched passages"
    against = [
        (both >= WORTH * fetch, f"writing together {'gains too little' if both < fetch else 'does not pay'}: {times}"),
        (limits.incompatible, f"written together it would be sooner, but {limits.incompatible}"),
        (limits.spared, "written together it would be sooner, but the server is spared (link.spare)"),
        (not limits.agreed, f"{times}; the first sends drafts of it, not agreed to: {AGREE}"),
    ]
    if limits.fits:
        objection = next((why for holds, why in against if holds), None)
        return Choice("fetch", objection) if objection else Choice("together", times)
    full = "this device has no room to read the server's passages too"
    return Choice("together" if limits.agreed and not (limits.incompatible or limits.spared) else "alone", full)
