"""Decides when the app frees the model: on a phone until the person types, and while other apps lack memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device_app.system.phone import is_phone

if TYPE_CHECKING:
    from models.catalog import Entry, Weights


def loads_late(weights: Weights, model: Entry) -> bool:
    """Return whether the model is loaded only once the person types: on a phone, or if memory is short."""
    from models.forecast import is_memory_short

    return is_phone() or is_memory_short(weights, model)


def is_needed() -> bool:
    """Return whether this is a phone so short of memory that Android would end this app unless it frees the model."""
    from shared.memory import available
    from storage.pressure import RESERVE

    return is_phone() and available() < RESERVE
