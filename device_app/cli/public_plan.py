"""Shows in `jackdaw why` how a question that may go to the companion server would be answered.

The text says which side begins, what that costs, and when the answer would move to the other side.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from device_app.presentation import NETWORK, joule, policy_row
from shared.printable import counted

if TYPE_CHECKING:
    from device_app.companion.dispatch.aggregation_choice import AggregationChoice
    from device_app.companion.dispatch.weighed import Weighed
    from shared.side import Side

SIDES: "tuple[Side, Side]" = ("device", "server")


def plan_json(weighed: "Weighed") -> dict[str, Any]:
    """Return the plan for a question to the server: the object `public` of `why QUESTION --json`."""

    def move(source: "Side") -> dict[str, Any]:
        move = weighed.move(source)
        if isinstance(move, str):
            return {"pays": False, "reason": move}
        after, plan = move
        return {"pays": True, "after_tokens": after, "saving": plan.saving, "reason": plan.reason}

    times = {side: weighed.first_token_s(side) for side in SIDES}
    costs = weighed.costs
    return {
        "spared": weighed.budget.constraint,
        "budget": weighed.budget.share,
        "allowed": weighed.allowed,
        "prompt_tokens": round(weighed.prompt),
        "learned_from": weighed.knowledge.ledger.count,
        "decisions": [asdict(decision) for decision in weighed.decisions()],
        "first_token_s": {side: {"usual": usual, "late": late} for side, (usual, late) in times.items()},
        "costs": {
            side: {"prompt": costs.prompt(side), "decode": costs.decode(side), "answer": weighed.bill(side)}
            for side in SIDES
        },
        "energy": asdict(weighed.energy),
        **weighed.basis(),
        "used_up": dict(weighed.used_up),
        "moves": {side: move(side) for side in SIDES},
    }


def plan_rows(plan: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the rows, each a label and a text, that show a plan to a person."""
    yield "Who begins", "\nor, drawn at random, ".join(decision["reason"] for decision in plan["decisions"])
    spared = f"the {plan['spared']}: the {plan['spared']} reads at most {plan['budget']:.0%} of all prompt tokens"
    if round(plan["allowed"], 2) != round(plan["budget"], 2):
        spared += f"; after earlier answers, {plan['allowed']:.0%} now"
    yield "Spared", spared if plan["budget"] < 1 else f"neither side, as the {plan['spared']}'s tokens cost nothing"
    yield policy_row(plan)
    for side in SIDES:
        first, cost = plan["first_token_s"][side], plan["costs"][side]["answer"]
        move = plan["moves"][side]
        after = f"moves to the other side after {move['after_tokens']} tokens" if move["pays"] else "stays there"
        times = (
            f"first token after {first['usual']:.2f} s, nearly always within {first['late']:.2f} s; "
            f"a thousand such answers cost {1000 * cost:.2g} in your currency"
        )
        yield side.capitalize(), f"{times}\nan answer that the {side} began {after}: {move['reason']}"
    joules, measured = plan["energy"]["joules_per_gflop"], plan["energy"]["measured"]
    said = (
        f"{measured:.0%} measured by the battery, the rest set by daemon.joules_per_gflop" if measured >= 0.005 else ""
    )
    operations = f"{joules:.2g} joules for 10^9 operations, {said or 'as set by daemon.joules_per_gflop'}"
    yield "Energy", f"{operations}\n{joule(plan)}"
    if plan["metered"]:
        yield NETWORK
    learned = plan["learned_from"]
    yield (
        "Estimated from",
        f"{learned:,} earlier question{'' if learned == 1 else 's'} beyond your files"
        if learned
        else "default values, as no question beyond your files was asked yet",
    )


def aggregation_json(chosen: "AggregationChoice") -> dict[str, Any]:
    """Return which side decides a joint answer's tokens: the object `beyond.aggregation` of `why QUESTION --json`."""
    return {
        "way": chosen.way,
        "begins": chosen.place,
        "reason": chosen.reason,
        "free": chosen.is_free,
        "token_s": dict(chosen.token_s),
        "speedup": chosen.speedup,
        "learned_from": chosen.answers,
    }


def aggregation_rows(chosen: "AggregationChoice") -> Iterator[tuple[str, object]]:
    """Yield the rows, each a label and a text, about which side decides the tokens of a joint answer, and how fast that
    is.
    """
    learned = f", corrected by {counted(chosen.answers, 'such answer')}" if chosen.answers else ""
    # The paper's equations are of one side that settles.
    equation, ninth = ("", "as in equation 9") if chosen.way == "both" else (", equation 7", "equation 9")
    token_s = f"a token every {chosen.token_s[chosen.way]:.3f} s (forecast{equation}{learned})"
    lines = [
        f"if both sides write, {chosen.reason}",
        f"{token_s}, {chosen.speedup:.2f} times as fast as without accepted drafts ({ninth})",
    ]
    if chosen.is_free:
        others = [f"{way} {seconds:.3f} s" for way, seconds in chosen.token_s.items() if way != chosen.way]
        lines.append(f"otherwise: {', '.join(others)}")
    yield "Settled by", "\n".join(lines)
