"""`jackdaw-server serve`: which settings it refuses before it loads a model."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import trustme
from click.testing import CliRunner

from cloud_server import build
from cloud_server.access.self_signed import with_certificate
from cloud_server.access.tokens import TokenFile
from cloud_server.cli import doctor, serve
from cloud_server.cli.starting import StartingModel
from cloud_server.settings import Serve, Settings, load
from models import catalog
from models.forecast import Forecast
from shared.errors import (
    JackdawError,
    NothingFound,
    SettingError,
    StoreCorrupt,
    UsageError,
    WeightsDamaged,
    WeightsMissing,
)
from storage.paths import Paths
from tests.adapter_file import write
from tests.tiny_model import metadata

STARTING = StartingModel(catalog.CATALOG[0], Forecast(138_000_000, 0, 0, 0, 9_000_000_000, 0), 2, 0)


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
def test_nobody_listens_without_a_token_nor_openly_and_nothing_is_pulled_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: tuple[str, ...]
) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: name)
    pulled = list[str]()
    monkeypatch.setattr(serve, "ensure", lambda _, *names: pulled.extend(names))
    assert "There is no access token" in refused(*many)
    allow(tmp_path)
    assert "the server needs a certificate" in refused("--host", "0.0.0.0", "--replicas", "2")
    assert not pulled


def test_beyond_this_machine_it_takes_a_certificate_of_its_own_and_needs_no_token_to_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[Settings] = []

    def server(_: Paths, settings: Settings) -> None:
        served.append(settings)
        raise UsageError("That is enough.")

    monkeypatch.setattr(build, "server", server)
    for _ in range(2):
        assert "That is enough" in refused("--host", "0.0.0.0")
    certificates = {Path(settings.serve.certificate).read_text() for settings in served}
    assert len(certificates) == 1  # it is made once
    assert Path(served[0].serve.certificate).stat().st_mode & 0o777 == 0o600
    for others in ({"host": "127.0.0.1"}, {"behind_tls": True}, {"certificate": "chain.pem"}):
        settings = Settings(serve=replace(Serve(host="0.0.0.0"), **others))
        assert with_certificate(Paths.locate(os.environ), settings) is settings


def test_without_the_extra_there_are_no_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda _: None)
    assert "scripts/install scale" in refused("--replicas", "2")


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"JACKDAW_SERVER_SERVE_PORT": "0"}, "needs a fixed port"),
        ({"JACKDAW_SERVER_RETRIEVAL_MILVUS": "public.db"}, "to a Milvus server"),
        ({"RAY_SERVE_ENABLE_HA_PROXY": "1"}, "has no TLS"),
        (
            {
                "RAY_SERVE_ENABLE_HA_PROXY": "1",
                "JACKDAW_SERVER_SERVE_BEHIND_TLS": "true",
                "JACKDAW_SERVER_SERVE_CERTIFICATE": "chain.pem",
            },
            "has no TLS",
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
    for module in ("cloud_server.scale.milvus", "cloud_server.scale.milvus_index"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setenv("JACKDAW_SERVER_RETRIEVAL_MILVUS", "public.db")
    paths = Paths.locate(os.environ)
    with pytest.raises(UsageError, match="scripts/install milvus"):
        part(paths, load(paths, os.environ).settings)


def test_a_settings_file_that_is_no_toml_is_not_sent_to_the_devices_editor(tmp_path: Path) -> None:
    paths = Paths.locate(os.environ)
    paths.server_config_file.parent.mkdir(parents=True)
    paths.server_config_file.write_text("[serve")
    with pytest.raises(SettingError, match=r"server\.toml is not valid TOML.* Correct the file with an editor\.$"):
        load(paths, {})


def test_what_keeps_it_from_listening_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allow(tmp_path)

    async def run(*_: object, **__: object) -> None:
        raise OSError(98, "address already in use")

    monkeypatch.setattr(build, "server", lambda *_: SimpleNamespace(run=run))
    assert "127.0.0.1:8765, or for metrics on 127.0.0.1:9765: address already in use" in refused()


@pytest.mark.parametrize("many", [(), ("--replicas", "2")])
def test_a_certificate_that_cannot_be_used_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: tuple[str, ...]
) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: name)
    allow(tmp_path)
    assert "chain.pem cannot be read" in refused("--certificate", str(tmp_path / "chain.pem"), *many)


@pytest.mark.parametrize(("days", "level"), [(-1, "fail"), (13, "warn"), (15, "ok")])
def test_a_certificate_that_devices_refuse_or_soon_will_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, days: int, level: str
) -> None:
    ends = datetime.now(UTC) + timedelta(days=days)
    made, chain = trustme.CA().issue_cert("bird.example", not_after=ends), tmp_path / "chain.pem"
    made.private_key_and_cert_chain_pem.write_to_path(chain)
    allow(tmp_path)
    monkeypatch.setenv("JACKDAW_SERVER_SERVE_CERTIFICATE", str(chain))
    paths = Paths.locate(os.environ)
    build.may_listen(paths, load(paths, os.environ).settings, pairs=True)
    lines = [record.getMessage() for record in caplog.records]
    assert bool(lines) == (level != "ok")
    assert all(f"on {ends:%Y-%m-%d at %H:%M} UTC" in line for line in lines)
    (finding,) = (finding for finding in doctor.examine(paths) if finding.check == "listening")
    assert (finding.level, bool(finding.fix)) == (level, level != "ok")
    assert f"on {ends:%Y-%m-%d at %H:%M} UTC" in finding.said


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "wss://bird.example:18767"), ("192.0.2.1", "wss://192.0.2.1:18767")],
)
def test_a_device_is_told_an_address_that_it_can_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], host: str, url: str
) -> None:
    chain = tmp_path / "chain.pem"
    trustme.CA().issue_cert("bird.example").private_key_and_cert_chain_pem.write_to_path(chain)
    serve._print_started(Settings(serve=Serve(certificate=str(chain))), host, 18767, None, STARTING, as_json=False)
    assert capsys.readouterr().err.endswith(f"On a device: jackdaw connect {url}\n")


def test_with_its_own_certificate_devices_are_paired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = with_certificate(Paths.locate(os.environ), Settings(serve=Serve(host="0.0.0.0")))
    serve._print_started(own, "0.0.0.0", 18767, None, STARTING, as_json=False, unsigned=True)
    assert capsys.readouterr().err == "Serving on 0.0.0.0, port 18767. Add a device: jackdaw-server pair\n"


@pytest.mark.parametrize(("memory", "sharing", "each"), [(1000.0, 4, 250.0), (1000.0, 1, 1000.0), (2.0, 8, 1.0)])
def test_replicas_of_one_machine_share_the_memory_of_its_index(memory: float, sharing: int, each: float) -> None:
    settings = Settings()
    settings = replace(settings, retrieval=replace(settings.retrieval, memory_mb=memory, gpu_mb=100.0))
    shared = serve._of_each(settings, sharing)
    assert shared.retrieval.memory_mb == each
    assert shared.retrieval.gpu_mb == 100.0 / sharing
    assert 1 <= shared.model.threads <= max(1, (os.cpu_count() or 1) // sharing)


def test_replicas_take_the_threads_that_are_set() -> None:
    settings = Settings()
    settings = replace(settings, model=replace(settings.model, threads=3))
    assert serve._of_each(settings, 4).model.threads == 3


def test_replicas_that_could_not_each_hold_the_index_s_codes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda _: None)
    index = SimpleNamespace(describe=lambda: {"memory_bytes": 400_000_000})
    monkeypatch.setattr(build, "index", lambda *_: index)
    said = "need 1,200.0 MB of memory (400.0 MB in each of 3 processes), and retrieval.memory_mb is 1,000.0"
    assert said in refused("--replicas", "3")
    assert "scripts/install scale" in refused("--replicas", "2")
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")  # one replica on each machine
    assert "scripts/install scale" in refused("--replicas", "3")


def free(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("models.forecast.available", lambda: size)


def stopped_before_loading(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Let `serve` stop before it loads a model; return the list of the settings with which it would have loaded one."""
    loads: list[Settings] = []

    def server(_: Paths, settings: Settings) -> None:
        loads.append(settings)
        raise UsageError("That is enough.")

    monkeypatch.setattr(build, "server", server)
    return loads


