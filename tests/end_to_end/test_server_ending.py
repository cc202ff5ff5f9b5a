"""How a server ends: running answers are finished by the server or by the device."""

import http.client
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from shared.protocol import messages as m
from tests.companion import Phone
from tests.companion_process import CompanionProcess
from tests.faults import DANUBE, closing, free_port, until
from tests.racing import TEXT, Raced, linked


def ready(process: CompanionProcess) -> int:
    probe = http.client.HTTPConnection("127.0.0.1", process.metrics_port, timeout=30)
    try:
        probe.request("GET", "/readyz")
        return probe.getresponse().status
    finally:
        probe.close()


def test_sigterm_under_load_lets_answers_end(tmp_path: Path) -> None:
    process = CompanionProcess(tmp_path, 0.01, serve={"metrics_port": free_port(), "drain_s": 20.0})
    phones = [Phone(process.url, process.token(f"phone {number}")).connects() for number in range(6)]
    asked = [phone.asks(DANUBE) for phone in phones]
    until(lambda: phones[0].reads() and phones[0].text(asked[0]))
    assert ready(process) == 200
    process.terminate()
    until(lambda: phones[0].reads() and any(isinstance(event, m.Goaway) for event in phones[0].inbox))
    assert ready(process) == 503
    with pytest.raises(InvalidStatus, match="503"):
        Phone(process.url, process.token("late")).connects()

    def ends(phone: Phone, request: int) -> int | None:
        assert isinstance(phone.until_ended(request), m.Finished)
        assert phone.text(request) == TEXT
        while not any(isinstance(event, m.Goaway) for event in phone.inbox):  # it may come after the answer's end
            phone.reads()
        return closing(phone)[1]

    with ThreadPoolExecutor(len(phones)) as pool:  # a device that reads the last messages late is cut off
        assert [*pool.map(ends, phones, asked)] == [m.CloseCode.RESTARTING] * len(phones)
    assert process.ended() == 0


@pytest.mark.parametrize(("drain_s", "origin"), [(20.0, "cloud"), (0.2, "migrated")])
def test_sigterm_over_a_link_the_answer_ends_there_if_there_is_time(
    tmp_path: Path, drain_s: float, origin: str
) -> None:
    process = CompanionProcess(tmp_path, 0.02, serve={"drain_s": drain_s})
    with linked(process.url, process.token()) as link:
        assert link.wait(30).connected
        raced = Raced(link, acting=lambda raced: process.terminate() if len(raced.at) == 5 else None)
        assert (raced.text, raced.report.origin) == (TEXT, origin)
        assert process.ended() == 0
        until(lambda: link.state.cause == "unreachable")


def test_sigterm_with_a_device_that_broke_the_protocol(tmp_path: Path) -> None:
    process = CompanionProcess(tmp_path)
    phone = Phone(process.url, process.token()).connects()
    phone.asks(DANUBE, credit=3)
    phone.socket.send(b"nonsense")
    assert closing(phone)[1] == m.CloseCode.MALFORMED
    process.terminate()
    assert process.ended() == 0
