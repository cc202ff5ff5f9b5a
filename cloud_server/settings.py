"""The companion server's settings, each with its name, description and limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from msgspec import Meta

from shared.errors import SettingError
from shared.settings import File, Resolved, declared, resolve
from storage.paths import Paths

PREFIX = "JACKDAW_SERVER_"

Threads = Annotated[int, Meta(ge=0, le=1024, description="Threads it computes with; 0 takes one per physical core.")]


@dataclass(frozen=True, slots=True)
class Serve:
    """Settings of the server's addresses, TLS and shutdown."""

    host: Annotated[
        str, Meta(min_length=1, description="Address it listens on; beyond this machine always over TLS.")
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="Port it listens on; 0 takes a free one.")] = 8765
    certificate: Annotated[
        str, Meta(description="File of the TLS certificate chain, PEM; empty takes one of its own.")
    ] = ""
    key: Annotated[str, Meta(description="File of the certificate's private key, PEM.")] = ""
    behind_tls: Annotated[
        bool, Meta(description="Something else does TLS in front of it, and nobody reaches it but through that.")
    ] = False
    metrics_port: Annotated[
        int, Meta(ge=0, le=65_535, description="Port for health and Prometheus metrics; 0 has none.")
    ] = 9765
    metrics_host: Annotated[
        str,
        Meta(
            min_length=1,
            description="Address of that port. Whoever reaches it reads, without a token, how much each token is used: "
            "choose one that the monitoring alone reaches.",
        ),
    ] = "127.0.0.1"
    resume_s: Annotated[
        float, Meta(ge=0, le=3600, description="Seconds for which a device that was cut off may go on.")
    ] = 60.0
    drain_s: Annotated[
        float, Meta(ge=0, le=3600, description="Seconds that answers under way have left when the server ends.")
    ] = 30.0


@dataclass(frozen=True, slots=True)
class Model:
    """Settings of the model that generates answers."""

    name: Annotated[
        str, Meta(min_length=1, description="A name from `jackdaw models list`, or file:PATH for a GGUF file of yours.")
    ] = "smollm2-135m"
    context: Annotated[
        int,
        Meta(
            ge=512,
            le=1_048_576,
            description="Tokens there is room for, of all answers under way together; one takes its prompt and "
            "limits.max_tokens, and at most what the model was trained for.",
        ),
    ] = 16_384
    sequences: Annotated[int, Meta(ge=1, le=63, description="Answers that are written at once.")] = 16
    threads: Threads = 0
    kv: Annotated[
        Literal["f16", "q8_0"],
        Meta(description="How attention state is kept; with q8_0 many answers at once are written faster."),
    ] = "q8_0"
    adapter: Annotated[
        str,
        Meta(
            min_length=1,
            description="What it was trained further with: auto takes the adapter that comes with it, off none; or the "
            "path of a GGUF file.",
        ),
    ] = "auto"
    prefix_mb: Annotated[
        float, Meta(ge=0, le=1_000_000, description="Megabytes of attention states kept of passages asked for before.")
    ] = 256.0


@dataclass(frozen=True, slots=True)
class Embedder:
    """The embedding model. It has to be the devices' own, so that scores agree."""

    name: Annotated[str, Meta(min_length=1, description="A name from `jackdaw models list`.")] = "all-minilm-l6-v2"
    threads: Threads = 1


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Settings of the search of the public corpus."""

    index: Annotated[str, Meta(description="Folder of the index; empty takes the one in the data folder.")] = ""
    milvus: Annotated[
        str,
        Meta(
            description="A Milvus that holds the index instead: https://HOST:19530/DATABASE, or FILE.db for one "
            "process (extra `milvus`); its token is read from MILVUS_TOKEN."
        ),
    ] = ""
    probes: Annotated[
        int,
        Meta(ge=0, le=65_536, description="Clusters that are searched; 0 takes 4 times their root, or 20,000 vectors."),
    ] = 0
    memory_mb: Annotated[
        float,
        Meta(
            ge=1,
            le=1_000_000,
            description="Megabytes of an index's vectors that stay in memory, those asked for most; the rest is read "
            "from disk when a question needs it.",
        ),
    ] = 1_000.0
    relevance: Annotated[
        float, Meta(ge=0, le=1, description="Passages whose cosine with the question is lower are no source.")
    ] = 0.3
    anchored: Annotated[
        bool,
        Meta(
            description="What a pipeline's model writes is looked up half-way between it and the question; off, by "
            "itself, as the pipelines were published.",
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on use, per token and for the whole server."""

    devices: Annotated[int, Meta(ge=1, le=100_000, description="Connections at once.")] = 2_000
    connections: Annotated[int, Meta(ge=1, le=100_000, description="Connections at once with one token.")] = 8
    connects_per_minute: Annotated[
        float, Meta(ge=0, le=1e6, description="New connections a minute with one token.")
    ] = 60.0
    tokens_per_minute: Annotated[
        float,
        Meta(
            ge=0,
            le=1e9,
            description="Tokens computed a minute for one token: of prompts, unless their states are kept, and of "
            "answers.",
        ),
    ] = 6_000.0
    searches_per_minute: Annotated[float, Meta(ge=0, le=1e6, description="Searches a minute for one token.")] = 120.0
    max_tokens: Annotated[int, Meta(ge=1, le=8192, description="Tokens of one answer.")] = 1_024
    waiting: Annotated[int, Meta(ge=1, le=100_000, description="Requests that wait for the engine.")] = 256
    waiting_each: Annotated[int, Meta(ge=1, le=1000, description="Of them, with one token.")] = 32


@dataclass(frozen=True, slots=True)
class Log:
    """The logging settings."""

    level: Annotated[Literal["debug", "info", "warning", "error"], Meta(description="How much.")] = "info"
    questions: Annotated[bool, Meta(description="Write what was asked, too. Whoever reads the log reads it then.")] = (
        False
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, by section."""

    serve: Serve = Serve()
    model: Model = Model()
    embedder: Embedder = Embedder()
    retrieval: Retrieval = Retrieval()
    limits: Limits = Limits()
    log: Log = Log()


SETTINGS = declared(Settings, PREFIX)
"""All settings by key."""


def load(
    paths: Paths, environment: Mapping[str, str], flags: Mapping[str, object] = MappingProxyType({})
) -> Resolved[Settings]:
    """Return the settings in force. Raises SettingError."""
    return resolve(Settings, file=_file(paths), environment=environment, flags=flags, prefix=PREFIX)


def _file(paths: Paths) -> File | None:
    path = paths.server_config_file
    try:
        return File(str(path), path.read_text(encoding="utf-8"), "Correct it with an editor.")
    except FileNotFoundError:
        return None
    except (UnicodeDecodeError, OSError) as error:
        raise SettingError(f"{path} cannot be read ({error}). Correct it, or move it away.") from None
