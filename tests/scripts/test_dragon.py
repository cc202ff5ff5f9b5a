"""The benchmark of joint answers of device and server: its simulator, its arithmetic, its figures and its line of
output.
"""

import math
import socket
import statistics
import threading
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import pytest

from cloud_server.pipelines.answering import Answering
from cloud_server.retrieval.corpus import Corpus, Vector
from models.decoder import log_probability
from models.fake import FakeEmbedder, FakeEngine
from scripts.benchmarks import dragon, dragon_perplexity, dragon_scheduled, dragon_server, dragon_sync
from scripts.benchmarks.dragon_answer import WAYS, FirstArm, TimedAnswer
from scripts.benchmarks.dragon_first import beside
from scripts.benchmarks.dragon_line import Lines, Way
from scripts.benchmarks.dragon_perplexity import Compared, Predicted, perplexity, perplexity_of_prompts
from scripts.benchmarks.dragon_rules import variation
from scripts.benchmarks.dragon_schedule import BASE_RTT_S, Conditions, compared, policies, simulate
from scripts.benchmarks.dragon_timed import compared as figures
from scripts.benchmarks.pacing import Pace, paced
from scripts.places import CannotRun
from shared.aggregation.distribution import quantise
from shared.aggregation.weights import device_share, log_weight
from shared.prompt import CHATML
from shared.protocol import messages as m
from shared.side import Side
from tests.companion import FewPassages

REFERENCE: dict[Side, float] = {"device": 0.13, "server": 0.04}
SWAPPED: dict[Side, float] = {"device": 0.04, "server": 0.13}


class Whole(FewPassages):
    """A corpus that knows all results at once."""

    def provisional(self, vector: Vector, most: int) -> list[m.PublicPassage]:
        return self.search(vector, most)


def test_the_similarities_that_force_the_weights_are_those_that_the_server_gets() -> None:
    level = dragon_server.level()
    corpus = dragon_server.Levelled(cast(Corpus, Whole()), level)
    answering = Answering(FakeEngine(), CHATML, FakeEmbedder(), corpus, 0.0)
    [vector] = FakeEmbedder().embed(["What is the capital of France?"])
    retrieved = [passage.similarity for passage in answering.search([vector], 3)[0]]
    assert len(set(retrieved)) > 1
    level.value = 0.6
    for passages in (answering.search([vector], 3)[0], answering.provisional(vector, 3), corpus.passages([0, 1, 2])):
        assert [passage.similarity for passage in passages] == [0.6] * len(retrieved)


@pytest.mark.parametrize(("same", "count"), [(5, 0), (4, 1), (0, 1)])
def test_answers_that_are_not_those_of_one_process_are_a_miss(same: int, count: int) -> None:
    coupled = {"same": 3, "of": 5}  # their sums may round otherwise
    figures = {"identical_to_one_process": {"coupled": coupled, "greedy": {"same": same, "of": 5}}}
    assert len(dragon.missed(figures)) == count
    assert not dragon.missed({"ms_per_token": {}})


def on_the(side: Side, recorded: Sequence[tuple[bool, bool]], decode: dict[Side, float], extra_s: float) -> float:
    return simulate(recorded, Conditions(decode, extra_s), *policies(0)[side])


def test_where_all_drafts_are_right_the_slower_side_sets_the_pace() -> None:
    right = [(True, True)] * 100
    assert on_the("device", right, REFERENCE, 0.3) == pytest.approx(13.0, abs=0.3)
    assert on_the("server", right, REFERENCE, 0.3) == pytest.approx(13.0, abs=0.7)


def test_where_the_others_drafts_are_wrong_each_token_takes_a_round_trip() -> None:
    taken = on_the("device", [(True, False)] * 100, REFERENCE, 0.3)
    assert 99 * (0.3 + BASE_RTT_S) <= taken <= 100 * (0.3 * 1.2 + BASE_RTT_S + 2 * 0.04)


