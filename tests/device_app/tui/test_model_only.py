"""In the app, requests that the model answers without files: recognised, requested by command, and labelled."""

from pathlib import Path
from typing import Any

REQUEST = "Write a poem about tea"


async def test_a_small_model_says_what_it_takes_and_writes_if_told_to(person: Any, notes: Path) -> None:
    async with person.at(100, 40):
        await person.asks(REQUEST)
        await person.until(lambda: "● not written" in person.sees())
        seen = " ".join(person.sees().split())
        assert "is too small to write it well" in seen
        assert "jackdaw models use smollm2-1.7b" in seen
        await person.sends("/model-only")  # the last one, in its place
        await person.until(lambda: "from the model alone: no source" in person.sees())
        assert len(person.chat.transcript.views) == 1
        await person.settled()
        await person.sends("/regen")
        await person.until(lambda: "from the model alone: no source" in person.sees())


async def test_a_question_of_fact_is_for_the_model_if_asked_for(person: Any, notes: Path) -> None:
    async with person.at(100, 40):
        await person.sends("/model-only")
        await person.until(lambda: "Type your request after the command" in person.sees())
        await person.sends("/model-only Who has the blue drill?")
        await person.until(lambda: "from the model alone: no source" in person.sees())
        assert "drill.md" not in person.sees()
