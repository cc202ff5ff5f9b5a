"""The gain of drafting by lookup (`models.speculative`) on target models of several sizes: how much sooner an answer is
written than without drafts, and whether it is the same.

Arms: `none`, without drafts; `lookup`, three tokens drafted wherever two matched; `auto`, as many tokens as Jackdaw
itself chooses for each pass, by the costs that it measured. The larger targets are the default model's weights,
inflated (`scripts/inflate`): they write the default model's text at the cost of a larger model. The bare default model
writes 60 greedy answers of 30 to 200 tokens, up to where Jackdaw ends them, with attention states in q8_0.

There are two kinds of figures. **Priced**: the 60 answers are replayed, and each pass is priced by the target's
`cost_curve`, in processor time; the time of the drafter itself (`draft_ms` a pass) is added: `speedup`,
`tokens_per_pass`, `kinds`. **Real**: the target itself begins eight of the answers, the arms in turn: `ms_per_token`,
`verify_ms` a pass, and the figures that begin with `real_`. Only decoding counts. `same_text` is the share of real
answers that equal those of `none` token for token, over all targets, and `same_text_warm` the same at temperature .7 on
the smallest. `acceptance` counts other prompts than the 60.

Draft trees of several looked-up continuations (`models.speculative.lookup_tree`) are replayed beside chains of one:
`trees`, tokens per pass with at most 7 and 15 candidates; `auto_tree` and `auto_chain`, with as many as pay on each
target. `acceptance_warm`: how many drafts are accepted at temperature .7, if tokens are drawn as by Jackdaw and as in
the paper.

Ctrl-C shows the figures of the targets that were measured whole, and in which target it stopped.

With `--draft FILE` (from `scripts/train_draft`) there is an arm `trained`: Jackdaw's own choice between this network's
drafts and lookup's; the network is inflated as its target is. `draft_costs`: the time of drafting a token, relative to
a pass. `network_trees` and `network_trees_warm` (temperature 1): tokens per pass with the network's trees.
"""

import os
import statistics
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from device_app.inference.local import LocalSource
from models.catalog import Weights
from models.chat_template import parse
from models.engine import EngineInfo
from models.exactness import examine, verdict
from models.llama_cpp import LlamaCppEngine
from models.llama_features import LlamaFeatureEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from models.speculative.costs import PassCosts, measured
from scripts.benchmarks import dovetail_network_trees as network_trees
from scripts.benchmarks import dovetail_timed as timed
from scripts.benchmarks import dovetail_trees as trees
from scripts.benchmarks.dovetail_arms import (
    ARMS,
    Answer,
    Arm,
    Passes,
    accepted_shares,
    answered,
    drafting,
    in_turn,
    replayed,
)
from scripts.benchmarks.dovetail_bars import missed
from scripts.benchmarks.dovetail_prompts import prompts
from scripts.benchmarks.dovetail_trained import OnTarget, Trained
from scripts.inflation.shapes import CannotInflate
from scripts.inflation.targets import MODEL, SMALL, USUAL, chosen_targets, weights_of
from scripts.places import CannotRun, step, weights
from shared.errors import JackdawError

