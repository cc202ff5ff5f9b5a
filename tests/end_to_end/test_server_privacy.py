"""What is sent between a device and its server, and whether the answer's record of sent data is right."""

import http.client
import logging
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from websockets.exceptions import InvalidStatus

from cloud_server.sessions import client as server_client
from device_app.companion.dispatch.race_report import Question
from device_app.companion.link.credentials import Credentials
from models.sampling import SamplingSettings
from tests.companion import Phone, Serve, Slow, dial
from tests.companion_process import CompanionProcess
from tests.faults import DANUBE, closing, free_port, until
from tests.network.proxy import Proxy
from tests.racing import DEAR_SERVER, QUESTION, TEXT, Raced, linked, terms

PRIVATE = "the-pin-of-my-card-is-4711"


def test_nothing_that_is_kept_or_said_shows_a_token_or_a_text(
    serve: Serve, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(logging.getLogger("cloud_server"), "propagate", True)  # the command line's own is elsewhere
    caplog.set_level(logging.DEBUG, "cloud_server")
    monkeypatch.setattr(server_client, "SEND_S", 0.2)
    served = serve(Slow(0.002), serve={"metrics_port": free_port()})
    token, said = served.token(), []
    question = Question(f"Which countries does the Danube flow through, if {PRIVATE}?", SamplingSettings(), 200, 1)
    with linked(served.url, token) as link, link.watched(lambda state: said.append(repr(state))):
        assert link.wait(30).connected
        raced = Raced(link, question=question, acting=lambda raced: served.cuts() if len(raced.at) == 9 else None)
        said.append(repr(raced.report.reasons))
    nonsense: list[bytes | str] = [
        PRIVATE.encode(),
        PRIVATE,
        f'{{"type":"hello","versions":["{PRIVATE}"],"vocabulary":1}}',
        f'{{"type":"{PRIVATE}"}}',
        msgspec.msgpack.encode([1, 1, PRIVATE * 400, True, 1, 1, 1]),
        msgspec.msgpack.encode([1, 1, PRIVATE, PRIVATE, 1, 1, 1]),
        msgspec.msgpack.encode([1, PRIVATE, PRIVATE, True, 1, 1, 1]),
        msgspec.msgpack.encode({"question": PRIVATE}),
        b"\xff" + PRIVATE.encode(),
    ]
    for frame in nonsense:
        phone = Phone(served.url, token).connects()
        phone.asks(PRIVATE, credit=2)
        phone.socket.send(frame)
        message, code = closing(phone)
        said.append(repr((message, code)))
    phone = Phone(served.url, token).connects()
    phone.asks(PRIVATE * 200, max_tokens=200, passages=0, accepted=tuple(PRIVATE.encode()))
    lazy = [phone.asks(PRIVATE + " Danube") for _ in range(2)]
    assert lazy
    until(served.server.metrics.cut_slow._value.get)
    with pytest.raises(InvalidStatus) as refused:
        dial(served.url, token + "0")
    said.append(repr((refused.value.response, refused.value.response.headers, refused.value.response.body)))
    said.append(metrics(served.metrics_port))
    assert "jackdaw_protocol_errors_total 9.0" in said[-1]
    served.end()
    said += [repr(vars(record)) + record.getMessage() for record in caplog.records]
    assert any("broke the protocol" in message for message in said)
    secrets = (token, token[17:], PRIVATE, "Danube", raced.race._link._session.id or "-")
    for line in said:
        assert not [secret for secret in secrets if secret in line], line


def test_a_servers_own_log_at_its_most_talkative_shows_neither(tmp_path: Path) -> None:
    process = CompanionProcess(tmp_path, 0.005, serve={"drain_s": 0.1})
    token = process.token()
    question = replace(QUESTION, text=f"Which countries does the Danube flow through, if {PRIVATE}?")
    with linked(process.url, token) as link:
        assert link.wait(30).connected
        raced = Raced(link, question=question, acting=lambda raced: process.terminate() if len(raced.at) == 9 else None)
        assert raced.text == TEXT
        secrets = (token, token[17:], PRIVATE, "Danube", link._session.id or "-")
    with pytest.raises((InvalidStatus, OSError)):
        dial(process.url, token + "0")
    assert process.ended() == 0
    logged = process.log.read_text()
    assert "cloud_server" in logged
    assert not [secret for secret in secrets if secret in logged]


def test_what_holds_a_token_does_not_show_it() -> None:
    assert "jackdaw_1_2" not in repr(Credentials("wss://server.example/", "jackdaw_1_2"))


def metrics(port: int) -> str:
    probe = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        probe.request("GET", "/metrics")
        return probe.getresponse().read().decode()
    finally:
        probe.close()


def test_the_egress_ledger_is_what_went_over_the_wire(serve: Serve) -> None:
    served = serve(Slow(0.002))
    with Proxy(served.port) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected
        until(lambda: link.state.round_trip_s)
        before = proxy.sent
        for _ in range(4):
            raced = Raced(link)
            assert (raced.text, raced.report.origin) == (TEXT, "cloud")
            until(lambda: proxy.sent - before >= raced.report.sent_bytes)  # noqa: B023
            assert proxy.sent - before == raced.report.sent_bytes > len(DANUBE)
            before = proxy.sent


def test_a_ledger_counts_what_a_cut_took_along(serve: Serve) -> None:
    served = serve(Slow(0.003))
    with Proxy(served.port) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected
        until(lambda: link.state.round_trip_s)
        before = proxy.sent
        raced = Raced(link, acting=lambda raced: proxy.cut() if len(raced.at) in (10, 30) else None)
        assert (raced.text, raced.report.origin) == (TEXT, "cloud")
        assert proxy.connections == 3
        (client,) = served.server.sessions.all()
        until(lambda: not link._session.alive and not client.session.kept[0])  # the last acknowledgement is through
        assert before < proxy.sent <= before + raced.report.sent_bytes


def test_the_ledger_of_an_answer_that_moved_misses_the_last_acknowledgement_alone(serve: Serve) -> None:
    served = serve(Slow(0.005))
    with Proxy(served.port) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected
        until(lambda: link.state.round_trip_s)
        before = proxy.sent
        raced = Raced(link, engine=Slow(0.005), conditions=terms(DEAR_SERVER, rate=200.0))
        assert (raced.text, raced.report.origin) == (TEXT, "migrated")
        until(lambda: not link._session.alive)
        until(lambda: proxy.sent - before == raced.race._sides.sent_bytes)
        assert 0 <= raced.race._sides.sent_bytes - raced.report.sent_bytes <= 32
