"""The measurements that decide which pipelines are on for a model: a file in the server's data folder.

Another process may write the file at any time, so each call reads the file again if it has changed.
"""

import logging
import os
from pathlib import Path

import msgspec

from cloud_server.pipelines.catalog import PLAIN
from shared.errors import StoreCorrupt
from shared.protocol.messages import Pipeline
from storage.private import private_lock, to_be_written, write_private

log = logging.getLogger(__name__)


class Conditions(msgspec.Struct, frozen=True):
    """The conditions under which a measurement is valid: the hashes of the model and its adapter, the embedder's
    fingerprint, and how pipelines look up queries that the model wrote (see `Inquiry`).
    """

    model: str
    adapter: str
    embedder: str
    anchored: bool


class PipelineRecall(msgspec.Struct, frozen=True):
    """A pipeline's mean recall, 0 to 1, and the bounds `low` and `high` of the confidence interval of how much it
    exceeds the plain pipeline's recall.

    `first` is the share of questions whose first passage is relevant; `tokens` is the mean number of tokens that the
    pipeline wrote for a question.
    """

    pipeline: Pipeline
    recall: float
    first: float
    low: float
    high: float
    tokens: float

    @property
    def enabled(self) -> bool:
        """Whether the pipeline has a significantly higher recall than the plain pipeline."""
        return self.pipeline != PLAIN and self.low > 0


class Measurement(msgspec.Struct, frozen=True):
    """A measurement of all pipelines on the same questions. `name` is the model's name; the recall is measured on the
    best `passages` passages.
    """

    conditions: Conditions
    name: str
    measured_at: str
    questions: int
    passages: int
    pipelines: tuple[PipelineRecall, ...]

    @property
    def preferred(self) -> Pipeline:
        """The enabled pipeline whose confidence interval begins highest; plain if no pipeline is enabled."""
        enabled = [measured for measured in self.pipelines if measured.enabled]
        return max(enabled, key=lambda measured: measured.low).pipeline if enabled else PLAIN


class MeasurementFile:
    """The file that holds the newest measurement under each set of conditions."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._logged: tuple[int, int, int] | None = None
        self._measurements: list[Measurement] = []

    def all(self) -> list[Measurement]:
        """Return all measurements, the oldest first. Raises StoreCorrupt."""
        try:
            seen = self._mark()
            if seen != self._seen:
                self._measurements = msgspec.json.decode(self._path.read_bytes(), type=list[Measurement])
                self._seen = seen
        except FileNotFoundError:
            self._measurements, self._seen = [], None
        except (msgspec.MsgspecError, OSError) as error:
            raise StoreCorrupt(
                f"{self._path} cannot be read ({error}). Move it away, and measure again: "
                "jackdaw-server pipelines measure QUESTIONS"
            ) from None
        return self._measurements

    def keep(self, measurement: Measurement) -> None:
        """Save the measurement, replacing the one with the same conditions. Raises StoreCorrupt, NotWritable."""
        with private_lock(self._path.with_suffix(".lock")), to_be_written(f"write {self._path}"):
            kept = [other for other in self.all() if other.conditions != measurement.conditions]
            text = msgspec.json.format(msgspec.json.encode([*kept, measurement])).decode()
            write_private(self._path, text + os.linesep)

    def preferred(self, conditions: Conditions) -> Pipeline:
        """Return the pipeline to answer with; plain if nothing was measured, or the file cannot be read."""
        try:
            measurements = self.all()
        except StoreCorrupt as error:
            self._log(error)
            return PLAIN
        return next((known.preferred for known in measurements if known.conditions == conditions), PLAIN)

    def _mark(self) -> tuple[int, int, int]:
        """Return a value that changes whenever the file changes. Raises OSError."""
        facts = self._path.stat()
        return facts.st_mtime_ns, facts.st_size, facts.st_ino

    def _log(self, error: StoreCorrupt) -> None:
        """Log an error of reading the file, once per version of the file, as the file is read for every question."""
        try:
            mark = self._mark()
        except OSError:
            mark = (0, 0, 0)
        if mark != self._logged:
            self._logged = mark
            log.error("the measured pipelines cannot be read", extra={"detail": str(error)})
