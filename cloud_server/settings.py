"""The companion server's settings, each with its name, description and limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from msgspec import Meta

from shared.settings import File, Resolved, declared, find, fit, resolve
from storage.paths import Paths
from storage.private import write_private

PREFIX = "JACKDAW_SERVER_"
NEW_FILE = "# The settings of the companion server. `jackdaw-server config` explains each of them.\n"

Threads = Annotated[
    int,
    Meta(
        ge=0, le=1024, description="CPU threads for the model; 0 uses one per physical core, but none for small cores."
    ),
]


@dataclass(frozen=True, slots=True)
class Serve:
    """Settings of the server's addresses, TLS and shutdown."""

    host: Annotated[
        str, Meta(min_length=1, description="Address the server listens on; any but a loopback address needs TLS.")
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="Port the server listens on; 0 picks a free port.")] = 8765
    certificate: Annotated[
        str,
        Meta(
            description="PEM file with the TLS certificate chain; if empty, the server uses its self-signed "
            "certificate where TLS is needed."
        ),
    ] = ""
    key: Annotated[
        str,
        Meta(description="PEM file with the certificate's private key; empty if the certificate's file holds the key."),
    ] = ""
    behind_tls: Annotated[
        bool, Meta(description="A TLS proxy is in front of the server, and is the only way to reach the server.")
    ] = False
    metrics_port: Annotated[
        int, Meta(ge=0, le=65_535, description="Port for health checks and Prometheus metrics; 0 turns both off.")
    ] = 9765
    metrics_host: Annotated[
        str,
        Meta(
            min_length=1,
            description="Address the metrics port listens on. Metrics show each access token's use to anyone who can "
            "reach the address: choose one that only your monitoring reaches.",
        ),
    ] = "127.0.0.1"
    resume_s: Annotated[
        float,
        Meta(
            ge=0,
            le=3600,
            description="Seconds after a lost connection within which a device can reconnect and resume its session.",
        ),
    ] = 60.0
    drain_s: Annotated[
        float,
        Meta(ge=0, le=3600, description="Seconds that running answers have to finish when the server shuts down."),
    ] = 30.0


@dataclass(frozen=True, slots=True)
class Model:
    """Settings of the model that generates answers."""

    name: Annotated[
        str,
        Meta(
            min_length=1,
            description="Model that writes answers: a name from `jackdaw-server models list`, or file:PATH for a GGUF "
            "file.",
        ),
    ] = "smollm2-135m"
    context: Annotated[
        int,
        Meta(
            ge=512,
            le=1_048_576,
            description="Context size in tokens, shared by all running answers. One answer takes its prompt's tokens "
            "plus limits.max_tokens, at most the length the model was trained for.",
        ),
    ] = 16_384
    sequences: Annotated[int, Meta(ge=1, le=63, description="Most answers written at the same time.")] = 16
    threads: Threads = 0
    gpu_layers: Annotated[
        Annotated[int, Meta(ge=0, le=1024)] | Literal["auto"],
        Meta(
            description="Layers of the model that a GPU computes, if llama-cpp-python is built for one; `auto` takes "
            "all of them."
        ),
    ] = 0
    kv: Annotated[
        Literal["f16", "q8_0"],
        Meta(description="Number format of the KV cache: f16, or q8_0, which is faster for many answers at once."),
    ] = "q8_0"
    adapter: Annotated[
        str,
        Meta(
            min_length=1,
            description="LoRA adapter for the model: `auto` uses the model's own, `off` none, or the path of a GGUF "
            "file.",
        ),
    ] = "auto"
    draft: Annotated[
        str,
        Meta(
            min_length=1,
            description="Write answers in fewer passes by drafting: auto drafts from what was read, where it is faster "
            "and the text stays the same; a smaller model of the same vocabulary, by name or as a GGUF file's path, "
            "or a draft network, as a safetensors file's path, drafts as well; lookup drafts from what was read "
            "wherever it is faster; off never drafts.",
        ),
    ] = "auto"
    arrangement: Annotated[
        Literal["prompt", "rows"],
        Meta(
            description="How the server alone answers from several passages: prompt, all in one prompt; rows, each in "
            "its own prompt, mixing the predictions, so that states computed ahead serve all of them."
        ),
    ] = "prompt"
    prefix_mb: Annotated[
        float,
        Meta(
            ge=0,
            le=1_000_000,
            description="Megabytes of memory for KV states of passages in earlier prompts.",
        ),
    ] = 256.0