def test_it_says_what_the_model_takes_before_it_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allow(tmp_path)
    loads = stopped_before_loading(monkeypatch)
    free(monkeypatch, 8_000_000_000)
    result = CliRunner().invoke(serve.command, ["--model", "smollm2-1.7b", "--threads", "3"])
    assert result.stderr == (
        "The model smollm2-1.7b needs about 3,023 MB of memory (1,056 MB of weights, 1,711 MB for 16,384 tokens of "
        "context, 256 MB for kept states), and 8,000 MB are free. Threads: 3; on a GPU: no layers.\n"
        "Loading the model. The first time it is also tested on this machine, for up to minutes.\n"
    )
    assert [settings.model.name for settings in loads] == ["smollm2-1.7b"]
    assert load(Paths.locate(os.environ), {}).settings.model.name == "smollm2-135m"  # for one run


def test_a_model_that_cannot_fit_is_refused_with_the_forecast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allow(tmp_path)
    loads = stopped_before_loading(monkeypatch)
    free(monkeypatch, 3_000_000_000)
    said = refused("--model", "smollm2-1.7b")
    assert "smollm2-1.7b needs about 3,023 MB" in said
    assert "3,000 MB are free" in said
    assert loads == []
    assert "That is enough" in refused("--model", "smollm2-1.7b", "--anyway")
    monkeypatch.setenv("JACKDAW_SERVER_MODEL_CONTEXT", "4096")  # what a smaller machine takes
    assert "That is enough" in refused("--model", "smollm2-1.7b")


