"""Loads a model with settings under which its results on this machine are exact: the same to the bit, whether a prompt
is computed in one pass, in several, or from cached states.

Some builds of llama.cpp round differently from pass to pass: some with one type of attention states (f16 or q8_0) and
not with the other, some only if weights are repacked for the processor's kernels. Which ones do so can only be tested.
Imports no numpy before the weights are read.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from models.facts import FactsFile
from models.verdict import EXACT, Verdict
from shared.errors import EngineError
from shared.memory import available

if TYPE_CHECKING:
    from pathlib import Path

    from models.engine import Engine, EngineInfo, KVType
    from models.llama_cpp import LlamaCppEngine

VERDICTS: Final = "exactness.json"
"""The name of the file, in the folder of weights, that contains the results of the self-tests of exactness, and the
setting for loading that was chosen by these results.
"""

REVISION: Final = 2
"""A part of the keys of stored results. It is raised when the engine computes prompts in another way, so that engines
are tested again.
"""

_SMALL: Final = 500_000_000
"""The most parameters of a model whose checks all run when it is loaded. A larger model would keep the user waiting: it
runs one check then, and the others in idle time.
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that decides how a model's results are rounded: the number type of its attention states, and whether
    weights are repacked for the processor's kernels.
    """

    kv: KVType
    repacks: bool = True

    @classmethod
    def of(cls, info: EngineInfo) -> Setting:
        """Return the setting with which an engine was loaded."""
        return cls(info.kv_type, info.repacks)


def settings(kv: KVType, *, may_repack: bool) -> list[Setting]:
    """Return the settings to try, in order: attention states of the configured type `kv`, then of the other type, which
    costs little speed; if this build can repack weights (`may_repack`), then both types without repacking, which costs
    much.
    """
    other: KVType = "q8_0" if kv == "f16" else "f16"
    return [Setting(each, repacks) for repacks in (True, False)[: 1 + may_repack] for each in (kv, other)]


@dataclass(frozen=True, slots=True)
class Choice:
    """The stored choice of a setting for a model on this machine. `file` is the file of verdicts; `key` identifies the
    model's file, its adapter, the configured setting, and the computing code.
    """

    file: FactsFile
    key: str

    def load(self) -> tuple[Setting, int] | None:
        """Return the chosen setting and its loss, a score of the features that are inexact under it (`Verdict.loss`).
        None if no choice is stored: then the configured setting is used.
        """
        match self.file.load().get(self.key):
            case {"kv": "f16" | "q8_0" as kv, "repacks": bool(repacks), "loss": int(loss)}:
                return Setting(kv, repacks), loss
        return None

    def keep(self, setting: Setting, loss: int) -> None:
        """Store the chosen setting and its loss, a score of the features that are inexact under it (`Verdict.loss`)."""
        self.file.keep(self.key, asdict(setting) | {"loss": loss})


def layers(setting: int | Literal["auto"]) -> int:
    """Return the setting `model.gpu_layers` as the number that llama.cpp takes: -1 stands for all layers."""
    return -1 if setting == "auto" else setting


def load(
    build: Callable[[Setting], LlamaCppEngine], kv: KVType, choice: Choice, *, may_wait: bool = False
) -> LlamaCppEngine:
    """Load a model with the first setting under which no check has failed, else with the setting under which the fewest
    features are inexact (the lowest `Verdict.loss`).

    `build` loads the model with a setting; `kv` is the configured type of attention states. The results of the checks
    are stored, and so is the setting if it is not the configured one. For a large model some checks are left for
    `finish`, unless the caller `may_wait`. Raises EngineError and the errors of `build`.
    """
    taken, accepted = choice.load() or (Setting(kv), 0)
    try:
        engine = _restricted(build(taken), choice, may_wait)
    except EngineError:
        if taken == Setting(kv):
            raise
        taken, accepted = Setting(kv), 0  # what was chosen once may no longer be possible
        engine = _restricted(build(taken), choice, may_wait)
    used: Setting | None = taken
    losses = {taken: engine.info.verdict.loss}
    if losses[taken] <= accepted:
        return engine
    for setting in settings(kv, may_repack=_may_repack()):
        if setting in losses or not _has_room(engine.info, setting):
            continue
        engine.close()
        used = None
        with suppress(EngineError):  # this model cannot have that setting
            engine = _restricted(build(setting), choice, may_wait)
            used, losses[setting] = setting, engine.info.verdict.loss
        if losses.get(setting) == 0:
            break
    best = min(losses, key=losses.__getitem__)
    if used != best:
        engine.close()
        engine = _restricted(build(best), choice, may_wait)
    choice.keep(best, losses[best])
    return engine


def finish(loaded: LlamaCppEngine, folder: Path, engine: Engine) -> None:
    """Run the checks that `load` left for idle time, and apply their verdict to `loaded`. Empties its sequences.

    `engine` is `loaded` itself, or a wrapper of it that raises GaveWay once a question needs the machine. If the checks
    call for another setting, the model has it from the next time it is loaded. Raises EngineError, GaveWay; checks
    finished before are stored even then.
    """
    from models.exactness import Verdicts
    from models.llama_bindings import arithmetic

    before = loaded.info.verdict
    for sequence in range(loaded.info.sequences):
        loaded.clear(sequence)
    loaded.restrict(EXACT)  # what is to be tested has to be possible
    try:
        before = Verdicts(folder).tested(engine, arithmetic())
    finally:
        loaded.restrict(before)


def choice(folder: Path, path: Path, kv: KVType, adapter: Path | None, gpu_layers: int = 0) -> Choice:
    """Return the stored choice of setting for a model file with an adapter; the file of verdicts is in `folder`. Raises
    EngineError.
    """
    from models.llama_bindings import arithmetic, build

    file, added = path.stat(), adapter.name if adapter else "-"
    identity = f"{path.name} {file.st_size} {file.st_mtime_ns} {added} {kv} gpu {gpu_layers} {build()} {arithmetic()}"
    identity += f" {REVISION}"
    return Choice(FactsFile(folder, VERDICTS), f"setting {identity}")


def explained(setting: Setting, kv: KVType, verdict: Verdict) -> str:
    """Return a plain sentence for the user: how `setting` differs from the configured one (attention states of type
    `kv`, repacked weights), if it does, and the result of the checks under it.
    """
    taken = []
    if setting.kv != kv:
        taken.append(f"{setting.kv} attention states are used in place of {kv}")
    if not setting.repacks:
        taken.append("weights are used as they are in the file, which makes reading prompts slower")
    if taken:
        taken = [f"{' and '.join(taken)}, because fewer features would be exact otherwise"]
    return "; ".join([*taken, *verdict.sentences()])


def described(
    folder: Path, path: Path, kv: KVType, adapter: Path | None, adapter_hash: str, gpu_layers: int
) -> dict[str, Any]:
    """Return the stored facts about the exactness of a model file, without loading the model: the setting's fields, the
    checks that failed (`inexact`) or are `untested`, and a sentence for the user (`said`). Raises EngineError.
    """
    from models.exactness import Verdicts, verdict_key
    from models.llama_bindings import arithmetic, offloads
    from models.llama_info import kv_key
    from models.llama_model import model_hash

    setting, _ = choice(folder, path, kv, adapter, gpu_layers).load() or (Setting(kv), 0)
    layers = gpu_layers if offloads() else 0
    key = kv_key(model_hash(path), setting.kv, adapter_hash, gpu_layers=layers, repacks=setting.repacks)
    verdict = Verdicts(folder).kept(verdict_key(key, arithmetic()))
    return {
        **asdict(setting),
        "inexact": sorted(verdict.inexact),
        "untested": sorted(verdict.untested),
        "said": explained(setting, kv, verdict),
    }


def _restricted(engine: LlamaCppEngine, choice: Choice, may_wait: bool) -> LlamaCppEngine:
    from models.exactness import Verdicts
    from models.llama_bindings import arithmetic

    try:
        most = None if may_wait or engine.info.parameters <= _SMALL else 1
        engine.restrict(Verdicts(choice.file.folder).tested(engine, arithmetic(), most))
    except BaseException:
        engine.close()
        raise
    return engine


def _may_repack() -> bool:
    """Return whether this build of llama.cpp can repack weights. If so, repacking can also be turned off."""
    from models.llama_bindings import bindings, has_tiles

    return b"REPACK = 1" in bindings().llama_print_system_info() and not has_tiles()


def _has_room(info: EngineInfo, setting: Setting) -> bool:
    """Return whether there is memory for the attention states of a setting once those of the current engine are
    freed.
    """
    from models.kv import BLOCKS

    (size, values), (new_size, new_values) = BLOCKS[info.kv_type], BLOCKS[setting.kv]
    taken = info.context * info.kv_bytes_per_token
    return taken * new_size * values // (size * new_values) - taken <= available()
