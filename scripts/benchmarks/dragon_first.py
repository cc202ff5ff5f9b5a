"""Measures the time to the first token of each arm of the benchmark `dragon`, from the question on: it includes the
searches for private and for public passages.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from device_app.cache.states.tree import QKVTree
from device_app.companion.joint.aggregated import Aggregated
from device_app.companion.link.request import RemoteRequest, RequestEvent
from device_app.english.query import Query
from models.sampling import SamplingSettings
from scripts.benchmarks import dragon_sync
from scripts.benchmarks.dragon_answer import FREE, JOINT, Arm, FirstArm, TimedAnswer
from scripts.benchmarks.dragon_arms import SETTLED_S, Bench, joint_question
from scripts.benchmarks.dragon_data import Question
from scripts.benchmarks.dragon_setting import LEVEL, PASSAGES, Setting
from scripts.benchmarks.pacing import Paced
from scripts.places import step
from shared.aggregation.weights import log_weight, row_weights
from shared.prompt import Prompt, build
from shared.protocol import messages as m
from shared.public import stored
from shared.trace import Trace

Event = TypeVar("Event")

ALONE: Final[FirstArm] = "device_only"
TOGETHER: Final[tuple[FirstArm, ...]] = ("coupled", "greedy")


def first_tokens(setting: Setting) -> dict[str, Any]:
    """Return times to first token, with the weights that the passages' similarities give: either side alone from its
    own passages (the paper's CRCG), the device from both sides' passages in one prompt (DRCG/Text), the same with the
    attention states of the public passages sent by the server (DRCG/KV, `drcg_kv_bytes` on average), and both sides
    together.
    """
    setting.at("native", level=0.0)
    sizes = setting.sizes
    arms: tuple[FirstArm, ...] = (ALONE, "server_only", "drcg_text", "drcg_kv", "token_wise", *JOINT)
    taken: dict[FirstArm, dict[int, list[float]]] = {arm: {rtt: [] for rtt in sizes.rtts} for arm in arms}
    sent: list[int] = []
    for number in range(sizes.repeats):
        text = setting.private.questions[number % len(setting.private.questions)].text
        for rtt in sizes.rtts:
            step(f"first tokens, {rtt} ms, round {number + 1} of {sizes.repeats}")
            for arm in arms:
                answer = first_token(setting, arm, text, rtt, level=0.0)
                taken[arm][rtt].append(answer.ttft_ms)
                if arm == "drcg_kv":
                    sent.append(answer.down)
    alone = taken[ALONE]
    figures: dict[str, Any] = {
        "ttft_ms": {},
        "ttft_over_device_only": {},
        "drcg_kv_bytes": round(statistics.mean(sent)),
    }
    for arm, by_rtt in taken.items():
        ratios = {rtt: [a / b for a, b in zip(some, alone[rtt], strict=True)] for rtt, some in by_rtt.items()}
        figures["ttft_ms"][arm] = {str(rtt): round(statistics.median(some), 1) for rtt, some in by_rtt.items()}
        figures["ttft_over_device_only"][arm] = {str(rtt): round(statistics.median(r), 3) for rtt, r in ratios.items()}
    return figures


def beside_alone(setting: Setting) -> dict[str, Any]:
    """Return times to first token, with the states of private passages cached and without. Both sides have the
    reference pace, for prompts as well, and equal weights. The figures are means in ms. Those of joint answers are also
    given as a multiple of the time of the device alone, and as the difference from it. `finished_alone` counts joint
    answers whose first token came without the server.

    The server's states are in memory. Arms take turns.
    """
    setting.at("native")
    bench, sizes = setting.bench, setting.sizes
    questions = setting.private.questions[: sizes.firsts]
    for question in questions:
        bench.source.prefill(question.prompt(bench.source.template, 1, PASSAGES), bench.tree)
        bench.answer("coupled", question, sizes.rtts[0], 2, level=LEVEL)  # now the server has its states
    setting.at("reference", reads_slowly=True)
    arms = (ALONE, *TOGETHER)
    ways = {"emptied": False, "kept": True}
    taken: dict[str, dict[FirstArm, dict[int, list[float]]]] = {
        way: {arm: {rtt: [] for rtt in sizes.rtts} for arm in arms} for way in ways
    }
    alone = 0
    for number, question in enumerate(questions):
        turned = arms[number % len(arms) :] + arms[: number % len(arms)]
        for rtt in sizes.rtts:
            step(f"first tokens beside the device alone, {rtt} ms, question {number + 1} of {len(questions)}")
            for way, is_kept in ways.items():
                for arm in turned:
                    answer = first_token(setting, arm, question.text, rtt, level=LEVEL, is_kept=is_kept)
                    taken[way][arm][rtt].append(answer.ttft_ms)
                    alone += bool(answer.alone)
    counts = {"questions": len(questions), "finished_alone": alone}
    return {"first": {way: beside(by_arm) for way, by_arm in taken.items()} | counts}


def beside(taken: dict[FirstArm, dict[int, list[float]]]) -> dict[str, Any]:
    """Return the figures of the measured first-token times `taken`, in ms, by arm and extra round trip; those of joint
    answers also relative to the device alone.
    """
    means = {arm: {rtt: statistics.mean(some) for rtt, some in by_rtt.items()} for arm, by_rtt in taken.items()}
    alone = means[ALONE]
    return {
        "ms": {arm: {str(rtt): round(ms, 1) for rtt, ms in by_rtt.items()} for arm, by_rtt in means.items()},
        "over_alone": {arm: {str(rtt): round(means[arm][rtt] / alone[rtt], 3) for rtt in alone} for arm in TOGETHER},
        "later_ms": {arm: {str(rtt): round(means[arm][rtt] - alone[rtt], 1) for rtt in alone} for arm in TOGETHER},
    }


def first_token(
    setting: Setting, arm: FirstArm, text: str, rtt: int, *, level: float, is_kept: bool = True
) -> TimedAnswer:
    """Return an answer up to its first token, timed from the question on, before the search of private passages.

    With `is_kept`, the attention states of the private passages are cached; otherwise they are computed. A `level`
    above 0 replaces the passages' similarities.
    """
    bench = setting.bench
    tree = bench.tree if is_kept else None
    answer = TimedAnswer([], [], time.perf_counter(), 0.0)
    if arm == "server_only":
        answer.at = [_from_server(bench, text, rtt)]
    elif arm == "drcg_text":
        answer.at = [_with_fetched(setting, text, rtt, tree)]
    elif arm == "drcg_kv":
        at, answer.down = _with_states(setting, text, rtt)
        answer.at = [at]
    elif arm == "device_only":
        question = _question(setting, text)
        prompt, weights = _prompt(setting, question), question.weights(1, PASSAGES, level)
        bench.alone(answer, prompt, weights, FREE, 1, tree)
    elif arm == "token_wise":
        request = dragon_sync.JointRequest("token", text, PASSAGES, 1, 0.7, 0.05, 0)
        dragon_sync.ask(bench.sockets[rtt], request)
        question = _question(setting, text)
        weights = question.weights(1, PASSAGES, level)
        decoder = bench.source.decoder(
            _prompt(setting, question), row_weights(weights), ahead=0, trace=Trace(), tree=tree
        )
        ready = bench.source.engine
        assert isinstance(ready, Paced)
        answer.at = dragon_sync.token_wise(bench.sockets[rtt], request, decoder, log_weight(weights), ready).at
    else:
        answer.at, answer.alone = _joint(setting, arm, text, rtt, level, tree)
    time.sleep(1.2 * rtt / 1000 + SETTLED_S)
    return answer


def _joint(
    setting: Setting, arm: Arm, text: str, rtt: int, level: float, tree: QKVTree | None
) -> tuple[list[float], str]:
    """Return the time of a joint answer's first token, and the reason if the token came without the server, else "".

    The server is asked before the local search.
    """
    bench = setting.bench
    sampling = replace(FREE, temperature=0.0) if arm == "greedy" else FREE
    asked = joint_question(arm, text, sampling, 2, PASSAGES, 1)
    with Aggregated(bench.links[rtt], bench.source, asked, Trace(), tree) as joint:
        question = _question(setting, text)
        with closing(joint.pieces(_prompt(setting, question), question.weights(1, PASSAGES, level))) as pieces:
            next(pieces)
            return [time.perf_counter()], joint.report.alone


def _from_server(bench: Bench, text: str, rtt: int) -> float:
    """Return the time of the first token that the server writes alone from its own passages."""
    events: SimpleQueue[RequestEvent] = SimpleQueue()
    request = bench.links[rtt].ask(m.Ask(1, text, True, PASSAGES, 1, 1, _sampling(FREE)), _into(events))
    _awaited(events, m.Tokens)
    at = time.perf_counter()
    request.cancel()
    return at


def _with_fetched(setting: Setting, text: str, rtt: int, tree: QKVTree | None) -> float:
    """Return the time of the first token from both sides' passages in one prompt of the device."""
    bench, events = setting.bench, SimpleQueue[RequestEvent]()
    bench.links[rtt].ask(m.Ask(1, text, False, PASSAGES, 1, 0), _into(events))
    question = _question(setting, text)
    fetched = _awaited(events, m.Sources).passages
    texts = [*question.passages, *map(stored, fetched)]
    answer = TimedAnswer([], [], 0.0, 0.0)
    bench.alone(answer, build(text, texts, bench.source.template).joined(), (1.0,), FREE, 1, tree)
    return answer.at[0]


def _with_states(setting: Setting, text: str, rtt: int) -> tuple[float, int]:
    """Return the time of the first token from both sides' passages in one prompt of the device. The server sends the
    attention states of the prompt's instructions and of its passages. Also return the bytes of these states.
    """
    bench = setting.bench
    server, engine, template = bench.sockets[rtt], bench.source.engine, bench.source.template
    dragon_sync.ask(server, dragon_sync.JointRequest("states", text, PASSAGES, 1, 0.0, 0.0, 0))
    question = _question(setting, text)
    public, slices = dragon_sync.receive_states(server)
    prompt = build(text, [*map(stored, public), *question.passages], template)
    behind = [segment for passage in prompt.passages[len(public) :] for segment in passage]
    tokens = [
        token for segment in (*behind, *prompt.tail) for token in engine.tokenize(segment.text, special=segment.special)
    ]
    engine.clear(0)
    engine.join(0, slices)
    engine.prefill(0, tokens)
    at = time.perf_counter()
    engine.clear(0)
    return at, sum(len(each.data) for each in slices)


def _question(setting: Setting, text: str) -> Question:
    hits = setting.private.retriever.search(Query(text), PASSAGES)
    return Question(text, tuple(hit.passage for hit in hits), tuple(hit.similarity for hit in hits))


def _prompt(setting: Setting, question: Question) -> Prompt:
    return question.prompt(setting.bench.source.template, 1, PASSAGES)


def _into(queue: SimpleQueue[RequestEvent]) -> Callable[[RemoteRequest, RequestEvent], None]:
    return lambda _, event: queue.put(event)


def _awaited(events: SimpleQueue[RequestEvent], kind: type[Event]) -> Event:
    while not isinstance(event := events.get(timeout=30), kind):
        pass
    return event


def _sampling(sampling: SamplingSettings) -> m.Sampling:
    return m.Sampling(**asdict(sampling))
