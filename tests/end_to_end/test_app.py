"""The app on a real terminal of a phone's size, with real models and the sample data."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from device_app.tui.chat.asking import LATE_S

ROOT = Path(__file__).parent.parent.parent
PROGRAM = [sys.executable, "-c", "from device_app.cli import main; main()"]


@pytest.mark.long
@pytest.mark.weights
def test_a_person_asks_reads_the_badge_and_leaves(terminal: Callable[..., Any], tmp_path: Path, weights: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "weights").symlink_to(weights)
    environment = os.environ | {
        "JACKDAW_HOME": str(tmp_path),
        "JACKDAW_MODEL_THREADS": "1",
        "JACKDAW_EMBEDDER_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }
    life = ROOT / "scripts" / "sample_life" / "mail"
    subprocess.run([*PROGRAM, "add", str(life)], env=environment, cwd=ROOT, check=True, capture_output=True)
    app = terminal(PROGRAM, environment, columns=48, rows=18)
    app.awaits("sk about your files")
    app.awaits("ready")
    app.types("What is the booking reference of the flights to Bergen?\r")
    app.awaits("nothing left this device")
    seen = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", app.written)
    assert "XK4T9Z" in seen
    assert re.search(r"● device · \d+ tok/s", seen)
    time.sleep(LATE_S + 0.2)  # before, Esc was meant for the answer
    app.types("\x1b")
    app.awaits(r"(?<!\^)n new")
    app.types("1")
    app.awaits("Source 1 of")
    app.types("\x11")
    assert app.ends() == 0
