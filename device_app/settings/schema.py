"""Defines the device's settings: each is named, documented and limited here."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Annotated, Literal

from msgspec import Meta

from device_app.settings.link import Link
from device_app.settings.phone import Phone
from shared.settings import File, Resolved, declared, resolve
from shared.text import PASSAGE_WORDS
from storage.paths import HOME_VARIABLE, Paths

PDF_PASSWORD = "JACKDAW_PDF_PASSWORD"
"""The environment variable with a password that `jackdaw add` tries on encrypted PDFs; it is never stored."""

NOT_SETTINGS = frozenset({HOME_VARIABLE, "JACKDAW_YES", PDF_PASSWORD})
"""Environment variables whose names begin like those of settings, but which set none."""

RETIRED = {
    "answer.top_k": "answer.temperature and answer.min_p set how random the words of an answer are.",
    "answer.top_p": "answer.temperature and answer.min_p set how random the words of an answer are.",
    "cache.reuse": "attention states are reused only where exact. For speed, set answer.arrangement = cheapest.",
    "cache.stride": "questions are always predicted five at a time; other numbers were no better.",
}
"""Settings of earlier versions that no longer exist, each with a hint at what replaces it."""

_SERVERS = "JACKDAW_SERVER_"
"""The prefix of environment variables that set the companion server, a separate program; this program ignores them."""


_CONTEXT = 2048 if sys.platform == "android" else 4096
"""The tokens of context if nothing is set. llama.cpp fills all of them with zeros, which takes memory at once."""

Threads = Annotated[
    int,
    Meta(ge=0, le=1024, description="Threads to compute with; 0 uses one per physical core, but none for small cores."),
]


@dataclass(frozen=True, slots=True)
class Model:
    """The model that writes the answers."""

    name: Annotated[
        str,
        Meta(min_length=1, description="The model, as named by `jackdaw models list`, or file:PATH for a GGUF file."),
    ] = "smollm2-135m"
    context: Annotated[
        int,
        Meta(
            ge=512,
            le=1_048_576,
            description="Most tokens of a prompt and its answer together. On a phone, the default is 2048.",
        ),
    ] = _CONTEXT
    threads: Threads = 0
    kv: Annotated[
        Literal["f16", "q8_0"], Meta(description="Number format of attention states; q8_0 halves their memory.")
    ] = "f16"
    adapter: Annotated[
        str,
        Meta(
            min_length=1,
            description="LoRA adapter for the model: auto uses the adapter that comes with the model, off uses none; "
            "or the path of a GGUF file.",
        ),
    ] = "auto"
    gpu_layers: Annotated[
        Annotated[int, Meta(ge=0, le=1024)] | Literal["auto"],
        Meta(
            description="Layers of the model that a GPU computes, if llama-cpp-python is built for one; auto takes all "
            "of them."
        ),
    ] = 0
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


@dataclass(frozen=True, slots=True)
class Embedder:
    """The model that turns text into vectors, by which passages are found."""

    name: Annotated[str, Meta(min_length=1, description="A model from `jackdaw models list`.")] = "all-minilm-l6-v2"
    threads: Threads = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """How answers are found and written."""

    max_tokens: Annotated[
        int, Meta(ge=1, le=1_048_576, description="Most tokens in an answer; a longer one is cut.")
    ] = 256
    temperature: Annotated[
        float, Meta(ge=0, le=5, description="Randomness of an answer's words; 0 always takes the likeliest word.")
    ] = 0.0
    min_p: Annotated[
        float, Meta(ge=0, le=1, description="Exclude tokens less likely than this share of the likeliest; 0 is off.")
    ] = 0.05
    repetition_penalty: Annotated[
        float, Meta(ge=0.1, le=10, description="Values above 1 make repeated tokens less likely; 1 is off.")
    ] = 1.0
    seed: Annotated[
        int, Meta(ge=0, le=2**32 - 1, description="Seed of the random choices: the same seed gives the same answer.")
    ] = 0
    passages: Annotated[
        int, Meta(ge=0, le=100, description="Passages the model reads at a time; 0: the best number by measurement.")
    ] = 0
    arrangement: Annotated[
        Literal["auto", "prompt", "rows", "cheapest"],
        Meta(
            description="How the model reads passages. prompt: all in one prompt. rows: each in its own prompt, mixing "
            "the predictions. cheapest: the cheaper of both for each question. auto: the best by measurement."
        ),
    ] = "auto"
    # No distance was proven better than constant weights (`scripts/bench dragon`, weights).
    weights_every: Annotated[
        int,
        Meta(
            ge=0,
            le=1024,
            description="Number of tokens after which the weights of passages read in rows are computed again, from "
            "the question and the answer so far; 0: never. Those between this device and a server that write together "
            "change only with link.privacy = open.",
        ),
    ] = 0
    summaries: Annotated[
        Literal["auto", "written", "quoted"],
        Meta(
            description="How to answer requests for a summary: written by the model, or quoted from your files; "
            "auto takes what was best for the model by measurement."
        ),
    ] = "auto"
    relevance: Annotated[float, Meta(ge=0, le=1, description="Least relevance score of a passage to answer from.")] = (
        0.4
    )
    evidence: Annotated[bool, Meta(description="Show the sentence of the sources that supports the answer.")] = True
    read_while_typing: Annotated[
        bool,
        Meta(
            description="In the app, read likely passages while a question is typed; nothing typed is stored or sent."
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class Knowledge:
    """How files are read."""

    max_file_mb: Annotated[int, Meta(ge=1, le=100_000, description="Largest file to read, in megabytes.")] = 100
    passage_words: Annotated[
        int, Meta(ge=20, le=1000, description="Approximate words in a passage; applies to files read from then on.")
    ] = PASSAGE_WORDS


@dataclass(frozen=True, slots=True)
class Cache:
    """What is kept ahead of questions: answers (the QA bank) and attention states (the QKV tree)."""

    threshold: Annotated[
        float,
        Meta(ge=0, le=1, description="Least cosine similarity to a question for reusing its answer; 1 reuses none."),
    ] = 0.85
    cutoff: Annotated[
        float,
        Meta(ge=0, le=1, description="Predicted questions are answered ahead only if cache.threshold is at most this."),
    ] = 0.9
    # By measurement, no source of predicted questions is better: of 51 questions unseen in training, questions from
    # passages, abstracts or the trained questioner serve none (`scripts/bench predict`, one of its three meetings).
    predict_from: Annotated[
        Literal["passages", "abstracts", "questioner"],
        Meta(
            description="How questions about new files are predicted. passages: from the form of each passage. "
            "abstracts: from summaries the model writes. questioner: as passages, and by a model trained to ask."
        ),
    ] = "questioner"
    qa_mb: Annotated[float, Meta(ge=0, le=1_000_000, description="Most megabytes of saved answers.")] = 100.0
    public_days: Annotated[
        float,
        Meta(ge=0, le=3650, description="Days for which a server's answer may be reused; 0 saves no such answers."),
    ] = 7.0
    kv_mb: Annotated[
        Annotated[float, Meta(ge=0, le=1_000_000)] | Literal["auto"],
        Meta(
            description="Most megabytes of saved attention states; 0 saves none; auto allows 20 times the text of your "
            "files, at least 100 and at most 1000."
        ),
    ] = "auto"
    # For the same questions with 100 MB of states, lru hit .17, lfu and cost (as in PerCache and RAGCache) .04;
    # with 400 MB all policies were alike (`scripts/bench percache`).
    eviction: Annotated[
        Literal["lfu", "lru", "cost"],
        Meta(description="What a full cache deletes first: least often used, longest unused, or cheapest to compute."),
    ] = "lru"


@dataclass(frozen=True, slots=True)
class Daemon:
    """When Jackdaw works ahead, and how much it may spend on that."""

    quiet_minutes: Annotated[
        float, Meta(ge=0, le=10_080, description="Minutes without a question before background work starts.")
    ] = 5.0
    mains: Annotated[bool, Meta(description="Run background work on mains power only.")] = True
    battery: Annotated[int, Meta(ge=0, le=100, description="Least battery charge in percent for background work.")] = 50
    temperature: Annotated[
        float, Meta(ge=0, le=150, description="Processor temperature in °C above which background work waits.")
    ] = 80.0
    battery_temperature: Annotated[
        float, Meta(ge=0, le=150, description="Phone battery temperature in °C above which background work waits.")
    ] = 40.0
    load: Annotated[
        float, Meta(ge=0, le=1, description="Processor share of other programs above which background work waits.")
    ] = 0.5
    tokens_per_hour: Annotated[
        int, Meta(ge=0, le=1_000_000_000, description="Most tokens per hour for background work.")
    ] = 200_000
    joules_per_hour: Annotated[
        float, Meta(ge=0, le=1e9, description="Most energy per hour for background work, estimated in joules.")
    ] = 20_000.0
    # PerCache, figure 20: 51 × 485 tokens of a 3.2B model took 10% of a phone's battery, 0.07 J per 10^9 operations.
    joules_per_gflop: Annotated[
        float, Meta(ge=0, le=1000, description="Joules this device uses for 10^9 operations, to estimate energy.")
    ] = 0.1
    threads: Annotated[
        int,
        Meta(
            ge=0, le=1024, description="Threads for background work; 0 uses one per two physical cores, on a phone two."
        ),
    ] = 0


@dataclass(frozen=True, slots=True)
class App:
    """How the terminal app looks and moves. NO_COLOR, TEXTUAL_ANIMATIONS, --mouse and --no-mouse take precedence."""

    theme: Annotated[Literal["dark", "light", "contrast"], Meta(description="Colour theme of the app.")] = "dark"
    motion: Annotated[bool, Meta(description="Animate scrolling and changes in the app.")] = True
    mouse: Annotated[
        bool,
        Meta(
            description="Use mouse and touch in the app; false lets the terminal select text, as on a phone unless "
            "true is set. Needs a restart."
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class Settings:
    """All sections of the settings."""

    model: Model = Model()
    embedder: Embedder = Embedder()
    answer: Answer = Answer()
    knowledge: Knowledge = Knowledge()
    cache: Cache = Cache()
    daemon: Daemon = Daemon()
    link: Link = Link()  # noqa: RUF009 (frozen, in another module)
    app: App = App()
    phone: Phone = Phone()  # noqa: RUF009 (frozen, in another module)


SETTINGS = declared(Settings)
"""Every setting, by key."""

SECTIONS = {field.name: str(type(field.default).__doc__) for field in fields(Settings)}
"""The description of each section."""


def load(
    paths: Paths, environment: Mapping[str, str], flags: Mapping[str, object] = MappingProxyType({})
) -> Resolved[Settings]:
    """Return the effective settings, merged from file, environment and flags. Raises SettingError."""
    return resolve(
        Settings,
        file=read_file(paths),
        environment={name: value for name, value in environment.items() if not name.startswith(_SERVERS)},
        flags=flags,
        not_settings=NOT_SETTINGS,
        retired=RETIRED,
    )


def read_file(paths: Paths) -> File | None:
    """Return the person's settings file, or None if it does not exist. Raises SettingError if it cannot be read."""
    return File.read(paths.config_file)