CONTEXT: Final = 2048


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers of answers of each kind that are reported, counted for `acceptance`, timed, and timed at a
    temperature above 0; and the number of all answers that are replayed with trees of a trained network.

    A timed answer has `tokens` tokens, or `large_tokens` on targets of a billion weights and more.
    """

    reported: int = 15
    counted: int = 12
    timed: int = 2
    warm: int = 4
    tokens: int = 64
    large_tokens: int = 32
    trees: int = 24


QUICK: Final = Sizes(2, 1, 1, 1, 24, 24, 2)
LARGE: Final = 10**9


def run(arguments: Namespace) -> dict[str, Any]:
    """Run the benchmark; figures as in the module's docstring. Raises CannotRun."""
    if arguments.data is None:
        raise CannotRun("the benchmark needs --data, a folder with lihuaworld, email, nq_passages and prompts.")
    default = USUAL[:2] if arguments.quick else USUAL
    targets = chosen_targets(arguments.targets) if arguments.targets else default
    sizes = QUICK if arguments.quick else Sizes()
    folder = weights(MODEL)
    kind = LlamaFeatureEngine if arguments.draft else LlamaCppEngine
    with _engine(folder, SMALL, arguments.threads, kind) as engine:
        reported = _answers(engine, arguments.data, sizes.reported, held_out=True)
        counted = _answers(engine, arguments.data, sizes.counted, held_out=False)
        figures: dict[str, Any] = {
            "answers": {kind: len(answers) for kind, answers in reported.items()},
            "answer_tokens": round(statistics.mean(len(answer.tokens) for answer in in_turn(reported)), 1),
            "prompt_tokens": round(statistics.mean(len(answer.read) for answer in in_turn(reported)), 1),
            "acceptance": accepted_shares(in_turn(counted), engine.info),
            "trees": trees.sizes(in_turn(reported), engine.info),
            "acceptance_warm": trees.acceptance(engine, in_turn(counted)[: sizes.warm], timed.WARM),
        }
        trained = None
        if isinstance(engine, LlamaFeatureEngine):
            trained = _trained(arguments.draft, engine, in_turn(reported))
            figures |= network_trees.figures(trained, engine, in_turn(reported)[: sizes.trees])
    same: dict[str, list[bool]] = {}
    for target in targets:
        try:
            with _engine(folder, target, arguments.threads, kind) as engine:
                _measure(engine, target, reported, sizes, figures, same, trained)
        except KeyboardInterrupt:
            figures["stopped_at"] = target
            break
        except (CannotInflate, ModuleNotFoundError, JackdawError, OSError) as reason:
            step(f"{target} is left out: {reason}")
            figures.setdefault("left_out", {})[target] = str(reason)
    return figures | _shares(same) | {"missed": missed(figures)}


@contextmanager
def _engine(folder: Weights, target: str, threads: int, kind: type[LlamaCppEngine]) -> Iterator[LlamaCppEngine]:
    """Yield an engine with the target's weights."""
    with weights_of(folder, target, threads) as path:
        model = LlamaModel(path)
        with closing(kind(model, context=CONTEXT, sequences=1, threads=threads, kv_type="q8_0")) as engine:
            engine.restrict(verdict(examine(engine)))
            yield engine


def _trained(path: Path, engine: LlamaFeatureEngine, answers: Sequence[Answer]) -> Trained:
    step("features of the answers")
    try:
        return Trained.of(path, engine, answers)
    except JackdawError as error:
        raise CannotRun(str(error)) from error


def _answers(engine: LlamaCppEngine, data: Path, count: int, *, held_out: bool) -> dict[str, list[Answer]]:
    source = LocalSource(engine, parse(engine.info.chat_template, engine.info.bos))
    answers: dict[str, list[Answer]] = {}
    for kind, asked in prompts(data, source.template, held_out=held_out).items():
        step(f"{count} answers, {kind}{'' if held_out else ', to count acceptance'}")
        answers[kind] = answered(source, kind, asked, count)
    engine.clear(0)
    return answers


