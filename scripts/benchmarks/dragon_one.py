"""The parts of the benchmark `dragon` that run in a single process with all passages and an engine like each side's."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.retrieval.search import IndexCorpus
from models.catalog import Weights
from models.engine import Embedder, Engine
from models.sampling import SamplingSettings
from scripts.benchmarks import dragon_rules, dragon_schedule, dragon_server
from scripts.benchmarks.dragon_answer import FREE, JOINT
from scripts.benchmarks.dragon_data import Question
from scripts.benchmarks.dragon_setting import LEVEL, PASSAGES, STEPS, Setting
from scripts.places import step
from shared.aggregation.messages import Rule
from shared.aggregation.weights import device_share, log_weight, row_weights
from shared.prompt import ChatTemplate
from shared.protocol import messages as m
from shared.side import Side
from shared.trace import Trace

MOST_TOKENS = 64
"""The most tokens of an answer that ends by itself."""

SEQUENCE = 100
"""The number of tokens in one run of the simulator."""

AT_ONE, AT_LESS = SamplingSettings(temperature=1.0), FREE


class OneProcess:
    """A single process that has the passages of both sides, and an engine like each side's."""

    def __init__(
        self, setting: Setting, folder: Weights, corpus: IndexCorpus, embedder: Embedder, threads: int
    ) -> None:
        self._setting, self._corpus, self._embedder = setting, corpus, embedder
        self._far: Engine = dragon_server.engine(folder, threads)
        self._template: ChatTemplate = setting.bench.source.template

    def identical(self) -> dict[str, Any]:
        """Return how many whole answers over the link equal, token for token, those of a single process."""
        sizes, figures = self._setting.sizes, {}
        self._setting.at("native", endless=False)
        for rule, (by, _) in JOINT.items():
            asked = sizes.greedy if rule == "greedy" else min(sizes.answers, 10)
            sampling = replace(FREE, temperature=0.0) if rule == "greedy" else FREE
            same = 0
            questions = self._setting.private.questions[:asked]
            for number, question in enumerate(questions):
                if number % 10 == 0:
                    step(f"{rule}, answer {number} of {len(questions)}")
                answer = self._setting.bench.answer(rule, question, min(sizes.rtts), 48, sampling=sampling, level=LEVEL)
                played = self._played(by, question, sampling, 0.5, 48)
                tokens = played.tokens[:-1] if self._far.is_end(played.tokens[-1]) else played.tokens
                # An incomplete final character is shown by repeating its last token.
                same += answer.tokens in (tokens, [*tokens, *tokens[-1:]])
            figures[rule] = {"same": same, "of": len(questions)}
        return {"identical_to_one_process": figures}

    def accepted(self) -> dict[str, Any]:
        """Return the shares of accepted drafts in whole answers that end by themselves, by rule and weight; and the
        simulated times of the scheduler on the recorded acceptances.
        """
        sizes = self._setting.sizes
        self._setting.at("native", endless=False)
        questions = self._setting.private.questions[: sizes.answers]
        figures: dict[str, Any] = {}
        recorded: list[dragon_rules.Played] = []
        for name, sampling, share, forced in (
            ("t1", AT_ONE, "half", 0.5),
            ("t07_minp05", AT_LESS, "half", 0.5),
            ("t07_minp05", AT_LESS, "as_it_comes", None),
        ):
            step(f"acceptance, {name}, device weight {share}")
            by_rule: dict[str, Any] = {}
            rules: tuple[Rule, ...] = ("coupled", "algorithm1")
            for rule in rules:
                played = [
                    self._played(rule, question, replace(sampling, seed=seed), forced, MOST_TOKENS)
                    for seed, question in enumerate(questions)
                ]
                by_rule[rule] = dragon_rules.acceptance(played)
                if rule == "algorithm1":
                    by_rule["distribution_bytes"] = dragon_rules.sizes(played)
                if rule == "algorithm1" and forced:
                    recorded += played
            by_rule["ratio"] = {
                side: round(by_rule["coupled"][side] / by_rule["algorithm1"][side], 3) for side in ("device", "server")
            }
            figures.setdefault(name, {})[share] = by_rule
        main = figures["t07_minp05"]["half"]
        return {
            "acceptance": {rule: main[rule] for rule in ("coupled", "algorithm1")},
            "acceptance_by": figures,
            "scheduling": _scheduling(dragon_rules.both(recorded, SEQUENCE), sizes.rtts),
        }

    def variation(self) -> dict[str, Any]:
        """Return the total variation between the emitted tokens, at fixed prefixes over many seeds, and the exact
        mixture.
        """
        pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for question in self._setting.private.questions[:4]:
            step("total variation")
            decoders = self._decoders(question)
            pair = {side: decoder.mixture.copy() for side, decoder in decoders.items()}
            rules: tuple[Rule, ...] = ("coupled", "algorithm1")
            for rule in rules:
                pairs[rule].append(dragon_rules.variation(rule, pair, 0.5, FREE, self._setting.sizes.draws))
        return {
            "tv": {rule: round(statistics.mean(tv for tv, _ in some), 4) for rule, some in pairs.items()},
            "tv_of_true_draws": {rule: round(statistics.mean(tv for _, tv in some), 4) for rule, some in pairs.items()},
        }

    def _decoders(self, question: Question) -> dict[Side, Any]:
        bench = self._setting.bench
        passages = self._public(question)
        prompt = question.prompt(self._template, 1, PASSAGES)

        return {
            "device": bench.source.decoder(prompt, row_weights((1.0,)), ahead=0, trace=Trace(), tree=bench.tree),
            "server": dragon_server.begin(self._far, self._template, question.text, passages, PrefixCache(0)),
        }

    def _public(self, question: Question) -> list[m.PublicPassage]:
        return self._corpus.search(self._embedder.embed([question.text])[0], PASSAGES)

    def _played(
        self, rule: Rule, question: Question, sampling: SamplingSettings, share: float | None, most: int
    ) -> dragon_rules.Played:
        if share is None:
            ours, theirs = question.similarities[:PASSAGES], [passage.similarity for passage in self._public(question)]
            share = device_share(log_weight(ours), log_weight(theirs))
        return dragon_rules.written_by_one(rule, self._decoders(question), share, sampling, most, self._far)


def _scheduling(recorded: Sequence[dragon_schedule.Recorded], rtts: Sequence[int]) -> dict[str, Any]:
    """Return the simulator's results: with the reference pace, with the paces of the two sides swapped, and with equal
    paces.
    """
    device, server = STEPS["reference"]["device"], STEPS["reference"]["server"]
    paces: dict[str, dict[Side, float]] = {
        "reference": {"device": device, "server": server},
        "swapped": {"device": server, "server": device},
        "equal": {"device": server, "server": server},
    }
    tables = {
        name: {str(rtt): dragon_schedule.compared(recorded, decode, rtt / 1000) for rtt in rtts}
        for name, decode in paces.items()
    }
    worst = max((row["over_better"] for table in tables.values() for row in table.values()), default=None)
    return tables | {"worst_over_better": worst, "sequences": len(recorded)}
