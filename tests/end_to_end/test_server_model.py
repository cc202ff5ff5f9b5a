"""`jackdaw-server serve --model` as a real process: the model that it says at start is the model that devices meet."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cloud_server.access.tokens import TokenFile
from shared.protocol import messages as m
from storage.paths import HOME_VARIABLE, Paths
from tests.companion import Phone
from tests.tiny_model import tiny_model, words

pytestmark = pytest.mark.weights
ROOT = Path(__file__).parents[2]


@pytest.fixture
def environment(tmp_path: Path, weights: Path) -> dict[str, str]:
    """The environment of a server with the default models and a small context.

    Its KV cache is f16, as a tiny model's attention heads are too narrow for q8_0.
    """
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "weights").symlink_to(weights)
    own = {
        HOME_VARIABLE: str(tmp_path),
        "JACKDAW_SERVER_MODEL_CONTEXT": "1024",
        "JACKDAW_SERVER_MODEL_KV": "f16",
        "JACKDAW_SERVER_MODEL_THREADS": "1",
        "JACKDAW_SERVER_SERVE_PORT": "0",
        "JACKDAW_SERVER_SERVE_METRICS_PORT": "0",
    }
    return {**os.environ, **own}


@contextmanager
def serving(environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    program = [sys.executable, "-c", "from cloud_server.cli import main; main()", "serve", "--json", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True, env=environment, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_model_of_one_run_serves_devices(environment: dict[str, str], tmp_path: Path) -> None:
    own = tiny_model(tmp_path / "own.gguf", "llama", words())
    token = TokenFile(Paths.locate(environment).server_tokens).create("phone", datetime.now(UTC))[1]
    with serving(environment, "--model", f"file:{own}") as process:
        assert process.stdout
        started = json.loads(process.stdout.readline())
        model = started["model"]
        assert (model["name"], model["size"], model["threads"]) == ("own", own.stat().st_size, 1)
        assert model["memory"] == own.stat().st_size + 1024 * 384 * 2 + 256_000_000
        phone = Phone(started["url"], token).connects()
        offers = [event.offer for event in phone.inbox if isinstance(event, m.Welcome)]
        assert [offer.model for offer in offers] == ["own"]
        phone.cuts()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.parametrize("fault", ["cut", "contradictory", "too large"])
def test_a_model_that_cannot_serve_is_refused_by_name(fault: str, environment: dict[str, str], tmp_path: Path) -> None:
    own = tiny_model(tmp_path / "own.gguf", "llama", words())
    if fault == "contradictory":
        own.write_bytes(own.read_bytes().replace(b"llama.block_count\x04\0\0\0\6", b"llama.block_count\x04\0\0\0\0"))
    elif fault == "cut":
        own.write_bytes(own.read_bytes()[:20_000])
    else:
        environment["JACKDAW_SERVER_MODEL_PREFIX_MB"] = "1000000"
    with serving(environment, "--model", f"file:{own}") as process:
        printed, said = process.communicate(timeout=120)
    code, error = {"too large": (2, "UsageError")}.get(fault, (1, "WeightsDamaged"))
    assert process.returncode == code
    assert json.loads(printed)["error"]["type"] == error
    assert ("own needs about 1,000,002 MB" if fault == "too large" else str(own)) in said
