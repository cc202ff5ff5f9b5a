"""The file with the measured recall of pipelines, and the pipeline that a server prefers because of it."""

from pathlib import Path

import msgspec
import pytest

from cloud_server.pipelines.measurements import Conditions, Measurement, MeasurementFile, PipelineRecall
from shared.errors import StoreCorrupt

CONDITIONS = Conditions("hash", "", "embedder", True)
PLAIN = PipelineRecall("plain", 0.8, 0.7, 0.0, 0.0, 0.0)


def measurement(*pipelines: PipelineRecall, conditions: Conditions = CONDITIONS) -> Measurement:
    return Measurement(conditions, "model", "2026-11-25T00:00:00+00:00", 100, 3, (PLAIN, *pipelines))


BETTER = PipelineRecall("hyde", 0.9, 0.8, 0.02, 0.1, 64.0)
BEST = PipelineRecall("flare", 0.88, 0.8, 0.05, 0.12, 64.0)
WORSE = PipelineRecall("self_rag", 0.7, 0.8, -0.2, 0.0, 64.0)
UNCLEAR = PipelineRecall("iterative", 0.85, 0.8, 0.0, 0.3, 64.0)


@pytest.mark.parametrize(
    ("pipelines", "preferred"),
    [((), "plain"), ((WORSE, UNCLEAR), "plain"), ((BETTER, WORSE), "hyde"), ((BETTER, BEST), "flare")],
)
def test_the_pipeline_is_preferred_whose_interval_lies_highest_above_plain(
    tmp_path: Path, pipelines: tuple[PipelineRecall, ...], preferred: str
) -> None:
    file = MeasurementFile(tmp_path / "pipelines.json")
    assert file.preferred(CONDITIONS) == "plain"
    file.keep(measurement(*pipelines))
    assert file.preferred(CONDITIONS) == MeasurementFile(tmp_path / "pipelines.json").preferred(CONDITIONS) == preferred


@pytest.mark.parametrize("field", ["model", "adapter", "embedder", "anchored"])
def test_a_measurement_holds_under_its_own_conditions_alone(tmp_path: Path, field: str) -> None:
    file = MeasurementFile(tmp_path / "pipelines.json")
    file.keep(measurement(BETTER))
    other = msgspec.structs.replace(CONDITIONS, **{field: False if field == "anchored" else "other"})
    assert file.preferred(other) == "plain"
    file.keep(measurement(BEST, conditions=other))
    assert (file.preferred(CONDITIONS), file.preferred(other)) == ("hyde", "flare")


def test_a_newer_measurement_replaces_the_older_in_a_server_that_runs(tmp_path: Path) -> None:
    serving, measuring = (MeasurementFile(tmp_path / "pipelines.json") for _ in range(2))
    measuring.keep(measurement(BETTER))
    assert serving.preferred(CONDITIONS) == "hyde"
    measuring.keep(measurement(WORSE))
    assert (serving.preferred(CONDITIONS), len(serving.all())) == ("plain", 1)


@pytest.mark.parametrize("damage", ["", "{", "[1]", '[{"name": "x"}]'])
def test_a_damaged_file_leaves_plain_and_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "pipelines.json"
    path.write_text(damage)
    assert MeasurementFile(path).preferred(CONDITIONS) == "plain"
    with pytest.raises(StoreCorrupt, match="measure again"):
        MeasurementFile(path).all()


def test_a_damaged_file_is_logged_once_and_again_when_it_is_damaged_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "pipelines.json"
    file = MeasurementFile(path)
    for times, damage in ((1, "{"), (2, "[1]")):
        path.write_text(damage)
        for _ in range(3):
            assert file.preferred(CONDITIONS) == "plain"
        assert caplog.messages == ["the measured pipelines cannot be read"] * times
