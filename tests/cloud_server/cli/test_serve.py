"""`jackdaw-server serve`: what is refused before anything is loaded."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from cloud_server.cli import serve
from cloud_server.tokens import TokenFile
from shared.errors import UsageError
from storage.paths import Paths


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path))
    monkeypatch.setattr(serve, "ensure", lambda *_: None)
    monkeypatch.setattr(serve, "begin_logging", lambda *_, **__: None)
    monkeypatch.delenv("RAY_SERVE_ENABLE_HA_PROXY", raising=False)


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(serve.command, arguments)
    assert isinstance(result.exception, UsageError), result
    return str(result.exception)


def allow(tmp_path: Path) -> None:
    TokenFile(Paths.locate({"JACKDAW_HOME": str(tmp_path)}).server_tokens).create("phone", datetime.now(UTC))


@pytest.mark.parametrize("many", [(), ("--replicas", "2")])
def test_nobody_listens_without_a_token_nor_openly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: tuple[str, ...]
) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: name)
    assert "There is no token" in refused(*many)
    allow(tmp_path)
    assert "there is no certificate" in refused("--host", "0.0.0.0", *many)


def test_without_the_extra_there_are_no_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda _: None)
    assert "scripts/install scale" in refused("--replicas", "2")


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"JACKDAW_SERVER_SERVE_PORT": "0"}, "choose a port"),
        ({"JACKDAW_SERVER_RETRIEVAL_MILVUS": "public.db"}, "name a Milvus server"),
        ({"RAY_SERVE_ENABLE_HA_PROXY": "1"}, "does no TLS"),
        (
            {
                "RAY_SERVE_ENABLE_HA_PROXY": "1",
                "JACKDAW_SERVER_SERVE_BEHIND_TLS": "true",
                "JACKDAW_SERVER_SERVE_CERTIFICATE": "chain.pem",
            },
            "does no TLS",
        ),
    ],
)
def test_what_a_cluster_cannot_do_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str], said: str
) -> None:
    allow(tmp_path)
    monkeypatch.setattr(serve, "find_spec", lambda name: name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert said in refused("--replicas", "2")
