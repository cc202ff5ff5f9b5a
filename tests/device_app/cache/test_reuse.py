"""A prompt may be one row with all passages, or several rows: the cheaper form is chosen, if it leaves room for an
answer.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from device_app.device import Device
from device_app.english.query import Query
from device_app.inference.local import LocalSource
from device_app.question.options import SHORT_ANSWER, Plan
from device_app.settings import Settings
from models.fake import FakeEngine
from shared.prompt import CHATML, build
from tests.device_app.cache.conftest import Another

LONG = ["The heron stands by the river. " * 12, "Petra has the drill. " * 15, "The cat takes its medicine. " * 14]


@pytest.mark.parametrize(
    ("kept", "sequences", "rows"),
    [
        ([], 4, 1),
        ([(0,)], 4, 1),
        ([(0,), (1,), (2,)], 4, 3),
        ([(0,), (1,), (2,)], 2, 1),
        ([(0,), (1,), (2,), (0, 1)], 4, 3),
        ([(0,), (1,), (2,), (0, 1, 2)], 4, 1),
    ],
    ids=["nothing kept", "one read", "each read", "too few sequences", "two of the prompt kept", "the prompt kept"],
)
def test_the_cheaper_of_prompt_and_rows_is_answered(
    device: Device, another: Another, notes: Path, kept: list[tuple[int, ...]], sequences: int, rows: int
) -> None:
    for number, text in enumerate(LONG):
        (notes / f"long{number}.md").write_text(f"# Long {number}\n\n{text}\n")
    device.ingestion().run([notes])
    device = another(Settings(), FakeEngine(sequences=sequences))
    question = "Long heron river, Petra drill, cat medicine?"
    options = replace(device.options(), plan=Plan(3, "cheapest"), relevance=0.0)
    passages = [hit.passage for hit in device.retriever.search(Query(question), 3)]
    for places in kept:
        read = build("", [passages[place] for place in places], CHATML).joined()
        device.begin_loading().result().prefill(read, device.qkv_tree)
    prompt = device.assistant.prompt(question, options)
    assert prompt is not None
    assert len(prompt.passages) == rows


def test_rows_that_leave_no_room_for_an_answer_are_not_chosen_at_the_cost_of_a_passage(
    device: Device, another: Another, notes: Path
) -> None:
    for number, text in enumerate(LONG):
        (notes / f"long{number}.md").write_text(f"# Long {number}\n\n{text}\n")
    device.ingestion().run([notes])
    question = "Long heron river, Petra drill, cat medicine?"
    options = replace(device.options(), plan=Plan(3, "cheapest"), relevance=0.0)
    passages = [hit.passage for hit in device.retriever.search(Query(question), 3)]
    rows = build(question, passages, CHATML)
    context = LocalSource(FakeEngine(), CHATML).count(rows) + 3 * SHORT_ANSWER - 1
    device = another(Settings(), FakeEngine(context=context))
    for passage in passages:
        device.begin_loading().result().prefill(build("", [passage], CHATML), device.qkv_tree)
    prompt = device.assistant.prompt(question, options)
    assert prompt is not None
    assert [len(row) for row in prompt.passages] == [3]
