"""Budgets for background work: tokens and estimated joules in any hour. Times are `time.monotonic()` seconds.

Pure, except for the functions that read and write the ledger's file.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from device_app.settings import Daemon as Rules
from storage.private import write_private

HOUR_S = 3600.0
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Spent:
    """The tokens and joules spent within one minute; `at` is the time of its last entry."""

    at: float
    tokens: int
    joules: float


Ledger = tuple[Spent, ...]
"""The work of the last hour: at most 61 entries, the oldest first."""


def recent(ledger: Ledger, now: float) -> Ledger:
    """Return the entries of the last hour, without those after `now`, which are from before the machine's restart."""
    return tuple(entry for entry in ledger if now - HOUR_S < entry.at <= now)


def spend(ledger: Ledger, now: float, tokens: int, joules: float) -> Ledger:
    """Return the ledger (the work of the last hour) with the tokens and joules added."""
    *earlier, last = recent(ledger, now) or (Spent(now, 0, 0.0),)
    if last.at // _MINUTE_S == now // _MINUTE_S:
        return (*earlier, Spent(now, last.tokens + tokens, last.joules + joules))
    return (*earlier, last, Spent(now, tokens, joules))


def estimated_joules(parameters: int, tokens: int, joules_per_gflop: float) -> float:
    """Return the estimated energy in joules to read or write a number of tokens: each takes two operations per
    parameter.
    """
    return 2 * parameters * tokens / 1e9 * joules_per_gflop


def why_spent(ledger: Ledger, now: float, rules: Rules) -> str | None:
    """Return which budget of background work is used up, as a phrase; None if neither is."""
    spent = recent(ledger, now)
    if sum(entry.tokens for entry in spent) >= rules.tokens_per_hour:
        return f"the limit of {rules.tokens_per_hour:,} tokens per hour is used up"
    if sum(entry.joules for entry in spent) >= rules.joules_per_hour:
        return f"the limit of {rules.joules_per_hour:,.0f} joules per hour is used up"
    return None


def read_ledger(file: Path) -> Ledger:
    """Return the record of the last hour's work in the file; an empty one if there is none or it is unreadable."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Ledger)
    except (OSError, ValueError, msgspec.DecodeError):
        return ()


def write_ledger(file: Path, ledger: Ledger) -> None:
    """Replace the record of the last hour's work in the file. Raises NotWritable."""
    write_private(file, msgspec.json.encode(ledger).decode())
