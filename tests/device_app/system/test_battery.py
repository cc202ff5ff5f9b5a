"""Reading batteries from the files of the operating system, with contents from real machines."""

from pathlib import Path

import pytest

from device_app.system import battery
from device_app.system.battery import Supply

LAPTOP = {
    "type": "Battery",
    "present": "1",
    "status": "Discharging",
    "capacity": "71",
    "energy_full": "50060000",
    "energy_now": "35540000",
    "power_now": "6117000",
    "voltage_now": "11812000",
}
BY_CHARGE = {
    "type": "Battery",
    "present": "1",
    "status": "Discharging",
    "capacity": "86",
    "charge_full": "4208000",
    "charge_now": "3619000",
    "voltage_now": "12043000",
}
PHONE = {"type": "Battery", "status": "Discharging", "charge_counter": "2871000", "voltage_now": "3921000"}
BY_PERCENT = {"type": "Battery", "status": "Discharging", "capacity": "50", "energy_full": "40000000"}
CHARGE_BY_PERCENT = BY_PERCENT | {"charge_full": "4000000", "voltage_now": "10000000"}
del CHARGE_BY_PERCENT["energy_full"]
MAINS = {"type": "Mains", "online": "0"}
MOUSE = {"type": "Battery", "scope": "Device", "status": "Discharging", "capacity": "55"}


def supplies(folder: Path, **supplied: dict[str, str]) -> Path:
    for name, files in supplied.items():
        (folder / name).mkdir()
        for file, text in files.items():
            (folder / name / file).write_text(text + "\n")
    return folder


@pytest.mark.parametrize(
    ("supplied", "left", "step", "volts"),
    [
        pytest.param(LAPTOP, 35.54 * 3600, 36, 1, id="energy"),
        pytest.param(BY_CHARGE, 3.619 * 3600, 3.6, 12.043, id="charge"),
        pytest.param(PHONE, 2.871 * 3600, 3.6, 3.921, id="a phone"),
        pytest.param(BY_PERCENT, 20 * 3600, 0.4 * 3600, 1, id="percent of an energy"),
        pytest.param(CHARGE_BY_PERCENT, 2 * 3600, 0.04 * 3600, 10, id="percent of a charge"),
    ],
)
def test_what_is_left(tmp_path: Path, supplied: dict[str, str], left: float, step: float, volts: float) -> None:
    power = battery.read(supplies(tmp_path, AC=MAINS, BAT0=supplied, hidpp_battery_0=MOUSE))
    assert power
    (own,) = power.batteries
    assert (own.name, own.left, own.step, own.volts) == pytest.approx(("BAT0", left, step, volts))
    assert power.at_s > 0
    assert power.asleep_s > -1


def test_two_batteries_of_which_one_rests(tmp_path: Path) -> None:
    power = battery.read(supplies(tmp_path, BAT1=LAPTOP, BAT0=LAPTOP | {"status": "Not charging"}))
    assert power
    assert [battery.name for battery in power.batteries] == ["BAT0", "BAT1"]


def test_an_empty_bay_is_no_battery(tmp_path: Path) -> None:
    power = battery.read(supplies(tmp_path, BAT0=LAPTOP, BAT1={"type": "Battery", "present": "0"}))
    assert power
    assert [battery.name for battery in power.batteries] == ["BAT0"]


@pytest.mark.parametrize(
    "supplied",
    [
        pytest.param({"AC": MAINS}, id="none"),
        pytest.param({"BAT0": MOUSE}, id="a mouse's"),
        *(
            pytest.param({"BAT0": LAPTOP | {"status": status}}, id=status)
            for status in ("Charging", "Full", "Not charging", "Unknown", "")
        ),
        pytest.param({"BAT0": LAPTOP, "BAT1": LAPTOP | {"status": "Charging"}}, id="one charges"),
        pytest.param({"BAT0": {"type": "Battery", "status": "Discharging", "capacity": "50"}}, id="percent alone"),
        pytest.param({"BAT0": {name: LAPTOP[name] for name in ("type", "energy_now")}}, id="no status"),
        *(
            pytest.param({"BAT0": LAPTOP | {"energy_now": text}}, id=f"says {text[:9]}")
            for text in ("-1", "nan", "1e6", "35540000 µWh", "²", "9" * 40)
        ),
        pytest.param({"BAT0": LAPTOP, "BAT1": LAPTOP | {"energy_now": "?"}}, id="one of two cannot be read"),
        pytest.param({"BAT0": BY_CHARGE | {"voltage_now": ""}}, id="a charge without volts"),
    ],
)
def test_nothing_is_told(tmp_path: Path, supplied: dict[str, dict[str, str]]) -> None:
    assert battery.read(supplies(tmp_path, **supplied)) is None


def test_a_device_without_such_a_folder_tells_nothing(tmp_path: Path) -> None:
    assert battery.read(tmp_path / "none") is None


