"""The files and commands given to service managers, and the errors if a manager is missing, fails or hangs."""

import os
import plistlib
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.system import services
from device_app.system.services import Service, kind_of, service
from shared.errors import UsageError

PROGRAM = Path("/opt/the venv/bin/jackdaw")
TERMUX = "/data/data/com.termux/files"


@pytest.mark.parametrize(
    ("environment", "platform", "commands", "kind"),
    [
        ({}, "linux", {"systemctl"}, "systemd"),
        ({}, "darwin", {"launchctl"}, "launchd"),
        ({"PREFIX": f"{TERMUX}/usr"}, "android", set(), "termux"),
        ({"PREFIX": f"{TERMUX}/usr"}, "linux", {"systemctl"}, "termux"),
        ({"PREFIX": "/usr"}, "linux", {"systemctl"}, "systemd"),
    ],
)
def test_which_service_manager_there_is(
    environment: dict[str, str], platform: str, commands: set[str], kind: str
) -> None:
    assert kind_of(environment, platform, commands.__contains__) == kind


def test_a_device_without_one_is_told_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"Start `jackdaw daemon run` when you log in\."):
        kind_of({}, "linux", lambda _: False)


def test_systemd() -> None:
    definition = service("systemd", PROGRAM, {"HOME": "/home/anna", "JACKDAW_HOME": '/data/50% "mine"'}, 1000)
    (unit,) = definition.units
    assert unit.path == Path("/home/anna/.config/systemd/user/jackdaw.service")
    assert 'ExecStart="/opt/the venv/bin/jackdaw" daemon run\n' in unit.text
    assert 'Environment="JACKDAW_HOME=/data/50%% \\"mine\\""\n' in unit.text
    assert definition.start[-1] == ("systemctl", "--user", "enable", "--now", "jackdaw.service")
    elsewhere = service("systemd", PROGRAM, {"HOME": "/home/anna", "XDG_CONFIG_HOME": "/c"}, 1000)
    assert elsewhere.units[0].path == Path("/c/systemd/user/jackdaw.service")
    assert "Environment" not in elsewhere.units[0].text


def test_launchd() -> None:
    definition = service("launchd", PROGRAM, {"HOME": "/Users/anna", "JACKDAW_HOME": "/data/<mine>"}, 501)
    (unit,) = definition.units
    assert unit.path == Path("/Users/anna/Library/LaunchAgents/io.jackdaw.daemon.plist")
    facts = plistlib.loads(unit.text.encode())
    assert facts["ProgramArguments"] == [str(PROGRAM), "daemon", "run"]
    assert facts["EnvironmentVariables"] == {"JACKDAW_HOME": "/data/<mine>"}
    assert definition.start == (("launchctl", "bootstrap", "gui/501", str(unit.path)),)
    assert definition.end == (("launchctl", "bootout", "gui/501/io.jackdaw.daemon"),)


def test_a_phone_has_a_service_and_a_job_that_runs_offline() -> None:
    definition = service("termux", PROGRAM, {"HOME": f"{TERMUX}/home", "PREFIX": f"{TERMUX}/usr"}, 10_123)
    run, log, job = definition.units
    assert run.path == Path(f"{TERMUX}/usr/var/service/jackdaw/run")
    assert run.text == f"#!{TERMUX}/usr/bin/sh\nexec env '/opt/the venv/bin/jackdaw' daemon run 2>&1\n"
    assert f"mkdir -p {TERMUX}/usr/var/log/sv/jackdaw\nexec svlogd -tt {TERMUX}/usr/var/log/sv/jackdaw\n" in log.text
    assert job.text.endswith("daemon run-once --when-idle\n")
    assert all(unit.executable for unit in definition.units)
    schedule = definition.start[1]
    assert schedule[schedule.index("--network") + 1] == "none"
    assert schedule[schedule.index("--script") + 1] == str(job.path)
    assert int(schedule[schedule.index("--period-ms") + 1]) >= 900_000
    assert definition.end[1] == (
        "termux-job-scheduler",
        "--cancel",
        "--job-id",
        schedule[schedule.index("--job-id") + 1],
    )


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(name=names)
def test_no_name_breaks_out_of_a_phones_script(name: str) -> None:
    program = Path("/bin") / f"x{name}"
    run = service("termux", program, {"HOME": "/h", "PREFIX": "/p", "JACKDAW_HOME": name}, 1).units[0]
    line = run.text.removeprefix("#!/p/bin/sh\n").removesuffix(" 2>&1\n")
    assert shlex.split(line) == ["exec", "env", f"JACKDAW_HOME={name}", str(program), "daemon", "run"]


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A service with a home folder of its own, on a PATH that contains only the commands that `manager` adds."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    return service("systemd", PROGRAM, {"HOME": str(tmp_path)}, 1000)


def manager(folder: Path, script: str) -> None:
    command = folder / "bin" / "systemctl"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)


def test_installing_writes_starts_and_uninstalling_ends_and_removes(linux: Service, tmp_path: Path) -> None:
    manager(tmp_path, f'echo "$@" >> {tmp_path}/log')
    report = services.install(linux)
    unit = linux.units[0]
    assert unit.path.read_text("utf-8") == unit.text
    assert [message.problem for message in report] == [None, None]
    removed, report = services.uninstall(linux)
    assert (removed, [message.problem for message in report]) == ([unit.path], [None])
    assert not unit.path.exists()
    assert (tmp_path / "log").read_text().splitlines() == [
        "--user daemon-reload",
        "--user enable --now jackdaw.service",
        "--user disable --now jackdaw.service",
    ]
    assert services.uninstall(linux) == ([], [])


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (None, "the command systemctl is not installed"),
        ("echo 'Failed to connect to bus' >&2; exit 1", "Failed to connect to bus"),
        ("exit 4", "the command ended with code 4"),
        ("/bin/sleep 600", "the command did not finish within 0.2 seconds"),
    ],
)
def test_a_manager_that_fails_is_told(
    script: str | None, problem: str, linux: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if problem.endswith("within 0.2 seconds"):
        monkeypatch.setattr(services, "_WAIT_S", 0.2)
    if script:
        manager(tmp_path, script.replace("/bin/sleep", "exec /bin/sleep"))
    assert [report.problem for report in services.install(linux)] == [problem, problem]
    assert linux.units[0].path.exists()


def test_what_a_phone_runs_can_be_run(tmp_path: Path) -> None:
    program = tmp_path / "jackdaw"
    program.write_text('#!/bin/sh\necho "$JACKDAW_HOME: $*"\n')
    program.chmod(0o755)
    environment = {"HOME": str(tmp_path), "PREFIX": str(tmp_path / "usr"), "JACKDAW_HOME": "a b"}
    definition = service("termux", program, environment, 1)
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    (tmp_path / "usr" / "bin" / "sh").symlink_to("/bin/sh")
    services.install(definition)
    for unit, said in (
        (definition.units[0], "a b: daemon run\n"),
        (definition.units[2], "a b: daemon run-once --when-idle\n"),
    ):
        assert os.access(unit.path, os.X_OK)
        assert subprocess.run([unit.path], capture_output=True, text=True, check=True).stdout == said
