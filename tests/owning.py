"""Lets root work in the data folder of a service that runs as another user, and checks what that user can then use.

`python -m tests.owning HOME` runs in a user namespace (`run`), where root is root of the namespace only.
"""

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import pytest

from models.catalog import Entry, Weights
from storage.paths import Paths

SERVICE = 4321
"""The user and group id of the service, inside and outside of the namespace."""


def run(home: Path) -> dict[str, object]:
    """Run `main` in a user namespace; return what it printed.

    If that is impossible, the test fails in CI and is skipped elsewhere.
    """
    here = Path(__file__).parents[1]
    waiting = 'echo ready; read go; exec "$@"'
    command = [
        shutil.which("unshare") or "unshare",
        "--user",
        "sh",
        "-c",
        waiting,
        "sh",
        sys.executable,
        "-m",
        "tests.owning",
    ]
    process = subprocess.Popen(
        [*command, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(here), "JACKDAW_HOME": str(home)},
    )
    with process:
        assert process.stdout
        process.stdout.readline()
        try:
            for kind in ("uid", "gid"):  # more than one user takes root outside, too
                Path(f"/proc/{process.pid}/{kind}_map").write_text("0 0 65536\n")
        except OSError as error:
            process.kill()
            _not_proven(error)
        said, errors = process.communicate("go\n", timeout=120)
    assert process.returncode == 0, errors
    report: dict[str, object] = json.loads(said.splitlines()[-1])
    return report


def _not_proven(error: OSError) -> NoReturn:
    said = f"no namespace of users here, so it was not proven whose an administrator's files are: {error}"
    if os.environ.get("CI"):
        pytest.fail(said)
    pytest.skip(said)


class _Pulled(Weights):
    """Fake model files, written instead of downloaded."""

    def pull(self, entry: Entry, progress: object = None) -> bool:
        (self.folder / "graph").mkdir()
        (self.folder / "graph" / "model.onnx").write_text(entry.name)
        return True

    def path(self, entry: Entry) -> Path:
        return self.folder / "graph"


def _administer(home: Path) -> None:
    from cloud_server.access.pairing import PairingFile
    from cloud_server.cli import index, models, server
    from models.fake import FakeEmbedder

    setattr(index, "_embedder", lambda *_: FakeEmbedder())  # noqa: B010
    source = home.with_name("facts.jsonl")
    source.write_text(json.dumps({"title": "Rivers", "text": "The Danube ends in the Black Sea."}) + "\n")
    models.ensure(_Pulled(Paths.locate(os.environ).weights), "all-minilm-l6-v2")
    for arguments in (
        ["token", "create", "anna-phone"],
        ["index", "build", str(source)],
        ["index", "add", str(source)],
    ):
        server.main(arguments, standalone_mode=False)
    PairingFile(Paths.locate(os.environ).server_pairing).open("ab" * 32, "by a code", datetime.now(UTC))


def _look(home: Path) -> dict[str, object]:
    """As the service's user, use the files that root wrote; return which operations succeeded."""
    from cloud_server.access.pairing import PairingFile
    from cloud_server.access.tokens import TokenFile, new_token
    from cloud_server.retrieval.search import IndexCorpus
    from models.fake import FakeEmbedder

    paths = Paths.locate({"JACKDAW_HOME": str(home)})
    tokens, corpus = TokenFile(paths.server_tokens), IndexCorpus(paths.server_index, FakeEmbedder.fingerprint)
    corpus.refresh()
    tokens.create("by the service", datetime.now(UTC))
    pairing, now = PairingFile(paths.server_pairing), datetime.now(UTC)
    if record := pairing.attempt(lambda _: True, now):
        pairing.complete(record.id, "phone", new_token(), tokens, now)
    owners = {path.lstat().st_uid for path in home.rglob("*")}
    return {"tokens": [entry.name for entry in tokens.entries()], "passages": len(corpus), "owners": sorted(owners)}


def main(home: Path) -> None:
    """As root, write the service's files in the folder; then use them as the service's user, in another process."""
    os.chown(home, SERVICE, SERVICE)
    _administer(home)
    sys.stdout.flush()
    if not (child := os.fork()):
        os.setgroups([])
        os.setresgid(SERVICE, SERVICE, SERVICE)
        os.setresuid(SERVICE, SERVICE, SERVICE)
        print(json.dumps(_look(home)), flush=True)
        os._exit(0)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