def _measure(
    engine: LlamaCppEngine,
    target: str,
    reported: Mapping[str, Sequence[Answer]],
    sizes: Sizes,
    figures: dict[str, Any],
    same: dict[str, list[bool]],
    trained: Trained | None,
) -> None:
    """Measure a target: its costs of passes, answers in real time, and the replay of all answers.

    Adds the results to `figures`, and to `same`, for each arm, whether each answer has the same text as without drafts.
    """
    step(f"{target}: costs of passes")
    load = os.getloadavg()[0]
    costs = measured(engine, {})
    some = in_turn({kind: answers[: sizes.timed] for kind, answers in reported.items()})
    price = timed.cpu_costs(
        engine, max(some, key=lambda answer: len(answer.tokens)), [size for size, _ in costs.ratios]
    )
    step(f"{target}: in real time")
    most = sizes.large_tokens if engine.info.parameters >= LARGE else sizes.tokens
    own_network = model = None
    if trained and isinstance(engine, LlamaFeatureEngine):
        own_network = trained.on(engine, target.partition("-")[0])
        model = own_network.model(engine)
    done = timed.rounds(engine, some, costs, most, [SamplingSettings()] * len(some), model)
    for arm, equal in timed.same_text(done).items():
        same.setdefault(f"same_text.{arm}", []).extend(equal)
    real = timed.figures(done)
    pass_s = real["none"]["ms_per_token"] / 1000
    figures[target] = replay(reported, costs, price, engine.info, pass_s, own_network)
    for arm, own in real.items():
        figures[target][arm] |= own
    figures[target] |= trees.priced(in_turn(reported), costs, price, engine.info, pass_s)
    if own_network:
        figures[target]["draft_costs"] = asdict(own_network.costs)
    figures[target] |= {"is_exact": costs.is_exact, "load": [round(load, 1), round(os.getloadavg()[0], 1)]}
    for key, curve in (("cost_curve", price), ("cost_curve_wall", costs)):
        figures.setdefault(key, {})[target] = {str(size): ratio for size, ratio in curve.ratios}
    if target == SMALL:
        step(f"{target}: at temperature {timed.WARM}, and memory")
        warm = in_turn({kind: answers[: sizes.warm] for kind, answers in reported.items()})
        sampling = [SamplingSettings(temperature=timed.WARM, seed=seed) for seed in range(len(warm))]
        for arm, equal in timed.same_text(timed.rounds(engine, warm, costs, sizes.tokens, sampling)).items():
            same.setdefault(f"same_text_warm.{arm}", []).extend(equal)
        longest = max(in_turn(reported), key=lambda answer: len(answer.read) + len(answer.tokens))
        figures["drafter_bytes"] = timed.drafter_bytes(engine, longest, costs)


def replay(
    reported: Mapping[str, Sequence[Answer]],
    costs: PassCosts,
    price: PassCosts,
    info: EngineInfo,
    pass_s: float,
    trained: OnTarget | None = None,
) -> dict[str, dict[str, Any]]:
    """Return each arm's speedup and other figures, computed from the costs of passes in a replay of all answers, in the
    order in which acceptance is learnt from them.

    `auto` decides by `costs`. `pass_s` is the time of a pass over one token. Where passes are not exact, `auto` drafts
    nothing; `auto_inexact` is then its gain if it did draft.
    """
    arms: dict[str, tuple[Arm, PassCosts]] = {arm: (arm, costs) for arm in ARMS}
    if not costs.is_exact:
        arms["auto_inexact"] = "auto", replace(costs, is_exact=True)
    if trained:
        arms["trained"] = "trained", costs
    table: dict[str, dict[str, Any]] = {}
    for name, (arm, decisive) in arms.items():
        passes_of = _replayer(arm, decisive, info, trained)
        by_kind: dict[str, Passes] = defaultdict(Passes)
        for answer in in_turn(reported):
            by_kind[answer.kind].add(passes_of(answer))
        whole = Passes()
        for passes in by_kind.values():
            whole.add(passes)
        table[name] = {
            "speedup": round(whole.speedup(price, pass_s), 3),
            "tokens_per_pass": round(whole.tokens / whole.count, 3),
            "draft_ms": round(1000 * whole.seconds / whole.count, 3),
            "kinds": {kind: round(passes.speedup(price, pass_s), 3) for kind, passes in by_kind.items()},
        }
    return table


def _replayer(arm: Arm, costs: PassCosts, info: EngineInfo, trained: OnTarget | None) -> Callable[[Answer], Passes]:
    """Return a function that replays one answer after the other; what was accepted is learnt over answers."""
    if arm == "trained" and trained:
        return trained.replayer(costs, info)
    drafts = drafting(arm, costs)
    return lambda answer: replayed(answer, drafts, info)


def _shares(same: Mapping[str, Sequence[bool]]) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for key, equal in same.items():
        what, _, arm = key.partition(".")
        table.setdefault(what, {})[arm] = round(sum(equal) / len(equal), 4)
    return table
