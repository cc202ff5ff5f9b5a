"""What is on today, and what is new since yesterday: the first lines that somebody sees."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from shared.types import Filters

if TYPE_CHECKING:
    from device_app.device import Device

_EVENTS: Final = 3
_NEW: Final = ("mail", "note", "chat", "task")
_MOST: Final = 1000


@dataclass(frozen=True, slots=True)
class Today:
    """What is `on` today and what is `new` since yesterday, each as a line; "" if there is nothing to say."""

    on: str = ""
    new: str = ""


def today(device: Device, now: datetime) -> Today:
    """Return what is on today by the calendars that were read, and what is dated since yesterday. Raises StoreError."""
    from device_app.everyday.kinds import counted_kind
    from storage.documents import Documents

    yesterday = now.date() - timedelta(1)
    dated = Documents(device.knowledge.database).latest(Filters((), (), _NEW, yesterday, now.date()), _MOST)
    kinds = Counter(document.kind for document in dated)
    return Today(_on(device, now), ", ".join(counted_kind(kind, count) for kind, count in kinds.most_common()))


def _on(device: Device, now: datetime) -> str:
    from device_app.everyday.agenda import on_days, zone
    from device_app.everyday.agenda_wording import brief

    if not device.knowledge.files_with(("event", "task")):
        return ""
    events = [
        each for each in on_days(device.knowledge, now.date(), now.date(), here=zone(now)) if not each.is_cancelled
    ]
    shown = [brief(each, now.date()) for each in events[:_EVENTS]]
    more = [f"{len(events) - _EVENTS} more"] if len(events) > _EVENTS else []
    return " · ".join((*shown, *more)) or "nothing is planned"
