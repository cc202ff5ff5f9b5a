"""Runs a server in a separate process, for fuzzing: `python -m scripts.fuzzing.served {fake|real} HOME [MODULE:NAME]`.

Its token has no quotas, so that the server is tested, not the quotas. The real server has the default model and the
passages of scripts/sample_public.jsonl. The named function is called with the server before it serves, so that tests
can sabotage it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Literal

import psutil

from cloud_server import build
from cloud_server.access.tokens import TokenFile
from cloud_server.cli.serve import run
from cloud_server.engine.batch import Batch
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.monitoring.logs import begin_logging
from cloud_server.pipelines.answering import Answering
from cloud_server.serving.server import CompanionServer
from cloud_server.settings import Limits, Settings
from models.fake import FakeEmbedder, FakeEngine
from scripts.places import step, weights
from shared.errors import ExitCode, JackdawError
from shared.prompt import CHATML
from storage.paths import HOME_VARIABLE, Paths
from tests.companion import FACTS, FewPassages
from tests.faults import free_port

EngineName = Literal["fake", "real"]

ROOT = Path(__file__).parents[2]
PUBLIC = ROOT / "scripts" / "sample_public.jsonl"
QUESTIONS: dict[EngineName, tuple[str, str | None]] = {
    "fake": ("Which countries does the Danube flow through, and where?", FACTS[0][1]),
    "real": ("What is hyperthyroidism in cats?", None),
}
"""For each kind of engine, the honest device's question, and the only correct answer, if there is one."""

_BOUNDLESS = Limits(connections=1000, connects_per_minute=1e6, tokens_per_minute=1e9, searches_per_minute=1e6)
_ENDS_S = 60.0


@dataclass(frozen=True)
class RunningServer:
    """A running server's ports and process; a device may connect with `token`."""

    port: int
    metrics_port: int
    token: str
    vocabulary: int
    process: psutil.Popen
    errors: Callable[[], list[str]]
    """Return the error entries in the server's log so far."""

    @property
    def memory_mb(self) -> float:
        """The server's resident memory in MB; 0 once it has ended."""
        try:
            return float(self.process.memory_info().rss / 1e6)
        except psutil.Error:
            return 0.0


class Log:
    """The log of a running server. Each call of `errors` continues reading where the last one stopped."""

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0
        self._errors: list[str] = []

    def errors(self) -> list[str]:
        """Return the error entries so far, and lines that are not log entries, such as tracebacks."""
        with self._path.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                if not line.startswith(b"{") or json.loads(line)["level"] == "error":
                    self._errors.append(line.decode("utf-8", "replace").rstrip())
        return self._errors


@contextmanager
def serving(engine: EngineName, home: Path, spoil: str = "") -> Iterator[RunningServer]:
    """Run a server within the block."""
    if engine == "real":
        _prepare(home)
    command = [sys.executable, "-m", "scripts.fuzzing.served", engine, str(home), *([spoil] if spoil else [])]
    log = home / "server.log"
    with log.open("w") as stderr:
        process = psutil.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=stderr, text=True)
    try:
        line = process.stdout.readline()
        if not line:
            raise JackdawError(f"The server does not start: {log.read_text()[-2000:]}")
        yield RunningServer(**json.loads(line), process=process, errors=Log(log).errors)
    finally:
        process.terminate()
        try:
            process.wait(_ENDS_S)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def main() -> int:
    """Serve until the process is told to end. Return the exit code."""
    engine, home = sys.argv[1], Path(sys.argv[2])
    begin_logging("warning", as_json=True)
    tokens = TokenFile(home / "tokens.json")
    token = tokens.create("fuzzed", datetime.now(UTC))[1]
    settings = replace(Settings(), limits=_BOUNDLESS)
    own = replace(settings.serve, port=0, metrics_port=free_port(), resume_s=2.0, drain_s=1.0)
    settings = replace(settings, serve=own, model=replace(settings.model, context=4096))
    server = _fake(settings, tokens) if engine == "fake" else build.server(_paths(home), settings)
    server.tokens = tokens
    for spoil in sys.argv[3:]:
        module, _, name = spoil.partition(":")
        getattr(import_module(module), name)(server)

    def ready(_host: str, port: int, metrics_port: int | None) -> None:
        vocabulary = server.answering.engine.info.vocabulary
        facts = {"port": port, "metrics_port": metrics_port, "token": token, "vocabulary": vocabulary}
        print(json.dumps(facts), flush=True)

    try:
        run(server, ready)
    except JackdawError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return ExitCode.DONE


def _fake(settings: Settings, tokens: TokenFile) -> CompanionServer:
    engine = FakeEngine(context=1 << 16, sequences=64)
    answering = Answering(engine, CHATML, FakeEmbedder(), FewPassages(), settings.retrieval.relevance)
    return CompanionServer(settings, tokens, answering, Batch(engine, PrefixCache(1 << 20)))


def _paths(home: Path) -> Paths:
    return Paths.locate({HOME_VARIABLE: str(home)})


def _prepare(home: Path) -> None:
    """Put the weights and an index of a few passages into `home`."""
    folder, own = weights("smollm2-135m", "all-minilm-l6-v2").folder, _paths(home)
    own.weights.parent.mkdir(parents=True, exist_ok=True)
    own.weights.symlink_to(folder.resolve())
    TokenFile(own.server_tokens).create("nobody", datetime.now(UTC))  # without a token, the server does not serve
    step("building an index")
    program = "from cloud_server.cli import main; main()"
    subprocess.run(
        [sys.executable, "-c", program, "index", "build", str(PUBLIC), "--json"],
        cwd=ROOT,
        env=os.environ | {HOME_VARIABLE: str(home)},
        check=True,
        capture_output=True,
    )


if __name__ == "__main__":
    sys.exit(main())
