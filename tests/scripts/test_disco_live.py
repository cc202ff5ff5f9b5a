"""The live races of the dispatch benchmark: which questions, which delays, and how they compare with the simulation."""

import json
import threading
import time
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from device_app.companion.link.link import Link
from device_app.companion.link.request import OnEvent, RemoteRequest, RequestEvent
from device_app.inference.local import LocalSource
from models.fake import FakeEngine
from scripts.benchmarks import disco
from scripts.benchmarks.disco_data import delays, texts
from scripts.benchmarks.disco_live import Paces, Times, beside, drawn_from, line, simulated
from scripts.benchmarks.disco_races import Asked, Dispatch
from scripts.benchmarks.disco_setting import DelayedLink, Setting
from scripts.places import CannotRun
from shared.prompt import CHATML
from shared.protocol import messages as m
from tests.companion import Serve, serve
from tests.racing import linked

__all__ = ["serve"]

DELAY_S = 0.3
PACES = Paces(token_s=0.02, start_s=0.1, way_s=0.01)
REQUESTS = [Asked("", length, delay_s, coin) for length, delay_s, coin in ((10, 0.2, 0.7), (50, 0.4, 0.1))]


def jsonl(path: Path, rows: Iterable[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def test_requests_are_whole_and_delays_are_such_as_the_product_waits_for(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="no requests"):
        texts(tmp_path)
    with pytest.raises(CannotRun, match="no first-token times"):
        delays(tmp_path)
    tasks = [{"instruction": "Sum up.", "instances": [{"input": text, "output": ""}]} for text in ("A b.", "")]
    jsonl(tmp_path / "prompts" / "instructions.jsonl", tasks)
    jsonl(tmp_path / "prompts" / "mt_bench.jsonl", [{"turns": ["Write.", "Again."]}])
    jsonl(tmp_path / "ttft" / "requests.jsonl", [{"ttft_s": seconds} for seconds in (0.1, 4.4, 60.0)])
    assert texts(tmp_path) == ["Sum up.\n\nA b.", "Sum up.", "Write."]
    assert delays(tmp_path).tolist() == [0.1, 4.4]


def test_no_delay_is_drawn_that_is_below_the_servers_own_time() -> None:
    chance, recorded = np.random.default_rng(0), np.array([0.1, 0.5, 0.9])
    assert {drawn_from(recorded, 0.2, chance) for _ in range(50)} == {0.5, 0.9}
    with pytest.raises(CannotRun, match=r"takes 1\.0 s"):
        drawn_from(recorded, 1.0, chance)


def test_the_line_keeps_the_mean_of_the_times() -> None:
    lengths, seconds = np.array([10.0, 20.0, 60.0]), np.array([0.4, 0.5, 1.5])
    slope, start = line(lengths, seconds)
    assert slope * lengths.mean() + start == pytest.approx(seconds.mean())
    assert line(np.array([10.0, 10.0]), np.array([0.4, 0.6])) == pytest.approx((0.05, 0.0))


@pytest.mark.parametrize(
    ("budget", "ours", "stochastic", "used"),
    [
        pytest.param(0.0, [0.21, 0.41], [0.21, 0.41], False, id="the server alone"),
        pytest.param(1.0, [0.21, 0.41], [0.3, 1.1], True, id="both, and the device alone"),
    ],
)
def test_the_simulation_has_the_requests_delays_and_paces(
    budget: float, ours: Sequence[float], stochastic: Sequence[float], used: bool
) -> None:
    times = simulated(REQUESTS, "device", budget, PACES)
    assert times["ours"].first_s == pytest.approx(ours)
    assert times["stochastic"].first_s == pytest.approx(stochastic)
    assert times["ours"].used.tolist() == times["stochastic"].used.tolist() == [used, used]


def test_coins_decide_stochastic_dispatch_alike_live_and_simulated() -> None:
    assert simulated(REQUESTS, "device", 0.5, PACES)["stochastic"].used.tolist() == [False, True]
    assert simulated(REQUESTS, "server", 0.5, PACES)["stochastic"].first_s == pytest.approx([0.3, 0.41])


def test_reductions_are_of_the_requests_that_are_kept_and_shares_of_all_tokens() -> None:
    used = np.array([True, False, False])
    live = {"ours": Times(np.array([0.3, 0.5, 9.0]), used), "stochastic": Times(np.array([0.5, 0.5, 9.0]), ~used)}
    other = {"ours": Times(np.array([0.2, 0.5, 9.0]), used), "stochastic": Times(np.array([0.5, 0.5, 9.0]), used)}
    figures = beside(live, other, np.array([True, True, False]), [10, 20, 70])
    assert (figures["reduction_mean"], figures["simulated_mean"], figures["difference"]) == (0.2, 0.3, -0.1)
    assert figures["ttft_ms"]["live"]["ours"] == {"mean": 400.0, "p99": 498.0}
    assert figures["share"]["live"] == {"ours": 0.1, "stochastic": 0.9}
    assert figures["left_out"] == 1


class Answering:
    """A fake link whose server answers at once, on a thread of its own."""

    def ask(self, ask: m.Ask, on_event: OnEvent) -> RemoteRequest:
        request = cast(RemoteRequest, object())
        events = (m.Queued(1, 0, 0), m.Tokens(1, 0, (7,)), m.Finished(1, "end", m.Usage(1, 0, 1, 0)))

        def answer() -> None:
            for event in events:
                on_event(request, event)

        threading.Thread(target=answer).start()
        return request


def test_only_tokens_are_delayed_and_what_follows_them() -> None:
    link = DelayedLink(cast(Link, Answering()))
    link.delay_s = DELAY_S
    came: list[tuple[RequestEvent, float]] = []
    ended = threading.Event()
    began = time.monotonic()

    def receive(_: RemoteRequest, event: RequestEvent) -> None:
        came.append((event, time.monotonic() - began))
        if isinstance(event, m.Finished):
            ended.set()

    link.ask(m.Ask(1, "?", True, 0, 8, 8), receive)
    assert ended.wait(30)
    assert [type(event) for event, _ in came] == [m.Queued, m.Tokens, m.Finished]
    assert link.arrived_s is not None
    assert max(came[0][1], link.arrived_s) < came[1][1]
    assert came[1][1] >= DELAY_S
    link.forget()
    assert link.arrived_s is None


@pytest.mark.parametrize(("coin", "starts"), [(0.1, "device"), (0.9, "server")])
def test_a_live_race_is_timed_to_its_first_token(serve: Serve, tmp_path: Path, coin: float, starts: str) -> None:
    served = serve()
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        setting = Setting(LocalSource(FakeEngine(), CHATML), DelayedLink(link))
        dispatch = Dispatch(setting, "device", 0.5, tmp_path / "figures.json")
        asked = Asked("Write.\nA poem.", 60, DELAY_S, coin)
        dispatch.race_stochastic(asked)
        dispatch.race_ours(asked)
    alone, ours = dispatch.stochastic[0], dispatch.ours[0]
    assert [side for side, started in alone.started.items() if started] == [starts]
    assert alone.first_s >= (DELAY_S if starts == "server" else 0.0)
    assert ours.started["server"]  # which is not spared


def test_parts_and_data_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match=r"no part lives\. Its parts: simulation, handover, live, live_server\."):
        disco.run(Namespace(data=tmp_path, only="lives", quick=True, threads=1))
    with pytest.raises(CannotRun, match="under --data DIR"):
        disco.run(Namespace(data=None, only="live", quick=True, threads=1))