def test_nothing_beats_the_slower_side_under_any_policy() -> None:
    chance = np.random.default_rng(1)
    recorded = [(bool(a), bool(b)) for a, b in chance.random((100, 2)) < 0.7]
    for first, chooses in policies(3).values():
        assert simulate(recorded, Conditions(REFERENCE, 0.1), first, chooses) >= 13.0 - 1e-9


def test_the_scheduler_goes_where_its_own_drafts_are_rejected_most() -> None:
    chance = np.random.default_rng(2)
    recorded = [[(bool(a < 0.4), bool(b < 0.95)) for a, b in chance.random((100, 2))] for _ in range(10)]
    table = compared(recorded, REFERENCE, 0.3)
    assert table["device_s"] < table["server_s"]
    assert table["scheduled_s"] < table["random_s"]
    assert table["over_better"] <= 1.03


def piece(seed: int) -> Predicted:
    draw = np.random.default_rng(seed)
    logs = np.log(draw.uniform(0.01, 0.9, size=(5, 7)))
    return Predicted(logs[0], {"device": logs[1:3], "server": logs[3:5]}, {"device": (0.5, 0.4), "server": (0.6, 0.1)})


def test_perplexity_mixes_rows_as_if_one_side_held_them_all() -> None:
    first = piece(1)
    rows = np.concatenate([first.rows["device"], first.rows["server"]])
    weights = np.exp(np.array([0.5, 0.4, 0.6, 0.1]) / 0.05)
    mixed = (weights / weights.sum()) @ np.exp(rows)
    expected = math.exp(-float(np.log(mixed).mean()))
    assert perplexity([first], {"device": 2, "server": 2}) == pytest.approx(expected, rel=1e-5)


def test_perplexity_without_passages_is_the_bare_models() -> None:
    pieces = [piece(1), piece(2)]
    expected = math.exp(-statistics.mean(float(log) for piece in pieces for log in piece.bare))
    assert perplexity(pieces, {"device": 0, "server": 0}) == pytest.approx(expected)
    assert perplexity(pieces, {"device": 0}) == pytest.approx(expected)
    assert perplexity([piece(3)], {"device": 1}) == pytest.approx(math.exp(-float(piece(3).rows["device"][0].mean())))


@pytest.mark.parametrize(
    ("arm", "passages"),
    [
        ("crcg_device", {0: 0, 1: 1, 2: 2, 4: 4, 8: 4, 16: 4}),
        ("crcg_cloud", {0: 0, 1: 1, 2: 2, 4: 4, 8: 4, 16: 4}),
        ("drcg_text", {0: 0, 1: 2, 2: 4, 4: 4, 8: 4, 16: 4}),
    ],
)
def test_what_the_paper_compares_with_reads_as_much_as_its_budget_has_room_for(
    arm: Compared, passages: dict[int, int]
) -> None:
    logs = np.log(np.random.default_rng(5).uniform(0.01, 0.9, size=(5, 7)))
    window = replace(piece(1), bare=logs[0], prompts={arm: logs[1:]})
    for count, read in passages.items():
        expected = math.exp(-float(logs[read].mean()))
        assert perplexity_of_prompts([window], arm, count) == pytest.approx(expected)


def test_the_perplexity_of_a_text_is_that_of_its_tokens_one_after_the_other(tmp_path: Path) -> None:
    engine, embedder, text = FakeEngine(), FakeEmbedder(), tmp_path / "text.txt"
    text.write_text(
        "".join(f"Heron {number} stands in pond {number % 7}.\n" for number in range(150)), encoding="utf-8"
    )
    table = dragon_perplexity.measure(text, engine, embedder, 2)
    corpus = dragon_perplexity.Corpus.of(text, engine, embedder)
    taken = dragon_perplexity.WINDOW_TOKENS
    logs: dict[str, list[float]] = {"0": [], "1": []}
    for start in (0, (len(corpus.tokens) - taken) // 2):
        window = corpus.tokens[start : start + taken]
        question = bytes(window[: dragon_perplexity.QUESTION_TOKENS]).decode()
        [(nearest, _)] = corpus.nearest(embedder.embed([question])[0], start, start + taken, 1)
        for count, passage in {"0": [], "1": nearest}.items():
            for place in range(dragon_perplexity.QUESTION_TOKENS, taken):
                engine.clear(1)
                logits = engine.prefill(1, [*passage, *window[:place]])
                logs[count].append(log_probability(logits, window[place]))
    for count, some in logs.items():
        expected = math.exp(-statistics.mean(some))
        assert table["device"][count] == table["crcg_device"][count] == pytest.approx(expected, abs=5e-4)


def test_a_part_that_the_benchmark_does_not_have_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match=r"no part quality\. Its parts: tokens, first, "):
        dragon.run(Namespace(data=tmp_path, only="first,quality", quick=True, threads=1))