def test_replicas_of_one_machine_take_the_memory_so_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda _: None)
    free(monkeypatch, 5_000_000_000)
    assert "scripts/install scale" in refused("--model", "smollm2-1.7b", "--replicas", "1")
    assert "needs about 6,046 MB" in refused("--model", "smollm2-1.7b", "--replicas", "2")
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    assert "scripts/install scale" in refused("--model", "smollm2-1.7b", "--replicas", "2")


def test_layers_on_a_gpu_are_said_and_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_before_loading(monkeypatch)
    free(monkeypatch, 1_000_000_000)
    monkeypatch.setenv("JACKDAW_SERVER_MODEL_GPU_LAYERS", "auto")
    assert "smollm2-1.7b needs about" in refused("--model", "smollm2-1.7b")  # this build uses no GPU
    monkeypatch.setattr("models.llama_bindings.offloads", lambda: True)
    result = CliRunner().invoke(serve.command, ["--model", "smollm2-1.7b"])
    assert "on a GPU: all layers" in result.stderr


@pytest.mark.parametrize(("name", "said"), [("gpt-9", "no model gpt-9"), ("all-minilm-l6-v2", "no model all-")])
def test_what_is_no_model_for_answers_is_wrong_usage(name: str, said: str) -> None:
    assert said in refused("--model", name)


@pytest.mark.parametrize("fault", ["cut", "contradictory"])
def test_weights_that_are_cut_or_contradict_themselves_are_named_and_refused(fault: str, tmp_path: Path) -> None:
    file = write(tmp_path / "own.gguf", {**metadata("llama"), "llama.block_count": 0}, {})
    if fault == "cut":
        file.write_bytes(file.read_bytes()[:2000])
    result = CliRunner().invoke(serve.command, ["--model", f"file:{file}"])
    assert isinstance(result.exception, WeightsDamaged)
    assert str(file) in str(result.exception)


def test_a_file_that_is_missing_is_said_first_with_the_next_step(tmp_path: Path) -> None:
    result = CliRunner().invoke(serve.command, ["--model", f"file:{tmp_path}/own.gguf"])
    assert isinstance(result.exception, WeightsMissing)
    assert "jackdaw-server models use NAME" in str(result.exception)
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (None, ""),
        (NothingFound("There is no index."), "The server has no public passages yet. Add some: "),
        (StoreCorrupt("It is damaged. Build it again."), "Questions get no public passages. It is damaged. Build it"),
        (UsageError("Set retrieval.memory_mb."), "Questions get no public passages. Set retrieval.memory_mb."),
    ],
)
def test_why_questions_get_no_passages_is_said_at_start(error: JackdawError | None, said: str) -> None:
    class Opened:
        def __len__(self) -> int:
            return 0 if error else 3

        def refresh(self) -> None:
            if error:
                raise error

    sentence = serve._without_passages(Opened())  # type: ignore[arg-type]  # all that is asked of a corpus
    assert sentence.startswith(said)
    assert bool(sentence) == bool(error)
