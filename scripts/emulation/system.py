"""Makes an arm64 Debian in a folder and runs programs in it, in separate namespaces, so that this machine stays
unchanged.

Its packages are unpacked and not configured, so that nothing has to be emulated to make it; Python needs no more.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.places import CannotRun, step

COMMANDS: Final[Mapping[str, str]] = {
    "qemu-aarch64-static": "qemu-user-static",
    "mmdebstrap": "mmdebstrap",
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "cmake": "cmake",
    "ninja": "ninja-build",
    "unshare": "util-linux",
}
"""The commands that are needed, each with the Debian package that contains it."""

_PACKAGES: Final = "python3,ca-certificates,libgomp1,libstdc++6"

_ENTER: Final = r"""
set -e
root=$1 qemu=$2 binds=$3; shift 3
# From Linux 6.7 on, each user namespace has its own; before, the machine's is used if it names the emulator.
if mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc 2>/dev/null; then
  printf '%s' ':qemu-aarch64:M::\x7f\x45\x4c\x46\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:'\
'\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'"$qemu:F" \
    > /proc/sys/fs/binfmt_misc/register
fi
mkdir -p "$root/proc" "$root/dev" "$root/tmp"
mount -t proc proc "$root/proc"  # no /sys: by what it says of this machine's processor, onnxruntime crashes
mount --rbind /dev "$root/dev"
while read -r from to; do
  [ -n "$from" ] || continue
  mkdir -p "$root$to"
  mount --bind "$from" "$root$to"
done <<< "$binds"
exec chroot "$root" "$@"
"""


@dataclass(frozen=True, slots=True)
class System:
    """An arm64 Debian in a folder."""

    root: Path

    def make(self) -> None:
        """Unpack the Debian's packages, unless they are unpacked already. Raises CannotRun."""
        if missing := [package for command, package in COMMANDS.items() if not shutil.which(command)]:
            raise CannotRun(f"Commands are missing. Run: apt-get install {' '.join(missing)}")
        if self.root.exists():
            return
        step("unpacking an arm64 Debian, about 80 MB")
        target = self.root.with_suffix(".part")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        sources = _sources()
        suite = sources[0].split()[2]
        make = ["mmdebstrap", "--quiet", "--variant=extract", "--architectures=arm64", f"--include={_PACKAGES}", suite]
        unpack = ["tar", "--extract", "--no-same-owner", "--exclude=./dev/*", f"--directory={target}"]
        with subprocess.Popen([*make, "-", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as made:
            assert made.stdin
            made.stdin.write("\n".join(sources).encode())
            made.stdin.close()
            unpacked = subprocess.run(unpack, stdin=made.stdout, check=False).returncode
        if made.returncode or unpacked:
            raise CannotRun("The Debian could not be unpacked; mmdebstrap says above why. Run: apt-get update")
        target.rename(self.root)

    @property
    def python(self) -> str:
        """The version of Python in the Debian, such as 3.11."""
        names = (path.name for path in self.root.glob("usr/bin/python3.*"))
        return next(match[1] for name in names if (match := _VERSION.search(name)))

    def run(
        self, command: Sequence[str], binds: Mapping[str, Path], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the Debian, with folders of this machine at the paths that `binds` names; return its output.

        Its stderr goes to this process's stderr. Its environment is PATH, HOME, LANG and the given variables.
        """
        qemu = shutil.which("qemu-aarch64-static") or ""
        listed = "\n".join(f"{folder.resolve()} {path}" for path, folder in binds.items())
        own = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", **environment}
        private = ["unshare", "--map-root-user", "--mount", "--pid", "--fork"]
        return subprocess.run(
            [*private, "bash", "-c", _ENTER, "enter", str(self.root.resolve()), qemu, listed, *command],
            env=own,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )


_VERSION: Final = re.compile(r"^python(3\.\d+)$")


def _sources() -> list[str]:
    """Return the Debian package sources of this machine, one line each. Raises CannotRun."""
    form = "deb $(REPO_URI) $(CODENAME) $(COMPONENT)"
    said = subprocess.run(
        ["apt-get", "indextargets", "--format", form, "Identifier: Packages", "Label: Debian"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    sources = sorted(set(said.stdout.splitlines()), key=len)
    if not sources:
        raise CannotRun("This machine's package sources name no Debian. Run: apt-get update")
    return sources