def test_a_battery_that_vanishes_meanwhile_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    supplies(tmp_path, BAT0=LAPTOP)
    read = Path.read_bytes

    def vanishing(file: Path) -> bytes:
        if file.name == "energy_now":
            raise OSError(19, "No such device")
        return read(file)

    monkeypatch.setattr(Path, "read_bytes", vanishing)
    assert battery.read(tmp_path) is None


def test_what_cannot_be_decoded_is_no_number(tmp_path: Path) -> None:
    (supplies(tmp_path, BAT0=LAPTOP) / "BAT0" / "energy_now").write_bytes(b"\xff\xfe\n")
    assert battery.read(tmp_path) is None


# Power and charge, without joules.

PLUGGED = {"type": "Mains", "online": "1"}
USB_C = {"type": "USB", "online": "1"}
KEPT_AT_80 = LAPTOP | {"status": "Not charging", "capacity": "80"}
SMALL = LAPTOP | {"capacity": "10", "energy_full": "20000000"}
BIG = LAPTOP | {"capacity": "90", "energy_full": "60000000"}


@pytest.mark.parametrize(
    ("supplied", "expected"),
    [
        pytest.param({}, Supply(), id="nothing"),
        pytest.param({"AC": PLUGGED, "hidpp_battery_0": MOUSE}, Supply(), id="a desktop with a mouse"),
        pytest.param({"AC": MAINS, "BAT0": LAPTOP}, Supply(False, 71), id="on battery"),
        pytest.param({"BAT0": LAPTOP}, Supply(False, 71), id="on battery, no plug is shown"),
        pytest.param({"ADP1": PLUGGED, "BAT0": LAPTOP | {"status": "Charging"}}, Supply(True, 71), id="charging"),
        pytest.param({"BAT0": LAPTOP | {"status": "Charging"}}, Supply(True, 71), id="charging, no plug is shown"),
        pytest.param({"AC": MAINS, "BAT0": LAPTOP | {"status": "Charging"}}, Supply(None, 71), id="charging unplugged"),
        pytest.param({"ACAD": PLUGGED, "BAT0": KEPT_AT_80}, Supply(True, 80), id="kept at 80%"),
        pytest.param({"BAT0": KEPT_AT_80}, Supply(None, 80), id="not charging, no plug is shown"),
        pytest.param({"AC": MAINS, "BAT0": LAPTOP | {"status": "Unknown"}}, Supply(False, 71), id="unplugged"),
        pytest.param({"AC": MAINS, "ucsi": USB_C, "BAT0": KEPT_AT_80}, Supply(True, 80), id="by another plug"),
        pytest.param({"AC": PLUGGED, "BAT0": LAPTOP}, Supply(None, 71), id="plugged in and draining"),
        pytest.param({"BAT0": LAPTOP | {"status": "Full", "capacity": "100"}}, Supply(True, 100), id="full"),
        pytest.param({"BAT0": SMALL, "BAT1": BIG}, Supply(False, 70), id="two, by their size"),
        pytest.param({"BAT0": PHONE | {"capacity": "20"}, "BAT1": BIG}, Supply(False, 55), id="two of unknown size"),
        pytest.param({"BAT0": SMALL, "BAT1": BIG | {"capacity": "255"}}, Supply(False), id="one of two lies"),
        pytest.param({"BAT0": LAPTOP | {"temp": "315"}}, Supply(False, 71, 31.5), id="warm"),
        pytest.param(
            {"BAT0": LAPTOP | {"temp": "-40"}, "BAT1": LAPTOP | {"temp": "50"}},
            Supply(False, 71, 5),
            id="two, and the hotter",
        ),
        *(
            pytest.param({"BAT0": LAPTOP | {"capacity": text, "temp": text}}, Supply(False), id=f"says {text[:9]}")
            for text in ("nan", "7e1", "", "71%", "9" * 40)
        ),
        pytest.param({"AC": MAINS | {"online": "?"}, "BAT0": KEPT_AT_80}, Supply(True, 80), id="a plug of some kind"),
    ],
)
def test_power_and_charge(supplied: dict[str, dict[str, str]], expected: Supply, tmp_path: Path) -> None:
    assert battery.supply(supplies(tmp_path, **supplied)) == expected


def test_files_that_cannot_be_read_leave_unknown_what_they_would_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert battery.supply(tmp_path / "none") is None
    supplies(tmp_path, AC=PLUGGED, BAT0=LAPTOP)
    read = Path.read_bytes

    def failing(file: Path) -> bytes:
        if file.name in gone:
            raise OSError(19, "No such device")
        return read(file)

    monkeypatch.setattr(Path, "read_bytes", failing)
    for names, expected in (
        ({"type"}, Supply()),
        ({"capacity"}, Supply()),
        ({"status"}, Supply(True, 71)),
        ({"online"}, Supply(False, 71)),
    ):
        gone = names
        assert battery.supply(tmp_path) == expected
