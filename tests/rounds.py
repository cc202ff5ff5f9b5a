"""A server whose pipeline reports rounds of retrieval, for tests of what the device does with the reports."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.pipeline import Pipeline
from cloud_server.pipelines.turn import Round, Turn
from cloud_server.serving import admission
from cloud_server.settings import Settings
from shared.protocol import messages as m
from tests.companion import FACTS

RIVERS, MOUNTAINS, BIRDS = (
    m.PublicPassage(number, title, f"facts/{title}.txt", text, 0.5, 0.5) for number, (title, text) in enumerate(FACTS)
)
BEFORE = Round("hyde", ("The Danube\x1b[31m flows through\nten countries.",), (RIVERS, MOUNTAINS))
BEHIND = Round("hyde", ("Who pairs for life?", "Where?"), (RIVERS, BIRDS))


def looks_up(
    monkeypatch: pytest.MonkeyPatch, before: Sequence[Round] = (BEFORE,), behind: Sequence[Round] = (BEHIND,)
) -> None:
    """Let every server offer two pipelines, and report the rounds `before` and `behind` before and after its plain
    pipeline runs.
    """
    answer = Pipeline.answer

    async def answered(self: Pipeline, turn: Turn) -> None:
        for looked_up in before:
            turn.note(looked_up)
        await answer(self, turn)
        for looked_up in behind:
            turn.note(looked_up)

    def offer(settings: Settings, answering: Answering) -> m.Offer:
        return structs.replace(admission.offer(settings, answering), pipelines=("plain", "hyde"))

    monkeypatch.setattr(Pipeline, "answer", answered)
    monkeypatch.setattr("cloud_server.pipelines.pipeline.choose", lambda *_: "plain")
    monkeypatch.setattr("cloud_server.serving.service.offer", offer)
