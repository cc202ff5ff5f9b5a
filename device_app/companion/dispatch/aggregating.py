"""Chooses how to answer a question that goes beyond the files: together, fetched, or alone (DRAGON, section 2).

*Together*: both sides write the answer, each from its own passages (section 4), and drafts of the answer leave the
device. *Fetch*: the question leaves, and the device reads the server's passages and writes alone. *Alone*: the device
answers from the person's files, and nothing leaves. Pure: forecasts each plan's time and chooses a plan.
"""

from dataclasses import dataclass
from typing import Final, Literal

from device_app.companion.dispatch.aggregation_choice import AggregationChoice
from device_app.question.options import AGREE
from shared.aggregation.scheduler import Figures, Lead

Plan = Literal["alone", "fetch", "together"]

WORTH: Final = 0.9
"""A joint answer must take at most this fraction of the time of fetching, since its drafts may reveal the files."""


@dataclass(frozen=True, slots=True)
class SideTimes:
    """Durations on the device and the server, in seconds. `read_s` is the device's time to read one prompt token.

    `search_s` is from the question to the server's passages, `start_s` from there to the server's first token, both as
    seen by the device. `figures` are both sides' seconds per generated token, the round trip and the acceptance rates.
    """

    read_s: float
    search_s: float
    start_s: float
    figures: Figures


@dataclass(frozen=True, slots=True)
class Work:
    """Token counts: `public`, the server's passages, and `answer`, the expected answer.

    `own` is the cost of reading the device's own prompt, in prompt tokens that would take as long to read; `mixing` the
    extra cost, in such tokens, of writing an answer from both sides' passages in several prompts. `reads_ahead`: the
    device reads its own prompt while the server searches.
    """

    own: float
    public: float
    answer: float
    mixing: float = 0.0
    reads_ahead: bool = False


@dataclass(frozen=True, slots=True)
class Forecast:
    """A plan's predicted seconds to the first token, and between tokens."""

    first: float
    token: float

    def whole(self, answer: float, reading_rate: float) -> float:
        """Return the seconds until a reader of `reading_rate` tokens a second has read `answer` tokens."""
        return self.first + answer * max(self.token, 1 / reading_rate)


def forecasts(known: SideTimes, work: Work, aggregation: AggregationChoice) -> dict[Plan, Forecast]:
    """Return the forecast of each plan, from the sides' times and the token counts of this question (`work`).

    `aggregation` says which side would decide the tokens of a joint answer. In such an answer, the first token waits
    for the slower side, and the others follow DRAGON's equation 7 for the side that decides; the device reads
    none of the server's passages, and both sides read at the same time. Drafts that survive a rejection are not
    counted.
    """
    device, server = _ready(known, work)
    step = known.figures.decode["device"]
    searched = max(known.search_s, device) if work.reads_ahead else known.search_s + device
    return {
        "alone": Forecast(device, step),
        "fetch": Forecast(
            searched + known.read_s * work.public, step + known.read_s * work.mixing / max(work.answer, 1)
        ),
        "together": Forecast(max(device, server), aggregation.token_s[aggregation.way]),
    }


def lead(known: SideTimes, work: Work, most: int) -> Lead:
    """Return the head start in a joint answer of the side that has read its prompt first.

    `most` is how many tokens a side may draft beyond the final ones.
    """
    device, server = _ready(known, work)
    return Lead("device" if device <= server else "server", abs(device - server), most, work.answer)


def _ready(known: SideTimes, work: Work) -> tuple[float, float]:
    """Return the seconds until the device, and the server, can draft the first token of a joint answer."""
    return known.read_s * work.own, known.search_s + known.start_s


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the choice of a plan. `agreed`: the person lets drafts leave the device.

    `incompatible`: why no joint answer is possible. `fits`: the device has room to read the server's passages too.
    `spared`: the server's tokens are to be saved, and the budget for them is used up. `used_up`: the reason if the
    server's budget of the day is used up.
    """

    agreed: bool = False
    incompatible: str = ""
    fits: bool = True
    spared: bool = False
    used_up: str = ""

    @property
    def forbids_joint(self) -> bool:
        """Whether a joint answer is ruled out, even if it would be faster."""
        return not self.agreed or bool(self.incompatible or self.spared or self.used_up)


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen plan, and its reason as shown to the person.

    `aggregation`: which side would decide the tokens of a joint answer.
    """

    plan: Plan
    reason: str
    aggregation: AggregationChoice | None = None


def choose(known: SideTimes, work: Work, reading_rate: float, limits: Limits, aggregation: AggregationChoice) -> Choice:
    """Choose the plan for a question that goes beyond the files, when a server can be asked, from its `forecasts`.

    The plan is a joint answer if the reader finishes within `WORTH` of the time with fetched passages, or if fetched
    passages do not fit; and only if the person agreed, the sides are compatible, and the server's tokens need not be
    saved.
    """
    by_plan = forecasts(known, work, aggregation)
    fetch, both = (by_plan[plan].whole(work.answer, reading_rate) for plan in ("fetch", "together"))
    times = f"a joint answer is read in {both:.1f} s, one from fetched passages in {fetch:.1f} s"
    against = [
        (both >= WORTH * fetch, f"{times}: {'too small a gain' if both < fetch else 'no gain'}"),
        (limits.incompatible, f"a joint answer would be faster, but {limits.incompatible}"),
        (limits.spared, "a joint answer would be faster, but link.spare saves money on the server"),
        (limits.used_up, f"a joint answer would be faster, but {limits.used_up}"),
        (not limits.agreed, f"{times}; a joint answer sends drafts, which needs the setting {AGREE}"),
    ]
    if limits.fits:
        objection = next((why for holds, why in against if holds), None)
        return Choice("fetch", objection, aggregation) if objection else Choice("together", times, aggregation)
    full = "the server's passages do not fit into this device's model"
    return Choice("alone" if limits.forbids_joint else "together", full, aggregation)
