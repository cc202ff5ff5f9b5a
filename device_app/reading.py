"""Bringing the remembered folders up to date, in pieces between which it gives way. Knows no schedule."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from device_app.daemon import GiveWay, Step, Work

if TYPE_CHECKING:
    import numpy.typing as npt

    from device_app.build import Device
    from device_app.knowledge.ingest import Report
    from models.engine import Embedder

_TEXTS = 16
"""Passages embedded before it is asked again whether to give way."""


def reading(device: Device) -> Work:
    """Work that brings the remembered folders up to date, as one step."""

    def work(give_way: GiveWay) -> Iterator[Step]:
        folders = [Path(os.fsdecode(path)) for path in device.knowledge.folders()]
        if not folders:
            return
        began = time.monotonic()
        with device.alone(None):
            ingestion = device.ingestion()
            ingestion.embedder = _InPieces(ingestion.embedder, give_way)
            ingestion.on_progress = lambda _: _go_on(give_way)
            with suppress(_GaveWay):  # what was finished is stored; the rest is read next time
                ingestion.run(folders)
        if subject := _said(ingestion.report):
            ms = (time.monotonic() - began) * 1000
            yield Step("read", subject, "files in your folders have changed", 0, 0, ms)

    return work


class _GaveWay(Exception):
    """Ends an ingestion between two pieces of work."""


def _go_on(give_way: GiveWay) -> None:
    if give_way():
        raise _GaveWay


@dataclass(frozen=True, slots=True)
class _InPieces:
    """An embedder that gives way between a few passages and the next."""

    embedder: Embedder
    give_way: GiveWay

    @property
    def fingerprint(self) -> str:
        return self.embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self.embedder.dimensions

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        parts = []
        for start in range(0, len(texts), _TEXTS):
            _go_on(self.give_way)
            parts.append(self.embedder.embed(texts[start : start + _TEXTS]))
        return np.concatenate(parts)


def _said(report: Report) -> str:
    said = []
    if report.documents:
        said.append(f"{report.documents:,} documents ({report.passages:,} passages)")
    if report.removed:
        said.append(f"{report.removed:,} files gone")
    return ", ".join(said)