@dataclass(frozen=True, slots=True)
class Embedder:
    """Settings of the embedding model, which has to be the devices' own model, so that scores agree."""

    name: Annotated[
        str,
        Meta(
            min_length=1,
            description="Embedding model, by default the devices' own: a name from `jackdaw-server models list`.",
        ),
    ] = "all-minilm-l6-v2"
    threads: Threads = 1


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Settings of the search of the public corpus."""

    index: Annotated[str, Meta(description="Folder of the search index; empty uses the one in the data folder.")] = ""
    milvus: Annotated[
        str,
        Meta(
            description="Milvus database that holds the index instead of a folder: https://HOST:19530/DATABASE, or "
            "FILE.db for one process (extra `milvus`). Its token is read from MILVUS_TOKEN."
        ),
    ] = ""
    probes: Annotated[
        int,
        Meta(
            ge=0,
            le=65_536,
            description="Clusters of the index searched per question; 0 chooses by the index's size.",
        ),
    ] = 0
    memory_mb: Annotated[
        float,
        Meta(
            ge=1,
            le=1_000_000,
            description="Megabytes of memory for the index's vectors, the most used first; other vectors are read from "
            "disk when a question needs them. An index built with --codec rabitq needs room for all its codes.",
        ),
    ] = 1_000.0
    gpu_mb: Annotated[
        float,
        Meta(
            ge=0,
            le=1_000_000,
            description="Megabytes of the vectors kept on a GPU too, which scans them while the processor scans "
            "the rest (extra `gpu`, CUDA); 0 uses none.",
        ),
    ] = 0.0
    relevance: Annotated[
        float, Meta(ge=0, le=1, description="Least cosine similarity to the question for a passage to become a source.")
    ] = 0.3
    anchored: Annotated[
        bool,
        Meta(
            description="Search with the mean of the vectors of the question and of a pipeline's text; off: with the "
            "text's vector alone, as published.",
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on use, per token and for the whole server."""

    devices: Annotated[int, Meta(ge=1, le=100_000, description="Most connections at once, over all access tokens.")] = (
        2_000
    )
    connections: Annotated[int, Meta(ge=1, le=100_000, description="Most connections at once per access token.")] = 8
    connects_per_minute: Annotated[
        float, Meta(ge=0, le=1e6, description="Most new connections per minute and access token.")
    ] = 60.0
    tokens_per_minute: Annotated[
        float,
        Meta(
            ge=0,
            le=1e9,
            description="Most model tokens computed per minute and access token: those of answers, and of prompts "
            "whose KV states are not kept.",
        ),
    ] = 6_000.0
    searches_per_minute: Annotated[
        float, Meta(ge=0, le=1e6, description="Most searches per minute and access token.")
    ] = 120.0
    max_tokens: Annotated[int, Meta(ge=1, le=8192, description="Most tokens of one answer.")] = 1_024
    model_only: Annotated[
        bool,
        Meta(
            description="Also answer requests without passages, from the model alone (write, translate); off: every "
            "answer is written from passages."
        ),
    ] = True
    waiting: Annotated[
        int, Meta(ge=1, le=100_000, description="Most requests that wait for the model, over all access tokens.")
    ] = 256
    waiting_each: Annotated[
        int, Meta(ge=1, le=1000, description="Most requests that wait for the model per access token.")
    ] = 32


@dataclass(frozen=True, slots=True)
class Log:
    """The logging settings."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="Least severe level of the lines in the log.")
    ] = "info"
    questions: Annotated[
        bool, Meta(description="Also log the questions' text, for anyone who can read the log to see.")
    ] = False


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
    """Return the effective settings, merged from file, environment and flags. Raises SettingError."""
    return resolve(Settings, file=_file(paths), environment=environment, flags=flags, prefix=PREFIX)


def set_value(paths: Paths, key: str, value: str) -> None:
    """Write a value into the settings file, keeping its comments. Raises SettingError, NotWritable."""
    from shared.settings_file import assigned

    file = _file(paths) or File(str(paths.server_config_file), NEW_FILE)
    fitting = fit(find(SETTINGS, key), value, "command line")
    write_private(paths.server_config_file, assigned(file, key, fitting))


def _file(paths: Paths) -> File | None:
    return File.read(paths.server_config_file, "Correct the file with an editor.")
