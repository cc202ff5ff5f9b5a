"""The device's settings: the one place where each is named, documented and limited."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Annotated, Literal

from msgspec import Meta

from shared.errors import SettingError
from shared.settings import File, Resolved, declared, resolve
from shared.text import PASSAGE_WORDS
from storage.paths import HOME_VARIABLE, Paths

NOT_SETTINGS = frozenset({HOME_VARIABLE, "JACKDAW_YES"})
"""Environment variables that begin like those of settings but are none."""

RETIRED = {
    "answer.top_k": "answer.temperature and answer.min_p say how freely words are chosen.",
    "answer.top_p": "answer.temperature and answer.min_p say how freely words are chosen.",
    "cache.reuse": "states serve exactly; blended, they made answers worse. answer.arrangement = cheapest is sooner.",
    "cache.stride": "questions are predicted five at a time; other numbers were no better.",
}
"""Removed settings of earlier versions, each with a hint about what replaces it."""

_SERVERS = "JACKDAW_SERVER_"
"""The prefix of the companion server's environment variables, which this program ignores."""


Threads = Annotated[int, Meta(ge=0, le=1024, description="Threads it computes with; 0 takes one per physical core.")]


@dataclass(frozen=True, slots=True)
class Model:
    """The model that writes the answers."""

    name: Annotated[
        str, Meta(min_length=1, description="A name from `jackdaw models list`, or file:PATH for a GGUF file of yours.")
    ] = "smollm2-135m"
    context: Annotated[
        int, Meta(ge=512, le=1_048_576, description="Tokens there is room for: the prompt and its answer.")
    ] = 4096
    threads: Threads = 0
    kv: Annotated[
        Literal["f16", "q8_0"], Meta(description="How attention state is kept; q8_0 takes about half the memory.")
    ] = "f16"
    adapter: Annotated[
        str,
        Meta(
            min_length=1,
            description="What it was trained further with: auto takes the adapter that comes with it, off none; or the "
            "path of a GGUF file.",
        ),
    ] = "auto"