def test_first_tokens_are_means_beside_the_device_alone() -> None:
    taken: dict[FirstArm, dict[int, list[float]]] = {
        "device_only": {0: [100.0, 300.0], 300: [100.0, 300.0]},
        "coupled": {0: [110.0, 310.0], 300: [500.0, 500.0]},
        "greedy": {0: [100.0, 300.0], 300: [200.0, 200.0]},
    }
    figures = beside(taken)
    assert figures["ms"]["coupled"] == {"0": 210.0, "300": 500.0}
    assert figures["over_alone"] == {"coupled": {"0": 1.05, "300": 2.5}, "greedy": {"0": 1.0, "300": 1.0}}
    assert figures["later_ms"] == {"coupled": {"0": 10.0, "300": 300.0}, "greedy": {"0": 0.0, "300": 0.0}}


def answer_with_gap(gap_s: float) -> TimedAnswer:
    return TimedAnswer([1, 2, 3], [1.0, 1.0 + gap_s, 1.0 + 2 * gap_s], 0.0, 0.5)


def test_figures_are_keyed_by_arm_and_round_trip_and_ratios_are_of_one_round() -> None:
    table = figures(
        {
            "device_only": {300: [answer_with_gap(0.1), answer_with_gap(0.2), answer_with_gap(0.4)]},
            "device_only_greedy": {300: [answer_with_gap(0.1), answer_with_gap(0.2), answer_with_gap(0.4)]},
            "token_wise": {300: [answer_with_gap(0.4), answer_with_gap(0.8), answer_with_gap(1.6)]},
            "greedy": {300: [answer_with_gap(0.2), answer_with_gap(0.2), answer_with_gap(0.4)]},
        }
    )
    assert table["ms_per_token"]["token_wise"] == {"300": 800.0}
    assert table["over_device_only"] == {"token_wise": {"300": 4.0}, "greedy": {"300": 1.0}}
    assert table["over_token_wise"] == {"greedy": {"300": 0.25}}
    assert table["ms_per_token_with_start"]["token_wise"] == {"300": 700.0}


def test_a_token_is_late_that_took_more_than_one_and_a_half_steps() -> None:
    answer = TimedAnswer([1, 2, 3], [0.0, 0.13, 0.5], 0.0, 0.0)
    assert answer.late(0.13) == 50.0


def test_emitted_tokens_are_as_near_to_the_mixture_as_true_draws() -> None:
    from models.sampling import SamplingSettings

    draw = np.random.default_rng(4)
    device, server = (draw.normal(size=8).astype(np.float32) for _ in range(2))
    for rule in ("coupled", "algorithm1"):
        off, floor = variation(rule, {"device": device, "server": server}, 0.4, SamplingSettings(temperature=1.0), 2000)
        assert off < 3 * floor


def test_a_step_is_held_and_a_prompt_where_it_has_a_pace() -> None:
    pace = Pace(0.5)
    engine = paced(FakeEngine(), pace)
    pace.step_s = 0.05
    start = time.perf_counter()
    engine.prefill(0, list(range(60, 90)))
    read = time.perf_counter()
    engine.decode({0: 65})
    assert time.perf_counter() - read >= 0.05
    assert read - start < 0.05
    engine.prefill(0, list(range(60, 64)))
    assert time.perf_counter() - read >= 0.05 + 0.05 * 2.5
    pace.prompt_token_s = 0.002
    start = time.perf_counter()
    engine.prefill(0, list(range(60, 90)))
    assert time.perf_counter() - start >= 30 * 0.002
    for _ in range(2):
        engine.prefill(0, list(range(60, 90)))
    assert time.perf_counter() - start >= 3 * 30 * 0.002
    pace.endless = True
    assert not any(engine.is_end(token) for token in range(engine.info.vocabulary))


