"""The server's rounds of retrieval for an answer, before and after it begins to write."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from device_app.companion.link import credentials
from device_app.companion.link.credentials import Credentials
from device_app.tui import messages
from device_app.tui.chat.support import about
from device_app.tui.edge.answers import Answers
from storage.paths import Paths
from tests.companion import Serve, serve
from tests.device_app.tui.conftest import DRILL
from tests.rounds import looks_up

__all__ = ["serve"]

ROUND = {"pipeline": "hyde", "queries": ["Petra\x1b[2J has\nit"], "passages": [1, 2]}
LINE = "… hyde: looked up “Petra[2J has it” (2 passages)"


async def test_what_is_looked_up_is_shown_where_the_progress_stands(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Answers, "ask", lambda *_: None)
    source = {"number": 1, "title": "Tools", "path": "facts/Tools.txt", "date": None, "side": "server"}
    async with person.at(100, 40):
        await person.sends(DRILL)
        await person.until(lambda: person.chat.transcript.views)
        person.chat.post_message(messages.LookedUp(1, ROUND))
        await person.until(lambda: LINE in person.sees())
        person.chat.post_message(messages.FoundSources(1, [source]))
        await person.until(lambda: "… reading 1 passage" in person.sees())
        person.chat.post_message(messages.Wrote(1, "Petra"))
        await person.until(lambda: "… writing" in person.sees())
        person.chat.post_message(messages.LookedUp(1, ROUND))
        person.chat.post_message(messages.FoundSources(1, [source, source | {"number": 2, "title": "Birds"}]))
        await person.until(lambda: "Birds" in person.sees())
        assert LINE in person.sees()


async def test_what_was_looked_up_stands_under_the_answer_and_in_why(
    person: Any, notes: Path, paths: Paths, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_LINK_SPARE", "0")
    looks_up(monkeypatch)
    served = serve()
    paths.create()
    credentials.save(paths.link, Credentials(served.url, served.token()))
    async with person.at(100, 50):
        await person.asks("Which countries does the Danube flow through, and where?")
        assert "looked up by the server: " in person.sees()
        await person.sends("/why")
        await person.until(lambda: "What the server looked up" in person.sees())
        assert "hyde: looked up “Who pairs for life?”, “Where?” (2 passages)" in person.sees()


def test_rounds_stand_in_a_line_under_an_answer(record: Any) -> None:
    facts = record(DRILL, "Petra.")
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert "looked up" not in about(facts, 120, now).plain
    facts["trace"]["rounds"] = [ROUND, ROUND | {"passages": [2, 3]}]
    assert "  looked up by the server: 2 rounds of hyde, 3 passages" in about(facts, 120, now).plain
