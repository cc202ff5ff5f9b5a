"""`scripts/termux` on a simulated Termux: stand-ins for package managers and Python record their calls."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "termux"
PACKAGES = "python python-pip python-numpy python-psutil python-onnxruntime llama-cpp termux-api"

STAND_IN = """\
#!/bin/sh
# pkg, apt-get, dpkg, dpkg-query, df and python, by the name it is called by. What changes something is noted, and
# the FAIL_AT-th of these calls fails.
state=$PREFIX/var/state name=${0##*/}
changes() {
  echo "$name $*" >>"$state/log"
  [ "$(wc -l <"$state/log")" != "${FAIL_AT:-0}" ]
}
case "$name $*" in
  'dpkg --print-architecture') echo "${ARCHITECTURE:-aarch64}" ;;
  'dpkg --configure -a') ;;
  dpkg-query*)
    shift 3
    for package; do
      if [ -e "$state/$package" ]; then echo "$package installed"; else echo "no package $package" >&2; fi
    done ;;
  apt-get*)
    size=402
    case "$*" in *clang*) size=901 ;; esac
    printf 'Need to get 61.5 MB of archives.\\nAfter this operation, %s MB of additional disk space\\n' $size ;;
  df*) printf 'Filesystem 1024-blocks Used Available\\nx 1 1 %s\\n' "${FREE_KB:-9000000}" ;;
  'pkg update'*) changes "$@" ;;
  'pkg install'*)
    changes "$@" || exit 100
    shift 2
    for package; do
      : >"$state/$package"
      if [ "$package" = python ]; then ln -s "$PREFIX/bin/pkg" "$PREFIX/bin/python"; fi
    done ;;
  *' -c import sys'*) cat "$(dirname "$0")/version" 2>/dev/null || echo "${PYTHON:-3.14}" ;;
  *' -c import tokenizers') [ -e "$state/python-tokenizers" ] ;;
  *' -c import msgspec') [ -e "${0%/*}/msgspec" ] ;;
  *' -c import '*) [ -e "$state/python-${2#import }" ] ;;
  *' -c from importlib'*) echo 0.1.0 ;;
  'python -m venv'*)
    changes "$@" || exit 1
    for folder; do :; done
    rm -rf "$folder"
    mkdir -p "$folder/bin"
    ln -s "$PREFIX/bin/pkg" "$folder/bin/python"
    echo "${PYTHON:-3.14}" >"$folder/bin/version" ;;
  'python -m pip install'*)
    case "$*" in *'--only-binary msgspec'*) [ -n "${WHEEL_OF_MSGSPEC:-}" ] || exit 1 ;; esac
    shift 7
    changes "$@" || exit 1
    case "$*" in
      *' msgspec') : >"${0%/*}/msgspec" ;;
      *.whl) printf '#!/bin/sh\\necho jackdaw, version 0.1.0\\n' >"${0%/*}/jackdaw" && chmod +x "${0%/*}/jackdaw" ;;
    esac ;;
  *) echo "unexpected: $name $*" >&2 && exit 99 ;;
