"""Whether a question takes the model, judged before anything heavy is imported: so the model may load meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device_app.english import discourse
from storage.qa_entries import QAEntries

if TYPE_CHECKING:
    from device_app.device import Device


def needs_model(device: Device, question: str, *, fresh: bool) -> bool:
    """Whether the plan for the question will most likely have the model write: neither are the files quoted for it,
    nor is its answer kept. Raises StoreError.
    """
    if discourse.subject(question) and device.options().plan.summaries == "quoted":
        return False
    return fresh or not QAEntries(device.database).answers(" ".join(question.split()))
