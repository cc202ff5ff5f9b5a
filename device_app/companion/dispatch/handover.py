"""Whether moving a live answer to the other side pays, and what it takes (DiSCo §4.3, equation 4). Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from device_app.companion.dispatch.cost import Costs
from device_app.companion.dispatch.token_buffer import needed
from shared.side import Side, other


@dataclass(frozen=True, slots=True)
class Terms:
    """What is known of the sides while one answer is written.

    `ready_s(side, length)`: by when that side has its first token, almost surely (round trip + p95), when so many
    tokens are to be prefilled. `held`: tokens of the prompt that a side has prefilled and paid for already; a loser's
    prefill is worth going on with where `plan_handover` would move the answer there. `remaining(written)`: tokens still
    to come. Rates are tokens a second. `resume_s`: what a source that was paused takes to write again. `allowed` are
    the sides that may take this answer over; one from private passages is none of these, it never moves. `guarded`
    keeps the reader's buffer for as long as the server writes, against its failure.
    """

    costs: Costs
    prompt: int
    rates: dict[Side, float]
    reading_rate: float
    ready_s: Callable[[Side, int], float]
    remaining: Callable[[int], float]
    allowed: frozenset[Side] = frozenset({"device", "server"})
    held: Mapping[Side, int] = field(default_factory=dict)
    margin: float = 0.0
    resume_s: float = 0.2
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Handover:
    """A hand-over that pays: to whom, tokens the buffer needs, seconds it must last, money saved, why."""

    target: Side
    buffer: int
    handover_s: float
    saving: float
    reason: str


def plan_handover(terms: Terms, source: Side, written: int, waiting: int = 0) -> Handover | str:
    """Whether to move an answer of `written` tokens, `waiting` of them in the buffer; in words why not.

    Equation 4, corrected: (c_src - c_tgt)·E[remaining] > c_tgt^prefill·(prompt + written) + c_src·insurance + margin.
    What is written while the buffer still fills stays with the source. The insurance is not r_src·t_m tokens, since the
    source pauses until the target may be late: it is what the reader takes while the source resumes, B at most.
    """
    target = other(source)
    if target not in terms.allowed:
        return f"the {target} may not go on with an answer"
    for side in (source, target):
        if terms.rates[side] <= terms.reading_rate:
            return f"the {side} writes no faster than it is read"
    again = terms.prompt - terms.held.get(target, 0) + written
    ready = terms.ready_s(target, again)
    buffer = needed(terms.reading_rate, ready)
    filling = max(buffer - waiting, 0) / (1 - terms.reading_rate / terms.rates[source])
    per_token = terms.costs.decode(source) - terms.costs.decode(target)
    gained = per_token * max(terms.remaining(written) - filling, 0.0)
    read = terms.costs.prompt(target) * (again + filling)
    insured = terms.costs.decode(source) * min(needed(terms.reading_rate, terms.resume_s), buffer)
    saving = gained - read - insured
    if saving <= terms.margin:
        return f"moving it to the {target} would cost more than it saves"
    saved = f"{saving:.2g} of your money saved"
    reason = f"the {target} writes the rest for less: {saved}, {buffer} tokens hide its {ready:.2f} s"
    return Handover(target, buffer, ready, saving, reason)
