"""Connections without a token are limited per address and in total; the oldest is closed first, and file descriptors
never run out.
"""

import json
import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.monitoring.log_rate import MOST_KINDS, LogRateLimit
from cloud_server.serving.descriptors import FOR_FILES, DescriptorBudget, budget
from cloud_server.serving.gate import SILENT_S, Gate, household
from tests.companion import Phone, Serve


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
    ],
)
def test_an_address_is_what_one_person_has(host: str, counted: str) -> None:
    assert household(host) == counted


def test_who_was_silent_longest_goes() -> None:
    gate = Gate(6, 2)
    assert [gate.enter(number, "a", 0.0) for number in range(4)] == [[]] * 4, "a burst"
    assert gate.enter(4, "a", SILENT_S) == [0, 1, 2]
    assert gate.enter(5, "b", SILENT_S) == []
    gate.leave(3)
    gate.leave(3)
    assert gate.enter(6, "a", 1.5 * SILENT_S) == []


def test_of_too_many_in_all_the_address_that_has_most_loses_one() -> None:
    gate = Gate(4, 4)
    assert [gate.enter(number, address, 0.0) for number, address in enumerate("baaa")] == [[]] * 4
    assert gate.enter(4, "c", 0.0) == [1]
    assert gate.enter(5, "a", 0.0) == [2]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.sampled_from("abcd"), st.floats(0, 0.4)), max_size=99))
def test_no_more_than_may_wait(steps: list[tuple[bool, int, str, float]]) -> None:
    gate, waiting, now = Gate(10, 4), dict[int, tuple[str, float]](), 0.0
    for enters, number, address, seconds in steps:
        now += seconds
        if enters and number not in waiting:
            waiting[number] = address, now
            for going in gate.enter(number, address, now):
                assert going != number or len(waiting) > 10
                del waiting[going]
            silent = [each for each, since in waiting.values() if each == address and now - since >= SILENT_S]
            assert len(silent) <= 4
        elif not enters:
            gate.leave(number)
            waiting.pop(number, None)
        assert len(gate) == len(waiting) <= 10


@pytest.mark.parametrize(
    ("limit", "opened", "shared"),
    [
        (1 << 20, 50, DescriptorBudget(2_000, 2_048)),
        (1024, 50, DescriptorBudget(423, 423)),
        (256, 40, DescriptorBudget(44, 44)),
        (64, 60, DescriptorBudget(4, 4)),
    ],
)
def test_descriptors_are_shared_out(limit: int, opened: int, shared: DescriptorBudget) -> None:
    assert budget(limit, opened, 2_000, 2_048) == shared
    if limit > 200:
        assert shared.devices + shared.arriving + opened + FOR_FILES <= limit


def test_what_is_logged_too_often_is_counted() -> None:
    sparing = LogRateLimit(2)
    assert [sparing.left_out("a", at) for at in (0, 1, 2, 3)] == [0, 0, None, None]
    assert sparing.left_out("b", 3) == 0
    assert [sparing.left_out("a", at) for at in (61, 62)] == [2, 0]


def test_of_many_kinds_the_oldest_is_forgotten() -> None:
    sparing = LogRateLimit(1)
    assert all(sparing.left_out(kind, 0) == 0 for kind in range(MOST_KINDS + 1))
    assert sparing.left_out(MOST_KINDS, 0) is None
    assert sparing.left_out(0, 0) == 0
    assert len(sparing._windows) == MOST_KINDS


def test_many_that_say_nothing_keep_nobody_out(serve: Serve) -> None:
    served = serve()
    token = served.token()
    with ExitStack() as stack:
        for _ in range(700):
            stack.enter_context(socket.create_connection(("127.0.0.1", served.port)))
        started = time.monotonic()
        Phone(served.url, token).connects()
        assert time.monotonic() - started < 4  # sooner than strangers are given up
        time.sleep(SILENT_S)
        with pytest.raises(ConnectionError), socket.create_connection(("127.0.0.1", served.port)) as stranger:
            stranger.sendall(b"no request\r\n\r\n")
            if not stranger.recv(100):
                raise ConnectionError
        assert len(served.server.arrivals) <= 128
        assert served.server.arrivals.cut >= 700 - 128
    deadline = time.monotonic() + 10
    while len(served.server.arrivals) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(served.server.arrivals) == 0


_SHORT_OF_DESCRIPTORS = """
import asyncio, json, logging, resource, sys
from pathlib import Path
from cloud_server.access.tokens import TokenFile
from models.fake import FakeEngine
from tests.companion import companion
resource.setrlimit(resource.RLIMIT_NOFILE, (120, 120))
logging.basicConfig(stream=sys.stderr)
server = companion(TokenFile(Path(sys.argv[1])), FakeEngine(), {})
files = [open("/dev/null") for _ in range(40)]
server_budget = server._share_descriptors
def less():
    server_budget()
    files.extend(open("/dev/null") for _ in range(55))
server._share_descriptors = less
def ready(host, port, metrics):
    print(json.dumps(port), flush=True)
    asyncio.get_running_loop().call_later(4, server.end)
asyncio.run(server.run(ready, signals=False))
"""


@pytest.mark.long
def test_without_a_descriptor_it_pauses_and_says_so_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SHORT_OF_DESCRIPTORS, str(tmp_path / "tokens.json")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    port = json.loads(process.stdout.readline())
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        _, log = process.communicate(timeout=60)
    assert process.returncode == 0
    assert 1 <= log.count("out of system resource") <= 2
    assert len(log) < 20_000


def test_the_limit_is_raised_to_what_the_system_allows(serve: Serve) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard // 2, hard))
    try:
        serve()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
