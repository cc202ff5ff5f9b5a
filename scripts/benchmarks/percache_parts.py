"""Parts of the caches measured alone: reordered passages, hits among many answers, bytes, eviction, the schedule
(PerCache, section 5.5).
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import permutations, takewhile
from typing import Any, Literal

import numpy as np

from device_app.cache.answers.bank import scope
from device_app.cache.eviction import Kept, Policy, victims
from device_app.english import query
from models import kv_file
from models.catalog import Weights, find
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from scripts.benchmarks.percache_arms import JACKDAW, PERCACHE, Spec
from scripts.benchmarks.percache_idle import IdleSource
from scripts.benchmarks.percache_replay import Room, replay
from scripts.places import step
from shared.prompt import build, passage_text
from shared.text import count_words
from shared.types import StoredPassage

JOINED = 3
"""The number of passages in the prompts whose time to first token is measured."""

REPEATS, QUICK_REPEATS = 9, 5
ENTRIES = (500, 50_000)
HITS = 20
EVICTION_MB = (100, 400)

_17B = {"layers": 24, "kv_heads": 32, "head": 64}
"""The shape of the model SmolLM2-1.7B."""
_VALUE_BYTES = {"f16": 2.0, "q8_0": 34 / 32}

RESTORED = "there is room for the question's attention states"
"""The reason that idle work gives for computing evicted states again."""


def measure(room: Room, folder: Weights, arguments: Namespace) -> dict[str, Any]:
    """Return the figures of each part by name: the guard (also on blind data) and its curve, the times to first token
    with reordered and with joined passages, the time of a cache hit, the bytes of a passage's states, and eviction.
    """
    from scripts.benchmarks import guard

    step("guard")
    pairs = guard.paraphrases(arguments.data), guard.near_misses(), room.embedder
    figures: dict[str, Any] = {
        "guard": guard.measure(*pairs, JACKDAW.threshold),
        "guard_blind": guard.measure((), guard.blind(), room.embedder, JACKDAW.threshold),
        "guard_cosine_alone": guard.measure(*pairs, JACKDAW.threshold, guard.cosine_alone),
        "guard_curve": {str(threshold): shares for threshold, shares in guard.curve(*pairs).items()},
    }
    repeats = QUICK_REPEATS if arguments.quick else REPEATS
    figures |= _first_tokens(room, room.source, repeats)
    engine = LlamaCppEngine(LlamaModel(folder.path(find("smollm2-135m-q4_1"))), threads=arguments.threads)
    published = IdleSource(engine, room.source.template)
    figures["published_q4_1"] = _first_tokens(room, published, repeats)
    engine.close()
    step("bytes of a passage")
    figures["bytes_per_passage"] = _bytes(room, folder, arguments.threads)
    step("eviction")
    figures["eviction"] = _evictions(room)
    figures["qa_hit_ms"], figures["qa_hit_after_ms"] = {}, {}
    for count in ENTRIES[: 1 if arguments.quick else 2]:
        step(f"a hit among {count:,} answers")
        took, after = _hits(room, count)
        figures["qa_hit_ms"][str(count)], figures["qa_hit_after_ms"][str(count)] = took, after
    return figures


def _first_tokens(room: Room, source: IdleSource, repeats: int) -> dict[str, Any]:
    """Return times to first token: without cached states, with cached states, and with cached states for the same
    passages in another order.
    """
    step(f"first tokens with {source.engine.info.model}")
    name = f"reorder-{source.engine.info.kv_key}".replace("/", "-")
    arm = replace(room, source=source).arm(name, JACKDAW)
    plain = arm.assistant.source()
    question = room.user.questions[0].text
    hits = arm.assistant.retriever.search(query.parse(question, date.today()), JOINED)
    passages = [hit.passage for hit in hits]
    tree = arm.assistant.tree
    prompt = build(question, passages, plain.template)
    plain.prefill(prompt.joined(), tree)
    other = build(question, passages[::-1], plain.template)
    times: dict[str, list[float]] = {"cold": [], "joined": [], "reordered": []}
    for _ in range(repeats + 1):
        for case, variant in (("cold", prompt), ("joined", prompt), ("reordered", other)):
            start = time.perf_counter()
            order = tree.order(plain.engine.info.kv_key, variant.head, variant.passages)
            kept = None if case == "cold" else tree
            next(plain.stream(variant.ordered(order).joined(), SamplingSettings(), max_tokens=1, tree=kept))
            times[case].append((time.perf_counter() - start) * 1000)
    ms = {case: round(statistics.median(values[1:]), 2) for case, values in times.items()}
    return {
        "reorder_ttft_ms": {
            "cold": ms["cold"],
            "cached": ms["reordered"],
            "speedup": round(ms["cold"] / ms["reordered"], 2),
            "tokens": plain.count(prompt.joined()),
        },
        "joined_ttft_ms": ms["joined"],
    }


def _bytes(room: Room, folder: Weights, threads: int) -> dict[str, Any]:
    """Return the size on disk, in bytes, of the states of a passage of about 100 words; for a 1.7B model, it is
    computed from the model's shape.
    """
    passages = [passage for passage in room.store.passages_after(0, 400) if 95 <= count_words(passage.text) <= 105][:10]
    kinds: tuple[Literal["f16", "q8_0"], ...] = ("f16", "q8_0")
    figures: dict[str, Any] = {}
    tokens = 0.0
    for kind in kinds:
        engine = LlamaCppEngine(LlamaModel(folder.path(find("smollm2-135m"))), threads=threads, kv_type=kind)
        sizes, counts = zip(*(_slice_size(engine, passage) for passage in passages), strict=True)
        figures[kind], tokens = round(statistics.mean(sizes)), statistics.mean(counts)
        figures[f"1.7b_{kind}_by_shape"] = round(
            2 * _17B["layers"] * _17B["kv_heads"] * _17B["head"] * _VALUE_BYTES[kind] * tokens
        )
        engine.close()
    return figures | {"tokens": round(tokens, 1)}


def _slice_size(engine: LlamaCppEngine, passage: StoredPassage) -> tuple[int, int]:
    tokens = engine.tokenize(passage_text(passage))
    engine.clear(0)
    engine.prefill(0, tokens)
    return sum(len(part) for part in kv_file.pack(engine.slice(0, 0, len(tokens)))), len(tokens)


def _hits(room: Room, count: int) -> tuple[float, float]:
    """Return median times of questions whose answer is among `count` cached answers: to the answer, and for the work
    after it.
    """
    arm = room.arm(f"hits-{count}", replace(JACKDAW, predicts="nothing"))
    # Room for all entries, so that only the search is measured.
    arm.assistant = replace(arm.assistant, bank=replace(arm.assistant.bank, limit=1 << 40))
    entries, search = arm.assistant.bank.entries, arm.assistant.retriever.search
    questions = [query.parse(asked.text, date.today()) for asked in room.user.questions[:HITS]]
    vectors = room.embedder.embed([question.text for question in questions])
    newest = room.store.newest_passage()
    record = arm.ask(questions[0].text).answer.as_json()
    chance = np.random.default_rng(count)
    for number in range(count):
        question = questions[number % len(questions)]
        vector = vectors[number % len(questions)]
        sources = [hit.passage.id for hit in search(question, JOINED, vector=vector)] if number < HITS else [newest]
        if number >= len(questions):
            question = replace(question, text=f"{question.text} {number}")
            vector = chance.normal(size=room.embedder.dimensions).astype(np.float32)
            vector /= np.linalg.norm(vector)
        entries.put(
            question.text,
            scope(question),
            arm.options.fingerprint,
            vector,
            "asked",
            answer=record["answer"],
            record=record,
            sources=sources,
            newest_passage=newest,
            cost_ms=500.0,
        )
    # The first search reads the vectors into memory.
    outcomes = [arm.ask(question.text) for question in (questions[0], *questions)][1:]
    served = [outcome for outcome in outcomes if outcome.answer.matched]
    if len(served) < len(questions):
        step(f"{len(questions) - len(served)} of {len(questions)} kept answers were not served")
    return _median(turn.ms for turn in served), _median(turn.after_ms for turn in served)


def _evictions(room: Room) -> dict[str, Any]:
    """Return the share of retrieved passages whose states a small tree still holds, by eviction policy and
    megabytes.
    """
    arm = room.arm("eviction", Spec())
    per_token = room.source.engine.info.kv_bytes_per_token
    trace = []
    for asked in room.user.questions:
        hits = arm.assistant.retriever.search(query.parse(asked.text, date.today()), JOINED)
        tokens = [len(room.source.engine.tokenize(passage_text(hit.passage))) for hit in hits]
        trace.append([(str(hit.passage.id), count * per_token) for hit, count in zip(hits, tokens, strict=True)])
    policies: tuple[Policy, ...] = ("lfu", "lru", "cost")
    shares = {str(mb): {policy: _simulated(trace, mb * 1_000_000, policy) for policy in policies} for mb in EVICTION_MB}
    return dict(shares[str(EVICTION_MB[0])]) | {"by_mb": shares}


def _simulated(trace: Sequence[Sequence[tuple[str, int]]], limit: int, policy: Policy) -> float:
    """Simulate a cache of KV states: for each question, look up the states of its retrieved passages, in the order that
    reuses the longest cached beginning of a prompt.
    """
    kept: dict[str, Kept] = {}
    asked = hit = 0
    for moment, passages in enumerate(trace):
        paths = [_path(order) for order in permutations(passages)]
        path = max(paths, key=lambda names: _held(names, kept))
        asked, hit = asked + len(path), hit + _held(path, kept)
        for place, (name, size) in enumerate(path):
            uses = kept[name].uses + 1 if name in kept else 1
            kept[name] = Kept(name, size, uses, f"{moment:09}", size, path[place - 1][0] if place else None)
        for name in victims(kept.values(), limit, policy):
            del kept[name]
    return round(hit / asked, 4)


def _path(order: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return [("/".join(name for name, _ in order[: place + 1]), size) for place, (_, size) in enumerate(order)]


def _held(path: Sequence[tuple[str, int]], kept: Mapping[str, Kept]) -> int:
    return sum(1 for _ in takewhile(lambda node: node[0] in kept, path))


def schedule(room: Room, most: int) -> dict[str, Any]:
    """Return figures for PerCache's section 5.5, each with and without the schedule: the similarity threshold is raised
    or lowered in the middle of the questions, or the limit of the KV states is raised.

    `saved` is the share of the idle work's tokens that the schedule saves.
    """
    third, half = (min(most, len(room.user.questions)) // part for part in (3, 2))
    low, high = PERCACHE, replace(PERCACHE, threshold=0.95)
    always = replace(low, cutoff=1.0)
    small = replace(PERCACHE, kv_mb=40.0)
    specs = {
        "raised": low,
        "raised_always": always,
        "lowered": high,
        "lowered_always": replace(high, cutoff=1.0),
        "limit": small,
        "limit_unrestored": replace(small, restores=False),
    }
    changes = {
        "raised": (third, high),
        "raised_always": (third, replace(always, threshold=0.95)),
        "lowered": (half, low),
        "lowered_always": (half, always),
        "limit": (half, PERCACHE),
        "limit_unrestored": (half, replace(PERCACHE, restores=False)),
    }
    arms, outcomes = replay(room, specs, most, changes)
    work = {name: arm.idle.work.prefilled + arm.idle.work.decoded for name, arm in arms.items()}
    waited = [work for work, _ in arms["lowered"].steps if work.action == "answer" and "predicted from" not in work.why]
    figures: dict[str, Any] = {
        "raised": {
            "saved": round(1 - work["raised"] / work["raised_always"], 4),
            "decoded_saved": round(1 - arms["raised"].idle.work.decoded / arms["raised_always"].idle.work.decoded, 4),
        },
        "lowered": {"converted": len(waited)},
        "limit": {"restored": sum(work.why == RESTORED for work, _ in arms["limit"].steps)},
    }
    for case, (after, other) in {
        "raised": (third, "always"),
        "lowered": (half, "always"),
        "limit": (half, "unrestored"),
    }.items():
        for label, name in (("", case), (f"_{other}", f"{case}_{other}")):
            later = outcomes[name][after:]
            figures[case][f"mean_ms{label}"] = round(statistics.mean(turn.ms for turn in later), 1)
            figures[case][f"tokens_reused{label}"] = sum(turn.answer.trace.tokens_cached for turn in later)
            figures[case][f"population_tokens{label}"] = work[name]
    return figures


def _median(values: Iterable[float]) -> float:
    return round(statistics.median(values), 2)
