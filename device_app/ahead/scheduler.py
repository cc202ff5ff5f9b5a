"""Decides which background work to do (PerCache, section 4.3): pure decisions, each with a reason in words.

Preparing an answer needs prefill and decode; preparing attention states needs prefill alone. If a high similarity
threshold makes saved answers rarely reusable, decoding is wasted.
"""

from dataclasses import dataclass

from storage.qa_entries import Origin


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to prepare predicted questions: with answers (`decode`) or with attention states alone; `why` is the
    reason.
    """

    decode: bool
    why: str


def strategy(threshold: float, cutoff: float) -> Strategy:
    """Return how to prepare predicted questions (PerCache, section 4.3.1): without answers if the similarity
    `threshold` for reusing answers is above the `cutoff`.
    """
    if threshold > cutoff:
        return Strategy(
            False, f"attention states only, as cache.threshold ({threshold:g}) is above cache.cutoff ({cutoff:g})"
        )
    return Strategy(True, "with its answer")


def why(*, stale: bool, origin: Origin) -> str:
    """Return the reason why a question is queued for an answer."""
    if stale:
        return "the answer's files have changed"
    return "you asked the question, and no answer is saved" if origin == "asked" else "the question may be asked"


def to_answer(origin: Origin, plan: Strategy) -> bool:
    """Return whether a queued question is answered now: if a person asked it, or if `plan` prepares answers at all."""
    return plan.decode or origin == "asked"


def restores(kept_bytes: int, limit: int, entry_bytes: int) -> bool:
    """Return whether `entry_bytes` of evicted attention states fit under the limit beside the `kept_bytes`.

    They are then computed again from saved questions (section 4.3.3, QA to QKV). All arguments are in bytes.
    """
    return kept_bytes + entry_bytes <= limit
