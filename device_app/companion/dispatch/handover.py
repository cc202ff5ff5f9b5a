"""Decides whether moving a running answer to the other side saves money, and how long a buffer hides the move.

The buffer is the number of unread tokens (DiSCo §4.3, equation 4). Pure.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from device_app.companion.dispatch.cost import Costs
from device_app.companion.dispatch.token_buffer import needed
from shared.side import Side, other


@dataclass(frozen=True, slots=True)
class Terms:
    """The estimates and limits for hand-overs of one answer. Rates are tokens a second.

    `ready_s(side, length)`: the seconds within which that side almost surely has its first token (round trip + 95th
    percentile), after prefilling `length` tokens. `held`: prompt tokens that a side has prefilled and paid for already;
    the losing side continues its prefill if `plan_handover` would move the answer there. `remaining(written)`: expected
    tokens to come. `resume_s`: seconds until a paused source writes again. `allowed` are the sides that may take this
    answer over; an answer from private passages never moves. A side in `used_up` has spent its budget of the day, and
    takes over only from a side that failed, as does a side in `unsuited`, whose model is too small. A hand-over has to
    save more money than `margin`. `guarded` keeps the reader's buffer filled while the server writes, in case the
    server fails.
    """

    costs: Costs
    prompt: int
    rates: dict[Side, float]
    reading_rate: float
    ready_s: Callable[[Side, int], float]
    remaining: Callable[[int], float]
    allowed: frozenset[Side] = frozenset({"device", "server"})
    used_up: frozenset[Side] = frozenset()
    unsuited: frozenset[Side] = frozenset()
    held: Mapping[Side, int] = field(default_factory=dict)
    margin: float = 0.0
    resume_s: float = 0.2
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Handover:
    """A hand-over that saves money: target, tokens needed in the buffer, money saved, reason."""

    target: Side
    buffer: int
    saving: float
    reason: str


def plan_handover(terms: Terms, source: Side, written: int, waiting: int = 0) -> Handover | str:
    """Return the hand-over of an answer with `written` tokens, `waiting` of them unread, or the reason against one.

    Equation 4, corrected: (c_src - c_tgt)·E[remaining] > c_tgt^prefill·(prompt + written) + c_src·insurance + margin,
    where c_src and c_tgt are the money per token that source and target side write, c_tgt^prefill the money per token
    that the target prefills. The source writes the tokens while the buffer fills. The insurance is not the paper's
    r_src·t_m tokens (the source's rate times the migration time), since the source pauses until the target may be late:
    it is the tokens read while the source resumes, at most the buffer.
    """
    target = other(source)
    if target not in terms.allowed:
        return f"the {target} is not allowed to continue this answer"
    if target in terms.used_up:
        return f"today's budget of the {target} is used up"
    if target in terms.unsuited:
        return f"the model of the {target} is too small for this question"
    for side in (source, target):
        if terms.rates[side] <= terms.reading_rate:
            return f"the {side} writes no faster than you read"
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
        return f"moving the answer to the {target} would cost more than it saves"
    saved = f"this saves {saving:.2g} in your currency"
    reason = (
        f"the {target} writes the rest for less: {saved}, and {buffer} buffered tokens hide "
        f"the {ready:.2f} s of its start"
    )
    return Handover(target, buffer, saving, reason)
