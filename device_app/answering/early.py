"""Predicts whether a question needs the model, before heavy imports, so that the model may load in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device_app.english import discourse, intents
from storage.qa_entries import QAEntries

if TYPE_CHECKING:
    from device_app.device import Device


def needs_model(device: Device, question: str, *, fresh: bool) -> bool:
    """Return whether the model will most likely write the answer: no quote and no kept answer serves.

    Raises StoreError.
    """
    if intents.needs_no_file(question):
        return device.public is not None or not device.options().unsuited
    if discourse.subject(question) and device.options().plan.summaries == "quoted":
        return False
    return fresh or not QAEntries(device.database).answers(" ".join(question.split()))
