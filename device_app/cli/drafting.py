"""Explains for `jackdaw doctor` whether answers are drafted (speculative decoding), and by which model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from models.engine import EngineInfo
    from models.speculative.draft_model import DraftModel
    from models.speculative.drafting import Drafting

Explained = tuple[Literal["ok", "warn"], str, str]
"""The level of a fact ("ok" or "warn"), the fact, and how to change it ("" if there is nothing to do)."""

_NOT_MEASURED = "not measured yet whether drafting makes answers faster here: that is done in idle time"
_MEASURE = "To measure it now: jackdaw daemon run-once"
_WITHOUT_MODEL = "To draft without a model: jackdaw config set model.draft auto"


def explained(drafting: Drafting, info: EngineInfo) -> Iterator[Explained]:
    """Yield facts about drafting: whether answers are drafted, and how well a drafting model does."""
    if drafting.mode == "off":
        yield "ok", "answers are not drafted: model.draft is off", ""
    elif not drafting.may(info):
        yield "ok", "answers are not drafted: this model gains nothing from it on this machine", ""
    elif drafting.costs is None:
        yield "ok", _NOT_MEASURED, _MEASURE
    elif not drafting.is_worth_it(info):
        said = f"answers are not drafted: with {info.kv_type} states the text might differ by a rounding error"
        yield "ok", said, "To draft: jackdaw config set model.kv q8_0" if info.kv_type == "f16" else ""
    else:
        times = f"reading 4 tokens at once takes {drafting.costs.ratio(4):.1f} times as long as one"
        yield "ok", f"{times}: answers are drafted where that makes them faster", ""
        if drafting.model:
            yield _explained_model(drafting.model)
    if drafting.refused:
        yield "warn", drafting.refused, _WITHOUT_MODEL


def _explained_model(model: DraftModel) -> Explained:
    if model.failed:
        return "warn", model.failed, _WITHOUT_MODEL
    if model.costs is None:
        return (
            "ok",
            f"{model.name} can draft tokens, too; how long it takes is measured in idle time",
            _MEASURE,
        )
    said = (
        f"{model.name} drafts, too: a token takes {model.costs.step:.2f} times as long as a pass of the "
        f"answering model, reading 100 tokens {100 * model.costs.read:.1f} times as long"
    )
    if model.costs.step >= 1:
        return (
            "warn",
            f"{said}. This model is too slow to make answers faster",
            _WITHOUT_MODEL,
        )
    return "ok", said, ""
