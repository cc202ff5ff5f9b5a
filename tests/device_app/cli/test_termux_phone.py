"""`jackdaw phone` and `jackdaw add` on a simulated phone, and what `jackdaw phone` says on a laptop."""

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from device_app.cli import daemon
from device_app.tui.edge import places
from shared.errors import UsageError
from storage.paths import Paths
from tests.termux import Phone, Wrong

TERMUX = "/data/data/com.termux/files/usr"


@pytest.fixture
def _on_a_phone(phone: Phone, monkeypatch: pytest.MonkeyPatch, without_weights: None, tmp_path: Path) -> None:
    phone.enter(monkeypatch)
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("arguments", [("status",), ("setup", "-y"), ("remove",), ("share", "https://a.b"), ("pause",)])
def test_a_laptop_says_what_it_needs(jackdaw: Any, arguments: tuple[str, ...]) -> None:
    outcome = jackdaw("phone", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert "for a phone with Termux" in outcome.err
    assert "jackdaw daemon install" in outcome.err


@pytest.mark.usefixtures("_on_a_phone")
def test_setting_up_shows_first_and_writes_on_request(jackdaw: Any, phone: Phone) -> None:
    hook, mine = phone.home / "bin" / "termux-url-opener", "#!/bin/sh\necho mine\n"
    hook.parent.mkdir()
    hook.write_text(mine)
    shown = jackdaw("phone", "setup")
    assert shown.code == 2
    assert 'phone share -- "$1"' in shown.out
    assert "termux-job-scheduler --job-id" in shown.out
    assert "Nothing was written" in shown.err
    plan = json.loads(jackdaw("phone", "setup", "--json").out)
    assert plan["standing"] == ["yours", "missing", "missing"]
    assert (plan["written"], plan["done"], phone.calls("sv-enable")) == ([], False, [])

    done = json.loads(jackdaw("phone", "setup", "-y", "--json").out)
    assert (done["left"], done["done"], hook.read_text()) == ([str(hook)], True, mine)
    assert phone.calls("sv-enable") == [["sv-enable", "jackdaw"]]
    done = json.loads(jackdaw("phone", "setup", "-y", "--replace", "--json").out)
    assert list(done["moved"]) == [str(hook)]
    assert "phone share" in hook.read_text()

    facts = {fact["name"]: fact for fact in json.loads(jackdaw("phone", "status", "--json").out)["facts"]}
    assert facts["termux"]["said"] == "Termux 0.119.0-beta.3, from F-Droid"
    assert facts["termux-url-opener"]["said"] == "is there"
    assert facts["daemon"]["said"] == "is installed"
    assert "termux-url-opener: is there\n" in jackdaw("phone", "status").out
    removed = jackdaw("phone", "remove")
    assert (removed.code, hook.read_text()) == (0, mine)
    assert jackdaw("phone", "remove").code == 3
    assert not (phone.home / ".termux" / "jobs" / "jackdaw").exists()


@pytest.mark.usefixtures("_on_a_phone")
def test_a_phone_without_services_has_the_job(jackdaw: Any, phone: Phone) -> None:
    phone.goes_wrong(Wrong.MISSING, "sv-enable")
    outcome = jackdaw("phone", "setup", "-y")
    assert outcome.code == 0
    assert "commands: sv-enable missing\n    Run: pkg install termux-services\n" in jackdaw("phone", "status").out
    assert "the command sv-enable is not installed" in outcome.err
    assert "Run: pkg install termux-services" in outcome.err
    phone.goes_wrong(Wrong.FAILS, "termux-job-scheduler")
    assert jackdaw("phone", "setup", "-y").code == 1


@pytest.mark.usefixtures("_on_a_phone")
@pytest.mark.parametrize("wrong", [Wrong.DENIES, Wrong.NONSENSE, None])
def test_a_job_that_android_did_not_schedule_is_reported(jackdaw: Any, phone: Phone, wrong: Wrong | None) -> None:
    phone.goes_wrong(Wrong.MISSING, "sv-enable")
    if wrong:
        phone.goes_wrong(wrong, "termux-job-scheduler")
    else:
        phone.answers("termux-job-scheduler", "Scheduling Job 52135 - response 0\n")
    outcome = jackdaw("phone", "setup", "-y")
    assert outcome.code == 1
    assert "failed: Android did not schedule the job" in outcome.err


@pytest.mark.usefixtures("_on_a_phone")
def test_a_link_is_kept_as_a_note_and_nothing_is_fetched(jackdaw: Any, paths: Paths) -> None:
    shared = json.loads(jackdaw("phone", "share", "https://u:p@www.example.org/recipes/almond-cake", "--json").out)
    text = Path(shared["kept"]).read_text()
    assert text.startswith("# recipes almond cake (example.org)\n\nLink: https://www.example.org/recipes/almond-cake\n")
    assert os.stat(shared["kept"]).st_mode & 0o777 == 0o600  # noqa: PTH116
    assert Path(shared["kept"]).parent == paths.shared
    assert jackdaw("phone", "share", "https://www.example.org/recipes/almond-cake").code == 0
    assert len(list(paths.shared.iterdir())) == 1
    assert "almond" in jackdaw("search", "almond").out


@pytest.mark.usefixtures("_on_a_phone")
@pytest.mark.parametrize(
    ("shared", "said"),
    [
        ("http://", "it names no website"),
        ("https://a.b:99999999/", "it cannot be read as one"),
        ("https://[::1", "it cannot be read as one"),
        ("ftp://example.org", "it does not begin with http:// or https://"),
        ("javascript:alert(1)", "it does not begin with http:// or https://"),
        ("https://example.org/\x1b]52;c;aGk=\x07", "it has spaces or control characters"),
        ("https://example.org/a b", "it has spaces or control characters"),
        pytest.param("https://example.org/" + "a" * 5_000, "at most 4,000 are allowed", id="long"),
        ("/dev/zero", "is not a file"),
        ("a\x1b[31mb", "There is no file named"),
    ],
)
def test_what_is_neither_link_nor_file_is_refused(jackdaw: Any, paths: Paths, shared: str, said: str) -> None:
    outcome = jackdaw("phone", "share", "--", shared)
    assert outcome.code == 2
    assert said in outcome.err
    assert "\x1b" not in outcome.err
    assert not paths.shared.exists()


@pytest.mark.usefixtures("_on_a_phone")
def test_a_file_is_kept_and_asked_about(jackdaw: Any, phone: Phone) -> None:
    folder = phone.home / "downloads"
    folder.mkdir()
    letter, film, picture = folder / 'a "new" letter.txt', folder / "film.txt", folder / "picture.jpg"
    letter.write_text("Petra\x1b[31m has borrowed the blue drill.\x07")
    with film.open("wb") as file:
        file.truncate(2 << 30)
    picture.write_bytes(b"\xff\xd8")
    outcome = jackdaw("phone", "share", str(letter), "--ask", "Who has the blue drill?")
    assert outcome.code == 0
    assert "Petra" in outcome.out
    assert "\x1b" not in outcome.out
    outcome = jackdaw("phone", "share", str(film))
    assert (outcome.code, "has 2,147 MB, and files of up to 100 MB are read" in outcome.err) == (2, True)
    outcome = jackdaw("phone", "share", str(picture))
    assert (outcome.code, "Not kept: unknown type." in outcome.err) == (3, True)


@pytest.mark.usefixtures("_on_a_phone")
def test_storage_that_is_denied_is_asked_for_and_nothing_is_forgotten(
    jackdaw: Any, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = phone.home / "storage" / "shared" / "notes"
    outcome = jackdaw("add", str(folder))
    assert (outcome.code, "Run termux-setup-storage" in outcome.err) == (2, True)
    with pytest.raises(UsageError, match="Run termux-setup-storage"):  # as the app looks at what is typed
        places.checked("~/storage/shared/notes")
    folder.mkdir(parents=True)
    assert places.checked("~/storage/shared/notes") == folder
    (folder / "drill.md").write_text("Petra has borrowed the blue drill.")
    assert jackdaw("add", str(folder)).code == 0

    listed, looked = os.listdir, os.access

    def denied(path: Any) -> list[str]:
        if "storage" in os.fsdecode(path):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "listdir", denied)  # the tests may run as root, whom no mode denies
    monkeypatch.setattr(os, "access", lambda path, mode: "storage" not in str(path) and looked(path, mode))
    outcome = jackdaw("add")
    assert "permission denied" in outcome.err
    assert "Run termux-setup-storage" in outcome.err
    assert "Its text that was read earlier is kept" in outcome.err
    assert jackdaw("knowledge", "list").out.count("drill.md") == 1


@pytest.mark.usefixtures("_on_a_phone")
def test_reading_pauses_by_the_notifications_button(jackdaw: Any, phone: Phone, paths: Paths) -> None:
    folder = phone.home / "notes"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.md").write_text(f"Note {number}.")
    assert jackdaw("phone", "pause").code == 0  # while nothing reads: it holds for no later run
    assert jackdaw("add", str(folder)).code == 0

    (folder / "3.md").write_text("Note 3.")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr("device_app.system.phone_notice.Notice.show", lambda *_: paths.add_paused.touch())
    outcome = jackdaw("add")
    monkeypatch.undo()
    assert outcome.code == 1
    assert "paused from the notification. To go on: jackdaw add" in outcome.err
    assert not paths.add_paused.exists()
    assert jackdaw("add").out.startswith("1 document read")


@pytest.mark.parametrize(
    ("prefix", "arguments", "setting", "mouse"),
    [
        (TERMUX, (), None, False),
        (TERMUX, ("--mouse",), None, True),
        (TERMUX, (), "true", True),
        (TERMUX, ("--no-mouse",), "true", False),
        ("/usr", (), None, True),
        ("/usr", (), "false", False),
        ("/usr", ("--mouse",), "false", True),
    ],
)
def test_a_phone_takes_no_mouse_and_draws_seldom(
    jackdaw: Any, monkeypatch: pytest.MonkeyPatch, prefix: str, arguments: tuple[str, ...], setting: str, mouse: bool
) -> None:
    started: dict[str, Any] = {}

    def start(look: Any, *_: object) -> int:
        started["mouse"] = look.mouse
        started.update({name: os.environ.get(f"TEXTUAL_{name}") for name in ("FPS", "ANIMATIONS")})
        return 0

    for name in ("TEXTUAL_FPS", "TEXTUAL_ANIMATIONS"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setitem(sys.modules, "device_app.tui.run", SimpleNamespace(run=start))
    monkeypatch.setattr("device_app.cli.app.opening", lambda _: nullcontext())
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("PREFIX", prefix)
    if setting:
        monkeypatch.setenv("JACKDAW_APP_MOUSE", setting)
    assert jackdaw("app", *arguments).code == 0
    assert started == {
        "mouse": mouse,
        "FPS": "15" if "com.termux" in prefix else "120",
        "ANIMATIONS": "none" if "com.termux" in prefix else None,
    }


@pytest.mark.parametrize(("prefix", "big", "used"), [(TERMUX, 4, 2), (TERMUX, 1, 1), ("/usr", 8, 4), ("/usr", 1, 1)])
def test_work_ahead_takes_two_big_cores_of_a_phone(
    monkeypatch: pytest.MonkeyPatch, prefix: str, big: int, used: int
) -> None:
    monkeypatch.setenv("PREFIX", prefix)
    monkeypatch.setattr("device_app.cli.daemon.threads", lambda _: big)
    device = daemon._device()
    assert (device.settings.model.threads, device.settings.embedder.threads) == (used, used)
