"""`jackdaw-server serve`: what is refused before anything is loaded."""

import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from cloud_server import build
from cloud_server.cli import serve
from cloud_server.server import tls
from cloud_server.settings import Settings, load
from cloud_server.tokens import TokenFile
from shared.errors import SettingError, UsageError
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


@pytest.mark.parametrize(
    "part",
    [
        lambda paths, settings: build.index(paths, settings, 1),
        lambda paths, settings: build.corpus(paths, settings, ""),
    ],
    ids=["index", "corpus"],
)
def test_without_the_extra_there_is_no_milvus(
    monkeypatch: pytest.MonkeyPatch, part: Callable[[Paths, Settings], object]
) -> None:
    monkeypatch.setattr(build, "find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    for module in ("cloud_server.retrieval.milvus", "cloud_server.retrieval.milvus_index"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setenv("JACKDAW_SERVER_RETRIEVAL_MILVUS", "public.db")
    paths = Paths.locate(os.environ)
    with pytest.raises(UsageError, match="scripts/install milvus"):
        part(paths, load(paths, os.environ).settings)


def test_a_file_of_tls_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        tls(str(tmp_path / "chain.pem"), "")
    assert raised.value.filename == str(tmp_path / "chain.pem")


def test_a_settings_file_that_is_no_toml_is_not_sent_to_the_devices_editor(tmp_path: Path) -> None:
    paths = Paths.locate(os.environ)
    paths.server_config_file.parent.mkdir(parents=True)
    paths.server_config_file.write_text("[serve")
    with pytest.raises(SettingError, match=r"server\.toml is not valid TOML.* Correct it with an editor\.$"):
        load(paths, {})


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory", "chain.pem"), "chain.pem cannot be read: No such file"),
        (OSError(98, "address already in use"), "127.0.0.1:8765, or for metrics on port 9765: address already in use"),
    ],
)
def test_what_keeps_it_from_listening_is_named(monkeypatch: pytest.MonkeyPatch, error: OSError, said: str) -> None:
    async def run(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(build, "server", lambda *_: SimpleNamespace(run=run))
    assert said in refused()