esac
"""


class Phone:
    """A simulated Termux with nothing installed, and a wheel in the current folder."""

    def __init__(self, folder: Path) -> None:
        self.prefix = folder / "com.termux" / "files" / "usr"
        self.home = folder / "home"
        self.script = SCRIPT
        self.wheel = self.home / "jackdaw-0.1.0-py3-none-any.whl"
        self.log = self.prefix / "var" / "state" / "log"
        self.log.parent.mkdir(parents=True)
        self.log.touch()
        self.home.mkdir()
        self.wheel.write_text("a wheel")
        bin_folder = self.prefix / "bin"
        bin_folder.mkdir()
        (bin_folder / "pkg").write_text(STAND_IN)
        (bin_folder / "pkg").chmod(0o755)
        for name in ("apt-get", "dpkg", "dpkg-query", "df"):
            (bin_folder / name).symlink_to("pkg")
        tools = "awk cat chmod cksum cut dirname git grep head ln ls mkdir printf readlink rm sed sh test uname wc"
        for tool in tools.split():  # and no compiler
            (bin_folder / tool).symlink_to(shutil.which(tool) or "")

    def run(self, *arguments: str, typed: str = "", **facts: str) -> subprocess.CompletedProcess[str]:
        """Run the script with these arguments; `facts` are variables that the stand-ins read."""
        environment = {"PATH": str(self.prefix / "bin"), "PREFIX": str(self.prefix), "HOME": str(self.home), **facts}
        command = [str(self.prefix / "bin" / "sh"), str(self.script), *arguments]
        return subprocess.run(
            command, env=environment, cwd=self.home, input=typed, capture_output=True, text=True, check=False
        )

    def changes(self) -> list[str]:
        """Return the recorded calls that change something, such as installations, and clear the record."""
        lines = self.log.read_text().replace(str(self.home), "~").replace(str(self.prefix), "$PREFIX").splitlines()
        self.log.write_text("")
        return lines

    def works(self) -> bool:
        """Return whether the command exists and starts."""
        command = self.prefix / "bin" / "jackdaw"
        return command.exists() and b"0.1.0" in subprocess.run([command], capture_output=True, check=True).stdout


@pytest.fixture
def phone(tmp_path: Path) -> Phone:
    return Phone(tmp_path)


STEPS = [
    f"pkg install -y {PACKAGES}",
    "pkg install -y tur-repo",
    "pkg update -y",
    "pkg install -y python-tokenizers",
    "python -m venv --clear --system-site-packages --without-pip $PREFIX/opt/jackdaw",
    "pkg install -y clang",
    "python --no-binary msgspec msgspec",
    "python --no-deps --force-reinstall ~/jackdaw-0.1.0-py3-none-any.whl",
    "python --only-binary numpy,onnxruntime,psutil jackdaw[termux]==0.1.0",
]


def test_everything_is_installed_in_order_and_once(phone: Phone) -> None:
    done = phone.run("--yes")
    assert done.returncode == 0, done.stderr
    assert phone.changes() == STEPS
    assert phone.works()
    assert "Next: jackdaw models pull" in done.stdout
    assert phone.run().returncode == 0  # nothing to ask about
    assert phone.changes() == []


def test_it_says_what_it_will_do_and_asks_first(phone: Phone) -> None:
    for arguments, typed, code in ((("--dry-run",), "", 0), ((), "n\n", 3), ((), "", 3)):
        said = phone.run(*arguments, typed=typed)
        assert said.returncode == code
        for part in (PACKAGES, "tur-repo", "opt/jackdaw", "clang", "901 MB", "61.5 MB", "8789 MB are free", "340 MB"):
            assert part in said.stdout
        assert said.stdout.count("to do") == 6
        assert phone.changes() == []
    assert "nothing was changed" in said.stderr
    assert phone.run(typed="y\n").returncode == 0
    assert phone.works()
    assert phone.run("--dry-run").stdout.count("  done ") == 6


@pytest.mark.parametrize("step", range(1, len(STEPS) + 1))
def test_it_goes_on_where_it_stopped(phone: Phone, step: int) -> None:
    stopped = phone.run("--yes", FAIL_AT=str(step))
    assert stopped.returncode not in (0, 99)
    assert "it goes on where it stopped" in stopped.stderr
    assert phone.changes() == STEPS[:step]
    assert phone.run("--yes").returncode == 0
    # The repository's lists are fetched again, and Jackdaw itself is installed again with what it needs.
    assert phone.changes() == STEPS[{4: 2, 9: 7}.get(step, step - 1) :]
    assert phone.works()


def test_no_compiler_is_installed_where_a_wheel_of_msgspec_is(phone: Phone) -> None:
    assert phone.run("--yes", WHEEL_OF_MSGSPEC="1").returncode == 0
    assert [line for line in phone.changes() if "clang" in line or "msgspec" in line] == [
        "python --quiet --only-binary msgspec msgspec"
    ]


def test_a_newer_wheel_replaces_the_program_alone(phone: Phone) -> None:
    phone.run("--yes")
    phone.changes()
    phone.wheel.write_text("a newer wheel")
    assert phone.run("--yes").returncode == 0
    assert phone.changes() == STEPS[-2:]


def test_a_newer_python_gets_an_environment_of_its_own(phone: Phone) -> None:
    phone.run("--yes")
    phone.changes()
    assert phone.run("--yes", PYTHON="3.15").returncode == 0
    assert phone.changes() == [STEPS[4], *STEPS[6:]]


def test_a_clone_is_installed_where_there_is_no_wheel(phone: Phone) -> None:
    phone.wheel.unlink()
    said = phone.run("--dry-run")
    assert f"Jackdaw from {ROOT}" in said.stdout


@pytest.mark.parametrize(
    ("arguments", "facts", "code", "reason"),
    [
        (("--fast",), {}, 2, "no option --fast"),
        (("other.whl",), {}, 2, "no file .*other.whl"),
        (("--yes",), {"PREFIX": "/usr"}, 1, "not Termux.*pipx install"),
        (("--yes",), {"ARCHITECTURE": "arm"}, 1, "32 bits"),
        (("--yes",), {"FREE_KB": "990000"}, 1, "971 MB are needed"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(
    phone: Phone, arguments: tuple[str, ...], facts: dict[str, str], code: int, reason: str
) -> None:
    refused = phone.run(*arguments, **facts)
    assert (refused.returncode, phone.changes()) == (code, [])
    assert re.search(reason, refused.stderr)


def test_the_script_alone_says_what_it_needs(phone: Phone) -> None:
    phone.wheel.unlink()
    folder = phone.home / "downloads"
    folder.mkdir()
    phone.script = folder / "termux"
    shutil.copy(SCRIPT, phone.script)
    refused = phone.run("--yes")
    assert (refused.returncode, phone.changes()) == (2, [])
    assert "there is no jackdaw-*.whl here" in refused.stderr


def test_another_package_manager_is_named(phone: Phone) -> None:
    (phone.prefix / "bin" / "dpkg").unlink()
    refused = phone.run("--yes")
    assert (refused.returncode, phone.changes()) == (1, [])
    assert "has no dpkg" in refused.stderr


def test_another_program_of_the_name_is_left_alone(phone: Phone) -> None:
    command = phone.prefix / "bin" / "jackdaw"
    command.write_text("another")
    refused = phone.run("--yes")
    assert refused.returncode == 1
    assert "another program" in refused.stderr
    assert command.read_text() == "another"