def test_states_are_joined_as_they_were_sent() -> None:
    server, device = FakeEngine(), FakeEngine()
    server.prefill(0, [1, 2, 3, 4, 5])
    passage = m.PublicPassage(1, "Herons", "", "A heron stands.", 0.5, 0.5)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        dragon_sync.send_states(theirs, [passage], [server.slice(0, 0, 2), server.slice(0, 2, 5)])
        passages, slices = dragon_sync.receive_states(ours)
    assert passages == [passage]
    device.join(0, slices)
    assert np.array_equal(device.prefill(0, [6]), server.prefill(0, [6]))


def test_an_answer_is_exchanged_token_by_token_or_at_once() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        request = dragon_sync.JointRequest("token", "Who?", 1, 3, 0.7, 0.05, 1)
        dragon_sync.ask(ours, request)
        assert msgspec.msgpack.decode(dragon_sync.receive(theirs), type=dragon_sync.JointRequest) == request
    same = quantise([3, 5], [0.25, 0.75])
    drawn = [dragon_sync.drawn_from(same, quantise([9], [1.0]), 0.5, seed, 0) for seed in range(2000)]
    shares = [drawn.count(token) / len(drawn) for token in (3, 5, 9)]
    assert shares == pytest.approx([0.125, 0.375, 0.5], abs=0.05)


def test_a_line_delays_both_ways_and_counts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def echo() -> None:
            own, _ = listening.accept()
            with own:
                while data := own.recv(1000):
                    own.sendall(data * 2)

        threading.Thread(target=echo, daemon=True).start()
        with Lines([Way(listening.getsockname()[1], 0.1)], [0]) as lines:
            with socket.create_connection(("127.0.0.1", lines.ports[0])) as connection:
                start = time.monotonic()
                connection.sendall(b"heard")
                assert connection.recv(10) == b"heardheard"
                assert time.monotonic() - start >= 0.07
            assert lines.carried(0) == (5, 10)


def test_each_way_of_aggregation_is_compared_with_the_fixed_sides() -> None:
    def answers(step_s: float) -> list[TimedAnswer]:
        return [answer_with_gap(step_s)]

    near = dict(zip(WAYS, map(answers, (0.1, 0.09, 0.1, 0.2)), strict=True))
    far = dict(zip(WAYS, map(answers, (0.2, 0.18, 0.3, 0.2)), strict=True))
    table = dragon_scheduled.compared({0.2: near, 0.8: far})
    assert [table[way] for way in ("scheduled", "both", "device", "server")] == [150.0, 135.0, 200.0, 200.0]
    assert (table["over_better"]["scheduled"], table["over_worse"]["scheduled"]) == (1.3333, 1.3333)
    assert (table["eta_0.2"]["over_better"], table["eta_0.8"]["over_better"]) == (1.0, 1.0)


def test_the_line_of_the_scheduled_arm_keeps_to_its_bounds_and_its_weights_are_as_said() -> None:
    extras = [dragon_scheduled.extra_s(second, phase / 8) for second in range(63) for phase in range(8)]
    assert min(extras) == pytest.approx(0.02, abs=1e-3)
    assert max(extras) == pytest.approx(0.3, abs=1e-3)
    for share in dragon_scheduled.SHARES:
        own, server = dragon_scheduled.levels(share)
        assert device_share(log_weight([own] * 2), log_weight([server] * 2)) == pytest.approx(share)
    delays: list[float] = []
    with dragon_scheduled.changing(delays.append, 0.25):
        time.sleep(0.02)
    assert delays[0] == pytest.approx(0.3, abs=1e-3)
