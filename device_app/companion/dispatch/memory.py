"""Stores the learned figures of this device and its server across restarts, in one file.

A damaged part of the file is reset; if the file cannot be written, the figures stay in memory until the program ends.
"""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from device_app.companion.dispatch.dispatcher import Estimates
from device_app.companion.dispatch.profile import Profile
from shared.errors import JackdawError
from shared.side import Side
from storage.private import write_private

PRIOR_RATES: Mapping[Side, float] = {"device": 20.0, "server": 40.0}
MEMORY = 0.2
"""The weight of the newest answer in the running mean of a side's seconds per token."""

_MOST_BYTES = 1_000_000
_SLOWEST, _FASTEST = 0.1, 1e5

log = logging.getLogger(__name__)
Part = TypeVar("Part")


@dataclass(frozen=True)
class Held:
    """The learned figures of this device and its server.

    `knowledge`: times to the first token, lengths, budget and energy. `rates`: each side's tokens a second in answers
    to public questions. `profile`: times and acceptance rates of joint answers.
    """

    knowledge: Estimates = field(default_factory=Estimates)
    rates: Mapping[Side, float] = field(default_factory=lambda: dict(PRIOR_RATES))
    profile: Profile = field(default_factory=Profile)

    def at_rates(self, seen: Mapping[Side, float]) -> "Held":
        """Return the figures updated by `seen`, the tokens per second of the sides that wrote one more answer.

        The first answer of a side replaces what was assumed before. Later ones count by their seconds per token, so
        that a server that gets a larger model is soon known to be slower.
        """
        new = {side: self._rate(side, min(max(rate, _SLOWEST), _FASTEST)) for side, rate in seen.items()}
        return replace(self, rates={**self.rates, **new})

    def _rate(self, side: Side, rate: float) -> float:
        before = self.rates[side]
        if before == PRIOR_RATES[side]:
            return rate
        return 1 / (1 / before + MEMORY * (1 / rate - 1 / before))

    def as_json(self) -> dict[str, Any]:
        """Return all figures as JSON."""
        rates = dict(self.rates)
        return {"knowledge": self.knowledge.as_json(), "rates": rates, "together": self.profile.as_json()}


@dataclass
class Memory:
    """The file of learned figures, which is read on first use."""

    file: Path
    _held: Held | None = None

    @property
    def held(self) -> Held:
        """The learned figures as they are now."""
        if self._held is None:
            self._held = self._read()
        return self._held

    def hold(self, held: Held) -> None:
        """Replace the figures, and write them to the file."""
        self._held = held
        try:
            write_private(self.file, json.dumps(held.as_json()))
        except JackdawError as error:
            log.warning("%s", error)

    def _read(self) -> Held:
        try:
            with self.file.open("rb") as stream:
                kept = _object(stream.read(_MOST_BYTES + 1))
        except FileNotFoundError:
            return Held()
        except (OSError, ValueError, RecursionError) as error:
            self._lost(error)
            return Held()
        fresh = Held()
        return Held(
            self._part(lambda: Estimates.from_json(kept["knowledge"]), fresh.knowledge),
            self._part(lambda: _rates(kept["rates"]), fresh.rates),
            # A file of an older version has no profile of joint answers.
            self._part(lambda: Profile.from_json(kept.get("together", fresh.profile.as_json())), fresh.profile),
        )

    def _part(self, read: Callable[[], Part], otherwise: Part) -> Part:
        try:
            return read()
        except (ValueError, KeyError, TypeError) as error:
            self._lost(error)
            return otherwise

    def _lost(self, error: Exception) -> None:
        log.warning("The learned speeds and times cannot be read and start again (%s): %s", self.file, error)


def _object(read: bytes) -> dict[str, Any]:
    kept = json.loads(read) if len(read) <= _MOST_BYTES else None
    if not isinstance(kept, dict):
        raise ValueError(f"the file holds no JSON object of at most {_MOST_BYTES:,} bytes")  # noqa: TRY004 (of a file, not a caller)
    return kept


def _rates(kept: Mapping[str, Any]) -> dict[Side, float]:
    return {
        "device": min(max(float(kept["device"]), _SLOWEST), _FASTEST),
        "server": min(max(float(kept["server"]), _SLOWEST), _FASTEST),
    }
