"""Which work to do ahead (PerCache, section 4.3): pure decisions, each with its reason in words.

A kept answer needs prefill and decode, kept attention state prefill alone. Where the threshold is so high that few
questions will be served a kept answer, decoding for one is wasted.
"""

from dataclasses import dataclass

from storage.qa_entries import Origin


@dataclass(frozen=True, slots=True)
class Strategy:
    """How predicted questions are prepared: with their answers, or their attention states alone."""

    decode: bool
    why: str


def strategy(threshold: float, cutoff: float) -> Strategy:
    """PerCache's section 4.3.1, by τ_query and its cutoff."""
    if threshold > cutoff:
        return Strategy(
            False, f"states alone: the threshold {threshold:g} is above the cutoff {cutoff:g}, hits are rare"
        )
    return Strategy(True, "answers too")


def why(*, stale: bool, origin: Origin) -> str:
    """Why an entry waits for an answer."""
    if stale:
        return "the files it was answered from have changed"
    return "it was asked, and has no answer of its own" if origin == "asked" else "it may be asked"


def to_answer(origin: Origin, plan: Strategy) -> bool:
    """Whether an entry that waits is decoded now (section 4.3.3). What a person asked is, whatever the strategy."""
    return plan.decode or origin == "asked"


def restores(kept_bytes: int, limit: int, entry_bytes: int) -> bool:
    """Whether there is room to make evicted states again from kept questions (section 4.3.3, QA to QKV)."""
    return kept_bytes + entry_bytes <= limit
