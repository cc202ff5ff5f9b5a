"""Draft trees in the benchmark `dovetail`: their gain over chains, replayed, and the paper's acceptance beside
Jackdaw's own.
"""

import statistics
import time
from collections.abc import Sequence
from typing import Final, cast

import numpy as np
import numpy.typing as npt

from models.decoder import Decoder
from models.engine import Engine, EngineInfo, KVSlice, Logits
from models.sampling import SamplingSettings, distribution, sample
from models.speculative.choice import Acceptance
from models.speculative.costs import PassCosts
from models.speculative.lookup_tree import MOST_CONTINUATIONS, LookupTree, later_siblings
from models.speculative.tree import ROOT
from models.speculative.tree_decoding import TreeDecoder
from models.token_tree import ComputedTree, TokenTree, TreeEngine
from scripts.benchmarks.dovetail_arms import MOST_TOKENS, Answer, Passes, Script
from shared.aggregation.weights import row_weights
from shared.trace import DraftCounts

CANDIDATES: Final = (7, 15)
"""The numbers of nodes in the paper's trees, without the root."""

_SHAPES: Final = {"chain": 1, "tree": MOST_CONTINUATIONS}
"""The number of looked-up continuations that are drafted together, for chains and for trees."""


class _TreeScript(Script):
    """A stand-in for an engine (`Script`) that also accepts trees of tokens: it counts their nodes and appends their
    main path.
    """

    branches = MOST_CONTINUATIONS - 1

    def verify_tree(self, _: int, tree: TokenTree) -> ComputedTree:
        self.sizes[len(tree.tokens)] += 1
        main, *others = tree.chains()
        self.append(tree.tokens[node] for node in main)
        states = {
            chain[0]: KVSlice("", "", 0, tuple(tree.tokens[node] for node in chain), b"", 0, ()) for chain in others
        }
        return ComputedTree([np.zeros(1, np.float32)] * len(tree.tokens), states)

    def join(self, _: int, slices: Sequence[KVSlice]) -> None:
        for piece in slices:
            self.append(piece.tokens)


def replayed(answers: Sequence[Answer], continuations: int, costs: PassCosts, info: EngineInfo) -> Passes:
    """Return the passes in which the answers are written if the given number of continuations is drafted, of which each
    pass verifies as many tokens as pay by the costs. Acceptance is learnt from answer to answer.
    """
    first, later = Acceptance(), later_siblings()
    passes = Passes()
    for answer in answers:
        script = _TreeScript(info, answer.read)
        engine = cast(TreeEngine, script)
        plain = Decoder(engine, {0: np.zeros(1, np.float32)}, row_weights((1.0,)))
        began = time.perf_counter()
        drafter = LookupTree([answer.read], first, later, continuations)
        with TreeDecoder(plain, engine, drafter, costs, MOST_TOKENS, DraftCounts()) as decoder:
            for token in answer.tokens:
                decoder.append(token)
        passes.add(Passes(script.sizes, len(answer.tokens), time.perf_counter() - began))
    return passes


def sizes(answers: Sequence[Answer], info: EngineInfo) -> dict[str, dict[str, float]]:
    """Return the tokens per pass of chains and trees of at most 7 and 15 nodes, as if longer passes were impossible."""
    table: dict[str, dict[str, float]] = {}
    for most in CANDIDATES:
        free = PassCosts(((1, 1.0), (most + 1, 1.0), (most + 2, 1e6)), is_exact=True)
        some = {shape: replayed(answers, count, free, info) for shape, count in _SHAPES.items()}
        table[str(most)] = {shape: round(passes.tokens / passes.count, 3) for shape, passes in some.items()}
    return table


def priced(
    answers: Sequence[Answer], costs: PassCosts, price: PassCosts, info: EngineInfo, pass_s: float
) -> dict[str, dict[str, float]]:
    """Return the gain of chains and of trees if as many nodes are drafted as pay by `costs`. The time of each pass is
    taken from `price`; `pass_s` is the time of a pass over one token.
    """
    table: dict[str, dict[str, float]] = {}
    for shape, count in _SHAPES.items():
        passes = replayed(answers, count, costs, info)
        table[f"auto_{shape}"] = {
            "speedup": round(passes.speedup(price, pass_s), 3),
            "tokens_per_pass": round(passes.tokens / passes.count, 3),
        }
    return table


def paper_draw(
    probabilities: npt.NDArray[np.float64], children: Sequence[int], chance: np.random.Generator
) -> tuple[int, bool]:
    """Return the next token as the paper's code draws it, and whether it is one of the node's children.

    `probabilities`, shape (vocabulary,), are the target's. Each child in turn is accepted with its probability, or else
    its probability is set to 0 and the rest renormalised; the last draw is from the residual. Together that is a draw
    from the target's distribution (SpecInfer, section 4.3), but not the same draw as without drafts.
    """
    left = probabilities.copy()
    for child in children:
        if chance.random() < left[child]:
            return child, True
        left[child] = 0
        total = left.sum()
        if total <= 0:  # rounding: the children have all of it
            return child, True
        left /= total
    return int(chance.choice(left.size, p=left)), False


def acceptance(engine: Engine, answers: Sequence[Answer], temperature: float) -> dict[str, float]:
    """Return the share of next tokens that are children of a looked-up tree's root, at the given temperature.

    `drawn`: the tokens are drawn as without drafts; `paper`: by `paper_draw`; `expected`: the sum of the children's
    probabilities. `bonus_error` is the total variation between the model's distribution at this temperature and at 1,
    from which the authors' code draws after a leaf.
    """
    generator = np.random.default_rng(0)
    rows: dict[str, list[float]] = {"drawn": [], "paper": [], "expected": [], "bonus_error": []}
    for seed, answer in enumerate(answers):
        rule = SamplingSettings(temperature=temperature, seed=seed)
        drafter = LookupTree([answer.read], Acceptance(), later_siblings())
        for place, logits in enumerate(_logits(engine, answer)):
            tree = drafter.tree(1)
            children = [token for token, parent in zip(tree.tokens, tree.parents, strict=True) if parent == ROOT]
            if children:
                warm = _spread(logits, rule)
                rows["drawn"].append(sample(logits, rule, answer.tokens[:place]) in children)
                rows["paper"].append(paper_draw(warm, children, generator)[1])
                rows["expected"].append(float(warm[children].sum()))
                plain = _spread(logits, SamplingSettings(temperature=1))
                rows["bonus_error"].append(float(np.abs(warm - plain).sum() / 2))
            drafter.append(answer.tokens[place])
    return {key: round(statistics.mean(values), 3) for key, values in rows.items() if values}


def _logits(engine: Engine, answer: Answer) -> list[Logits]:
    """Return the logits from which each token of the answer is drawn."""
    engine.clear(0)
    logits = [engine.prefill(0, answer.read)]
    most = engine.info.verifies
    for begin in range(0, len(answer.tokens) - 1, most):
        logits += engine.verify({0: answer.tokens[begin : min(begin + most, len(answer.tokens) - 1)]})[0]
    engine.clear(0)
    return logits


def _spread(logits: Logits, rule: SamplingSettings) -> npt.NDArray[np.float64]:
    kept = distribution(logits, rule)
    probabilities = np.zeros(logits.size)
    probabilities[kept.tokens] = kept.probabilities
    return probabilities
