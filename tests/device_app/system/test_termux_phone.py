"""A phone's commands: what they answer, and what is said where they hang, are denied, print nonsense or are missing."""

from pathlib import Path

import pytest

from device_app.system import phone as phones
from device_app.system.phone import Source
from tests.termux import Phone, Wrong, battery


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"PREFIX": "/data/data/com.termux/files/usr"}, "linux", True),
        ({}, "android", True),
        ({"PREFIX": "/usr/local"}, "linux", False),
        ({}, "darwin", False),
    ],
)
def test_a_phone_is_known_by_its_prefix_or_its_platform(
    environment: dict[str, str], platform: str, expected: bool
) -> None:
    assert phones.is_phone(environment, platform) is expected


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (Wrong.HANGS, "did not answer within 0.2 seconds. Install the app Termux:API"),
        (
            Wrong.DENIES,
            "Android denies termux-battery-status its permission (READ_SMS). Allow it in Android's settings",
        ),
        (Wrong.NONSENSE, "prints no valid answer. Run: pkg upgrade termux-api"),
        (Wrong.FAILS, "prints no valid answer"),
        (Wrong.MISSING, "is not installed. Run: pkg install termux-api"),
    ],
)
def test_a_command_that_goes_wrong_is_named_with_what_to_do(
    phone: Phone, monkeypatch: pytest.MonkeyPatch, how: Wrong, said: str
) -> None:
    phone.enter(monkeypatch)
    value, reply = phones.call_json("termux-battery-status")
    assert (value, reply.problem) == (battery(), "")
    phone.goes_wrong(how, "termux-battery-status")
    value, reply = phones.call_json("termux-battery-status", seconds=0.2)
    assert value is None
    assert said in reply.problem


def test_an_answer_nested_too_deeply_is_no_answer(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    phone.enter(monkeypatch)
    phone.answers("termux-battery-status", "[" * 1_900 + '"error"')
    _, reply = phones.call_json("termux-battery-status")
    assert "prints no valid answer" in reply.problem


def test_commands_are_found_without_a_path(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    phone.enter(monkeypatch)
    monkeypatch.setenv("PATH", "/nowhere")
    assert phones.find("termux-wake-lock") == str(phone.bin / "termux-wake-lock")


@pytest.mark.parametrize(
    ("version", "release", "listed", "wrong"),
    [
        ("0.119.0", "F_DROID", {"com.termux": "org.fdroid.fdroid", "com.termux.api": "org.fdroid.fdroid"}, ""),
        ("0.119.0", "GITHUB", {"com.termux": "", "com.termux.api": ""}, ""),
        ("0.119.0", "GITHUB", {}, ""),
        ("googleplay.2026.02.11", "", {}, "from the Play Store: that build lacks messages"),
        ("0.119.0", "", {"com.termux": "com.android.vending"}, "from the Play Store: that build lacks messages"),
        (
            "0.119.0",
            "F_DROID",
            {"com.termux": "org.fdroid.fdroid", "com.termux.api": "com.android.vending"},
            "com.termux.api is from the Play Store and Termux is not",
        ),
    ],
)
def test_a_mix_of_places_is_noticed(version: str, release: str, listed: dict[str, str], wrong: str) -> None:
    environment = {"TERMUX_VERSION": version, "TERMUX_APK_RELEASE": release}
    said = phones.mixed(environment, [Source(app, installer) for app, installer in listed.items()])
    assert wrong in said
    assert bool(wrong) == bool(said)


def test_where_the_apps_are_from_is_read(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    phone.enter(monkeypatch)
    assert phones.sources() == [
        Source("com.termux", "org.fdroid.fdroid"),
        Source("com.termux.api", "org.fdroid.fdroid"),
    ]
    phone.answers("pm", "package:com.termux  installer=null\nnonsense\n")
    assert phones.sources() == [Source("com.termux", "")]
    phone.goes_wrong(Wrong.MISSING, "pm")
    assert phones.sources() == []


def test_a_denied_storage_is_told_from_a_missing_file(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, outside = phone.home / "storage" / "shared", phone.home / "notes"
    phone.enter(monkeypatch)
    assert "termux-setup-storage" in phones.storage_advice(shared / "letter.pdf")  # never asked for
    assert "termux-setup-storage" in phones.storage_advice(Path("/storage/emulated/99/letter.pdf"))
    assert phones.storage_advice(outside / "letter.pdf") == ""
    shared.mkdir(parents=True)
    assert phones.storage_advice(shared / "letter.pdf") == ""  # it may be read, so the file is missing
    shared.rmdir()
    monkeypatch.undo()
    assert phones.storage_advice(shared / "letter.pdf") == ""  # no phone
