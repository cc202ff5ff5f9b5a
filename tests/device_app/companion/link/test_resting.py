"""How long a server that broke the protocol is not contacted."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.link.credentials import Credentials
from device_app.companion.link.resting import FIRST_REST_S, MOST_REST_S, Resting

LIAR = Credentials("ws://127.0.0.1:1/", "token")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("device_app.companion.link.resting.time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("kept", [True, False])
def test_it_doubles_up_to_an_hour_and_is_forgiven_in_time(tmp_path: Path, clock: list[float], *, kept: bool) -> None:
    resting = Resting(LIAR, tmp_path / "rest.json" if kept else None)
    assert resting.left() == (0.0, "")
    seconds = [resting.begin("it lied") for _ in range(8)]
    assert seconds == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert resting.left() == (MOST_REST_S, "it lied")
    clock[0] += MOST_REST_S
    assert resting.left() == (0.0, "")
    clock[0] += MOST_REST_S
    assert resting.begin("it lied again") == FIRST_REST_S


def test_every_process_knows_and_no_other_server_rests(tmp_path: Path, clock: list[float]) -> None:
    file = tmp_path / "rest.json"
    Resting(LIAR, file).begin("it lied")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "token" not in file.read_text()
    clock[0] += 20
    assert Resting(LIAR, file).left() == (40.0, "it lied")
    assert Resting(Credentials(LIAR.url, "another"), file).left() == (0.0, "")


@pytest.mark.parametrize("held", [b"", b"{", b"\xff", b'{"server":1}', b"[" * 100_000])
def test_a_file_that_is_damaged_is_none(tmp_path: Path, held: bytes) -> None:
    file = tmp_path / "rest.json"
    file.write_bytes(held)
    assert Resting(LIAR, file).left() == (0.0, "")


@pytest.mark.parametrize("kept", [True, False])
def test_a_rest_of_an_earlier_boot_is_over(tmp_path: Path, clock: list[float], *, kept: bool) -> None:
    resting = Resting(LIAR, tmp_path / "rest.json" if kept else None)
    resting.begin("it lied")
    for clock[0] in (0.0, FIRST_REST_S, 900.0):
        assert resting.left() == (0.0, "")
    assert resting.begin("it lied again") == FIRST_REST_S


@given(now=st.floats(0, 1e9))
def test_no_rounding_ends_a_rest(now: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("device_app.companion.link.resting.time.monotonic", lambda: now)
        resting = Resting(LIAR)
        assert [resting.begin("it lied") for _ in range(2)] == [FIRST_REST_S, 2 * FIRST_REST_S]
        assert resting.left()[1] == "it lied"
