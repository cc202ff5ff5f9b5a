"""Runs `jackdaw` as real processes with one user's data folder."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


class Home:
    """One user's data folder (JACKDAW_HOME), in which commands are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "HOME": str(folder),  # `doctor` looks for what other programs of the person's left there
            "JACKDAW_HOME": str(folder),
            # Tests run side by side, and threads that wait for each other on busy cores cost more than they save.
            "JACKDAW_MODEL_THREADS": "1",
            "JACKDAW_EMBEDDER_THREADS": "1",
            "JACKDAW_ANSWER_MAX_TOKENS": "24",
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-c", "from device_app.cli import main; main()", *arguments]

    def run(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        given = {"input": text} if text is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=ROOT,
            timeout=240,
            check=False,
            **given,
        )

    def json(self, *arguments: str, code: int | None = 0, text: str | None = None) -> Any:
        done = self.run(*arguments, "--json", text=text)
        assert code is None or done.returncode == code, done.stderr
        return json.loads(done.stdout)

    def kill(self, after_s: float, *arguments: str) -> None:
        """Run the command, and end it by SIGKILL `after_s` seconds after its start."""
        quiet = subprocess.DEVNULL
        with subprocess.Popen(
            self.command(*arguments), env=self.environment, cwd=ROOT, stdout=quiet, stderr=quiet
        ) as process:
            time.sleep(after_s)
            process.kill()


def home(folder: Path, weights: Path) -> Home:
    """Make a new home, with links to the weights."""
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "weights").symlink_to(weights)
    return Home(folder)