@dataclass(frozen=True, slots=True)
class Embedder:
    """The model that turns text into vectors, by which passages are found."""

    name: Annotated[str, Meta(min_length=1, description="A name from `jackdaw models list`.")] = "all-minilm-l6-v2"
    threads: Threads = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """How answers are found and written."""

    max_tokens: Annotated[int, Meta(ge=1, le=1_048_576, description="Tokens after which an answer is cut.")] = 256
    temperature: Annotated[
        float, Meta(ge=0, le=5, description="How freely words are chosen; 0 always takes the likeliest.")
    ] = 0.0
    min_p: Annotated[
        float, Meta(ge=0, le=1, description="Leave out tokens under this share of the likeliest one's; 0 is off.")
    ] = 0.05
    repetition_penalty: Annotated[
        float, Meta(ge=0.1, le=10, description="Above 1, tokens that were used already become less likely; 1 is off.")
    ] = 1.0
    seed: Annotated[
        int, Meta(ge=0, le=2**32 - 1, description="Where chance begins: the same seed gives the same answer.")
    ] = 0
    passages: Annotated[
        int, Meta(ge=0, le=100, description="Passages that are read at a time; 0 takes what measured best.")
    ] = 0
    arrangement: Annotated[
        Literal["auto", "prompt", "rows", "cheapest"],
        Meta(
            description="All passages in one prompt, one row each and mixed, or for each question the cheaper of both; "
            "auto takes what measured best."
        ),
    ] = "auto"
    summaries: Annotated[
        Literal["auto", "written", "quoted"],
        Meta(
            description="Asked what was said of something, or to sum it up, the model writes, or your files are "
            "quoted; auto takes what measured best."
        ),
    ] = "auto"
    relevance: Annotated[
        float, Meta(ge=0, le=1, description="Passages that score less are no answer; more is stricter.")
    ] = 0.4
    evidence: Annotated[bool, Meta(description="Show the sentence of the sources that carries the answer.")] = True
    read_while_typing: Annotated[
        bool,
        Meta(
            description="In the app, read likely passages while a question is typed; nothing typed is stored or sent."
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class Knowledge:
    """How files are read."""

    max_file_mb: Annotated[int, Meta(ge=1, le=100_000, description="Larger files are skipped, in megabytes.")] = 100
    passage_words: Annotated[
        int, Meta(ge=20, le=1000, description="Words of a passage, about; counts for what is added from then on.")
    ] = PASSAGE_WORDS


@dataclass(frozen=True, slots=True)
class Cache:
    """What is kept ahead of questions: answers (the QA bank) and attention states (the QKV tree)."""

    threshold: Annotated[
        float,
        Meta(ge=0, le=1, description="Cosine from which an earlier question's answer may serve; 1 never serves one."),
    ] = 0.85
    cutoff: Annotated[
        float,
        Meta(ge=0, le=1, description="With a threshold above it, predicted questions get no answers, only states."),
    ] = 0.9
    # By measurement, no source of predicted questions is better: of 51 questions unseen in training, questions from
    # passages, abstracts or the trained questioner serve none (`scripts/bench predict`, one of its three meetings).
    predict_from: Annotated[
        Literal["passages", "abstracts", "questioner"],
        Meta(
            description="Questions about new files come from each passage's form, from abstracts the model makes, or "
            "from each passage's form and a model that was taught to ask; one that was not leaves it to the form."
        ),
    ] = "questioner"
    qa_mb: Annotated[float, Meta(ge=0, le=1_000_000, description="Megabytes that kept answers may take.")] = 100.0
    public_days: Annotated[
        float,
        Meta(ge=0, le=3650, description="Days for which a server's answer may serve again; 0 keeps none."),
    ] = 7.0
    kv_mb: Annotated[
        float, Meta(ge=0, le=1_000_000, description="Megabytes that kept attention states may take; 0 keeps none.")
    ] = 1000.0
    # For the same questions with 100 MB of states, lru hit .17, lfu and cost (as in PerCache and RAGCache) .04;
    # with 400 MB all policies were alike (`scripts/bench percache`).
    eviction: Annotated[
        Literal["lfu", "lru", "cost"],
        Meta(description="What goes first: the least often used, the longest unused, or the cheapest to make again."),
    ] = "lru"


@dataclass(frozen=True, slots=True)
class Daemon:
    """When Jackdaw works ahead, and how much it may spend on that."""

    quiet_minutes: Annotated[
        float, Meta(ge=0, le=10_080, description="Minutes without a question after which it begins.")
    ] = 5.0
    mains: Annotated[bool, Meta(description="Work ahead on mains power only.")] = True
    battery: Annotated[int, Meta(ge=0, le=100, description="On battery, the least charge in percent.")] = 50
    temperature: Annotated[
        float, Meta(ge=0, le=150, description="The processor's heat above which it waits, in degrees Celsius.")
    ] = 80.0
    battery_temperature: Annotated[
        float, Meta(ge=0, le=150, description="A phone battery's heat above which it waits, in degrees Celsius.")
    ] = 40.0
    load: Annotated[
        float, Meta(ge=0, le=1, description="The share of the processor in use by other programs above which it waits.")
    ] = 0.5
    tokens_per_hour: Annotated[
        int, Meta(ge=0, le=1_000_000_000, description="Tokens it may read and write with the model in any hour.")
    ] = 200_000
    joules_per_hour: Annotated[
        float, Meta(ge=0, le=1e9, description="Energy it may spend on them in any hour, as estimated.")
    ] = 20_000.0
    # PerCache, figure 20: 51 × 485 tokens of a 3.2B model took 10% of a phone's battery, 0.07 J per 10^9 operations.
    joules_per_gflop: Annotated[
        float, Meta(ge=0, le=1000, description="Energy this device takes for 10^9 operations, for that estimate.")
    ] = 0.1
    threads: Annotated[
        int, Meta(ge=0, le=1024, description="Threads it computes with; 0 takes one per two physical cores.")
    ] = 0


@dataclass(frozen=True, slots=True)
class Link:
    """The companion server, where this device is connected to one (`jackdaw connect`)."""

    allowed: Annotated[
        bool, Meta(description="Ask it what your own files do not answer; without, nothing leaves this device.")
    ] = True
    # Drafts of an answer repeat text of the files it is drawn from, so none is sent before the person allows it.
    together: Annotated[
        Literal["asked", "question", "fitting"],
        Meta(
            description="What may leave where your files hold only a part of what you ask: nothing, unless asked for "
            "with --together; the question, for the server's passages; or, where sooner, drafts of the answer too, "
            "which repeat what stands in your files."
        ),
    ] = "question"
    privacy: Annotated[
        Literal["drafts", "open"],
        Meta(
            description="What an answer written together may show the server: drafts of it; or, open, what your model "
            "makes of your files as well, token by token, which tells far more."
        ),
    ] = "drafts"
    spare: Annotated[
        float,
        Meta(ge=-1, le=1, description="From 0, spare the battery, to 1, spare your money; -1 leaves it to the costs."),
    ] = -1.0
    price_prompt: Annotated[
        float, Meta(ge=0, le=1e6, description="What the server takes for a million tokens read, in your money.")
    ] = 0.0
    price_answer: Annotated[
        float, Meta(ge=0, le=1e6, description="What the server takes for a million tokens written, in your money.")
    ] = 0.0
    price_kwh: Annotated[
        float, Meta(ge=0, le=1e6, description="What a kilowatt-hour of this device is worth to you, in your money.")
    ] = 0.3
    # DiSCo, section 2.2: people between 25 and 44 read 4 to 5 tokens a second; skimming is faster.
    reading_rate: Annotated[
        float, Meta(ge=1, le=1000, description="Tokens a second you read; an answer that changes sides keeps to it.")
    ] = 8.0
    steady: Annotated[
        bool,
        Meta(description="Show a server's answer no faster than that, so that its failure is not seen."),
    ] = False


@dataclass(frozen=True, slots=True)
class App:
    """How the terminal app looks and moves. NO_COLOR, TEXTUAL_ANIMATIONS and --no-mouse take precedence."""

    theme: Annotated[Literal["dark", "light", "contrast"], Meta(description="Its colours.")] = "dark"
    motion: Annotated[bool, Meta(description="Let things glide and fade; without, they are there at once.")] = True
    mouse: Annotated[
        bool,
        Meta(description="Take mouse and touch; without, the terminal selects text. Takes effect at the next start."),
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
    link: Link = Link()
    app: App = App()


SETTINGS = declared(Settings)
"""Every setting, by key."""

SECTIONS = {field.name: str(type(field.default).__doc__) for field in fields(Settings)}
"""The description of each section."""


def load(
    paths: Paths, environment: Mapping[str, str], flags: Mapping[str, object] = MappingProxyType({})
) -> Resolved[Settings]:
    """Return the settings in force, from file, environment and flags. Raises SettingError."""
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
    path = paths.config_file
    try:
        return File(str(path), path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise SettingError(f"{path} is not UTF-8 text. Correct it with `jackdaw config edit`.") from None
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}. Correct its permissions.") from None
