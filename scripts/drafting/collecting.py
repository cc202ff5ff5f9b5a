"""Collects the training data of a draft network: the prompts, the model's own answers to them, and the model's
features.

Each prompt with its answers is written as one file, atomically: collecting that was stopped continues, with the same
bytes as a result.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
from msgspec import json
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from models.engine import Engine, Logits
from models.features import FeatureEngine, Features
from models.sampling import SamplingSettings, sample
from scripts.drafting.recipe import WARM, Collected
from scripts.training import OtherRecipe
from shared.ending import Ending, Speller
from shared.ending import Piece as Spelled
from shared.prompt import Prompt, Segment

HEAD, READ, WRITTEN = 0, 1, 2
"""The parts of a text: the beginning that all prompts share, the rest of the prompt, and the model's own answer."""

TOGETHER: Final = 3
"""The number of prompts that are answered at a time."""

_MOST_PROMPT: Final = 900
"""The most tokens of a prompt; longer prompts are left out."""


class Model(Engine, FeatureEngine, Protocol):
    """An engine that provides features."""


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt with several answers that each follow it: n tokens as a tree, with features of shape (n, width).

    `parents` are the indices of the tokens before each token, -1 for the first; `likeliest` are the model's likeliest
    next tokens, -1 in the prompt; `parts` says to which part each token belongs.
    """

    tokens: npt.NDArray[np.int32]
    parents: npt.NDArray[np.int32]
    likeliest: npt.NDArray[np.int32]
    parts: npt.NDArray[np.int32]
    features: npt.NDArray[np.float16]

    @property
    def written(self) -> int:
        """The number of tokens that belong to answers."""
        return int((self.parts == WRITTEN).sum())


def room(settings: Collected) -> int:
    """Return the number of tokens of context that the prompts and answers of one batch take at most."""
    return TOGETHER * (_MOST_PROMPT + settings.answers * settings.most)


def collect(
    engine: Model,
    prompts: Callable[[], Iterator[Prompt]],
    folder: Path,
    settings: Collected,
    enough: Callable[[int], bool],
    progress: Callable[[int], None],
) -> list[Path]:
    """Write texts into the folder until they have enough tokens of answers, or no prompt is left; return them.

    Raises OtherRecipe if the texts in the folder were made with other settings or another model, and EngineError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    known = json.encode({"settings": {**asdict(settings), "positions": 0, "held_out": 0}, "key": engine.info.kv_key})
    settings_file = folder / "settings.json"
    if settings_file.exists() and settings_file.read_bytes() != known:
        raise OtherRecipe(f"{folder} contains texts that were made with other settings or another model.")
    settings_file.write_bytes(known)
    files: list[Path] = []
    written = 0
    fitting = (prompt for prompt in prompts() if len(_ids(engine, _segments(prompt))) <= _MOST_PROMPT)
    while not enough(written) and (group := list(islice(fitting, TOGETHER))):
        paths = [folder / f"{len(files) + number:05}.safetensors" for number in range(len(group))]
        if not all(path.exists() for path in paths):
            for path, text in zip(paths, _answered(engine, group, settings, len(files)), strict=True):
                _write(path, text)
        for path in paths:
            files.append(path)
            written += _written(path)
        progress(written)
    return files


def load(path: Path) -> Text:
    """Return a collected text from its file."""
    return Text(**load_file(path))


def _answered(engine: Model, prompts: Sequence[Prompt], settings: Collected, first: int) -> list[Text]:
    """Return the prompts with their answers; all answers are written in one batch in an empty engine."""
    for sequence in range(engine.info.sequences):
        engine.clear(sequence)
    growing: dict[int, _Answer] = {}
    read = []
    for number, prompt in enumerate(prompts):
        ids = _ids(engine, _segments(prompt))
        base = number * settings.answers
        logits, features = engine.read(base, ids)
        read.append((ids, features, len(_ids(engine, prompt.head))))
        for answer in range(settings.answers):
            if answer:
                engine.fork(base, base + answer)
            seed = settings.seed + 1000 * (first + number) + answer
            sampling = SamplingSettings(temperature=WARM if answer else 0.0, seed=seed)
            growing[base + answer] = _Answer(engine, sampling, settings.most, logits)
    while drawn := {sequence: answer.token for sequence, answer in growing.items() if not answer.is_over}:
        for sequence, logits in engine.decode(drawn).items():
            growing[sequence].append(logits, engine.features(sequence)[0])
    return [
        _joined(*read[number], [growing[number * settings.answers + place] for place in range(settings.answers)])
        for number in range(len(prompts))
    ]


class _Answer:
    """An answer that is being written; `shared.ending` decides where it ends. `token` is the next token, not computed
    yet.
    """

    def __init__(self, engine: Engine, sampling: SamplingSettings, most: int, logits: Logits) -> None:
        self.tokens: list[int] = []
        self.likeliest: list[int] = []
        self.features: list[Any] = []
        self.is_over = False
        self._engine, self._sampling, self._most = engine, sampling, most
        self._speller, self._ending = Speller(engine.detokenize), Ending()
        self._draw(logits)

    def append(self, logits: Logits, feature: Features) -> None:
        self.tokens.append(self.token)
        self.features.append(feature)
        self.likeliest.append(int(logits.argmax()))
        self._draw(logits)

    def _draw(self, logits: Logits) -> None:
        self.token = sample(logits, self._sampling, self.tokens)
        if len(self.tokens) >= self._most or self._engine.is_end(self.token):
            self.is_over = True
            return
        self._ending.feed(self._speller.spelled(Spelled(self.token, "")))
        self.is_over = self._ending.over


def _joined(ids: Sequence[int], features: Features, head: int, answers: Sequence[_Answer]) -> Text:
    tokens, parents = [*ids], [*range(-1, len(ids) - 1)]
    likeliest = [-1] * len(ids)
    parts = [HEAD] * head + [READ] * (len(ids) - head)
    own = [features]
    for answer in answers:
        if answer.tokens:
            parents += [len(ids) - 1, *range(len(tokens), len(tokens) + len(answer.tokens) - 1)]
            tokens += answer.tokens
            likeliest += answer.likeliest
            parts += [WRITTEN] * len(answer.tokens)
            own.append(np.stack(answer.features))
    return Text(
        tokens=np.array(tokens, np.int32),
        parents=np.array(parents, np.int32),
        likeliest=np.array(likeliest, np.int32),
        parts=np.array(parts, np.int32),
        features=np.concatenate(own).astype(np.float16),
    )


def _write(path: Path, text: Text) -> None:
    arrays = {name: getattr(text, name) for name in Text.__slots__}
    fresh = path.with_suffix(".part")
    save_file(arrays, fresh, {"written": str(text.written)})
    fresh.replace(path)


def _written(path: Path) -> int:
    with safe_open(path, framework="np") as file:
        return int(file.metadata()["written"])


def _segments(prompt: Prompt) -> tuple[Segment, ...]:
    return (*prompt.head, *(part for own in prompt.passages for part in own), *prompt.tail)


def _ids(engine: Engine, segments: Sequence[Segment]) -> list[int]:
    return [token for part in segments for token in engine.tokenize(part.text, special=part.special)]
