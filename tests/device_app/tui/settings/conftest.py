"""A device whose memory and disk are known, with two models here and two to fetch."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from textual.widgets import Input

from models.catalog import Entry, Weights


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Tells how much is free, in bytes."""
    here = {"smollm2-135m", "smollm2-135m-q4_1", "all-minilm-l6-v2"}

    def free(memory: int = 4_000_000_000, disk: int = 50_000_000_000) -> None:
        monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=memory))
        monkeypatch.setattr(
            "device_app.ahead.forecast.shutil", SimpleNamespace(disk_usage=lambda _: SimpleNamespace(free=disk))
        )

    def pull(_: Weights, entry: Entry, progress: Any) -> bool:
        progress("Fetching", entry.size, entry.size)
        here.add(entry.name)
        return True

    monkeypatch.setattr(Weights, "state", lambda _, entry: "present" if entry.name in here else "missing")
    monkeypatch.setattr(Weights, "pull", pull)
    monkeypatch.setattr("device_app.ahead.forecast.looked_into", lambda *_: None)
    free()
    return free


@pytest.fixture
def looks(snap_compare: Callable[..., bool], person: Any) -> Callable[..., bool]:
    """Whether the app, after some steps, looks as it did."""

    def compare(size: tuple[int, int], steps: Callable[[Any], Awaitable[None]]) -> bool:
        async def before(pilot: Any) -> None:
            person.pilot = pilot
            await person.settled()
            await steps(person)
            for field in person.app.screen.query(Input):
                field.cursor_blink = False
            await pilot.pause()
            await asyncio.sleep(0.05)
            await pilot.pause()

        person.app = person.new_app()
        return snap_compare(person.app, terminal_size=size, run_before=before)

    return compare
