"""The server's pairing code is valid for five tries, ten minutes and one device, with any number of processes and
connections.
"""

import asyncio
import multiprocessing
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cloud_server.access.pairing import TRIES, PairingFile, Record, State, WrongProof
from cloud_server.access.tokens import TokenFile, new_token
from cloud_server.serving import pairing_desk
from cloud_server.serving.pairing_desk import MOST_AT_ONCE, PairingDesk
from cloud_server.sessions.connection import Closed
from shared.errors import StoreCorrupt
from shared.pairing import exchange as x
from shared.protocol.codec import Frame
from tests.pairing import Clock

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PIN = "ab" * 32
RECORD = Record("id", b"key", "", NOW)


@pytest.fixture
def file(tmp_path: Path) -> PairingFile:
    return PairingFile(tmp_path / "pairing.json")


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens.json")


@pytest.mark.parametrize(
    ("record", "later", "state"),
    [
        (RECORD, timedelta(0), "open"),
        (RECORD, timedelta(minutes=9, seconds=59), "open"),
        (RECORD, timedelta(minutes=10), "expired"),
        (RECORD, timedelta(days=400), "expired"),
        (RECORD, timedelta(seconds=-1), "expired"),  # a clock that was set back makes no code last longer
        (replace(RECORD, tries_left=1), timedelta(0), "open"),
        (replace(RECORD, tries_left=0), timedelta(0), "tried"),
        (replace(RECORD, paired="phone", tries_left=0), timedelta(days=1), "paired"),
    ],
)
def test_how_a_code_stands(record: Record, later: timedelta, state: State) -> None:
    assert record.state(NOW + later) == state


def guess(file: PairingFile) -> int | None:
    """Try a wrong code; return how many tries are left, None if no code is open."""
    try:
        file.attempt(lambda _: False, NOW)
    except WrongProof as wrong:
        return wrong.tries_left
    return None


def test_five_wrong_tries_end_it_for_the_right_code_too(file: PairingFile) -> None:
    file.open(PIN, "", NOW)
    assert [guess(file) for _ in range(7)] == [4, 3, 2, 1, 0, None, None]
    assert file.attempt(lambda _: True, NOW) is None
    kept = file.read()
    assert kept and (kept.key, kept.state(NOW)) == (b"", "tried")


def test_a_right_try_takes_none(file: PairingFile) -> None:
    file.open(PIN, "", NOW)
    for _ in range(TRIES + 1):
        assert file.attempt(lambda _: True, NOW)
    assert guess(file) == TRIES - 1


def test_of_fifty_guesses_at_once_five_are_compared(file: PairingFile) -> None:
    record, _ = file.open(PIN, "", NOW)
    compared: list[bytes] = []

    def proves(key: bytes) -> bool:
        compared.append(key)
        return False

    def attempt(_: int) -> None:
        with pytest.raises(WrongProof):
            while file.attempt(proves, NOW):
                pass
            raise WrongProof(0)

    with ThreadPoolExecutor(16) as many:
        list(many.map(attempt, range(50)))
    assert compared == [record.key] * TRIES


def guesses(path: Path, results: "multiprocessing.Queue[int | None]") -> None:
    for _ in range(TRIES):
        results.put(guess(PairingFile(path)))


def test_processes_share_the_tries(file: PairingFile, tmp_path: Path) -> None:
    file.open(PIN, "", NOW)
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=guesses, args=(tmp_path / "pairing.json", results)) for _ in range(3)]
    for process in processes:
        process.start()
    left = [results.get(timeout=60) for _ in range(3 * TRIES)]
    for process in processes:
        process.join()
    assert sorted(index for index in left if index is not None) == [0, 1, 2, 3, 4]


def test_what_is_kept_is_private_and_is_not_the_code(file: PairingFile, tmp_path: Path) -> None:
    _, secret = file.open(PIN, "phone", NOW)
    kept = tmp_path / "pairing.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert str(secret).encode() not in kept.read_bytes()
    assert file.read() == Record(file.read().id, x.derived(secret, PIN), "phone", NOW)  # type: ignore[union-attr]


def test_a_new_code_withdraws_the_old_one(file: PairingFile, tokens: TokenFile) -> None:
    old, _ = file.open(PIN, "", NOW)
    new, _ = file.open(PIN, "", NOW)
    assert file.complete(old.id, "late", new_token(), tokens, NOW) is None
    file.withdraw(old.id)
    assert file.read() == new
    file.withdraw(new.id)
    assert file.read() is None
    assert tokens.entries() == []


def test_one_device_is_paired_and_no_other(file: PairingFile, tokens: TokenFile) -> None:
    record, _ = file.open(PIN, "", NOW)
    got = [new_token() for _ in range(20)]

    def completes(token: str) -> bool:
        return file.complete(record.id, "phone", token, tokens, NOW) is not None

    with ThreadPoolExecutor(16) as many:
        won = list(many.map(completes, got))
    assert sum(won) == 1
    assert [tokens.check(token) is not None for token in got] == won
    assert file.attempt(lambda _: True, NOW) is None


@pytest.mark.parametrize(
    ("chosen", "said", "names"),
    [
        ("", "phone", ["phone", "phone-2", "phone-3"]),
        ("anna", "phone", ["anna", "anna-2", "anna-3"]),
        ("", "\x1b[2J<b>\n", ["2Jb", "2Jb-2", "2Jb-3"]),
        ("", "///", ["device", "device-2", "device-3"]),
        ("", "n" * 64, [f"{'n' * 60}{end}" for end in ("", "-2", "-3")]),
    ],
)
def test_what_a_device_is_called(
    file: PairingFile, tokens: TokenFile, chosen: str, said: str, names: Sequence[str]
) -> None:
    for _ in names:
        record, _secret = file.open(PIN, chosen, NOW)
        assert file.complete(record.id, said, new_token(), tokens, NOW)
    assert [entry.name for entry in tokens.entries()] == names
    for entry in tokens.entries():
        tokens.revoke(entry.name)


def test_over_in_the_middle_is_over(file: PairingFile, tokens: TokenFile) -> None:
    record, _ = file.open(PIN, "", NOW)
    assert file.attempt(lambda _: True, NOW)
    assert file.complete(record.id, "phone", new_token(), tokens, NOW + timedelta(minutes=10)) is None
    assert tokens.entries() == []


def test_a_file_that_is_broken_is_named(file: PairingFile, tmp_path: Path) -> None:
    (tmp_path / "pairing.json").write_text("{")
    with pytest.raises(StoreCorrupt, match=r"pairing\.json cannot be read"):
        file.read()
    assert not PairingDesk(file, TokenFile(tmp_path / "tokens.json"), Clock()).is_open()


class Device:
    """A connection to a device, which replies to each message with the next frame of `says`; None keeps silent."""

    def __init__(self, *says: bytes | None) -> None:
        self.says = list(says)
        self.inbox: list[x.FromServer] = []
        self.cut = False

    async def receive(self) -> Frame:
        if not self.says:
            raise Closed
        said = self.says.pop(0)
        if said is None:
            await asyncio.sleep(3600)
        assert said is not None
        return said

    async def send(self, frame: Frame) -> None:
        said = x.from_server(frame)
        assert said is not None
        self.inbox.append(said)

    def send_now(self, frames: Sequence[Frame]) -> bool:
        return False

    async def close(self, code: int) -> None:
        pass

    def abort(self) -> None:
        self.cut = True


WRONG = x.encoded(x.Proof(b"n" * 32, b"p" * 32))


@pytest.mark.parametrize(
    ("says", "reason", "tries_left"),
    [
        ((WRONG,), "wrong", 4),
        ((b"\x00",), "version", 5),
        ((x.encoded(x.Kept("phone")),), "version", 5),
        ((b'{"type":"proof","nonce":"","proof":""}',), "version", 5),
        ((b" " * 200_000,), "version", 5),
        ((), "", 5),
    ],
)
def test_who_does_not_prove_it_gets_no_token(
    file: PairingFile, tokens: TokenFile, says: Sequence[bytes], reason: str, tries_left: int
) -> None:
    file.open(PIN, "", Clock()())
    device = Device(*says)
    asyncio.run(PairingDesk(file, tokens, Clock()).serve(device))
    assert not any(isinstance(message, x.Grant | x.Done) for message in device.inbox)
    assert [message.reason for message in device.inbox if isinstance(message, x.Refused)] == [reason] * bool(reason)
    assert (file.read().tries_left, tokens.entries()) == (tries_left, [])  # type: ignore[union-attr]


def test_one_that_says_nothing_is_cut_and_takes_no_try(
    file: PairingFile, tokens: TokenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairing_desk, "EXCHANGE_S", 0.05)
    file.open(PIN, "", Clock()())
    device = Device(None)
    asyncio.run(PairingDesk(file, tokens, Clock()).serve(device))
    assert device.cut
    assert file.read().tries_left == TRIES  # type: ignore[union-attr]


def test_few_are_paired_with_at_once(file: PairingFile, tokens: TokenFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing_desk, "EXCHANGE_S", 0.2)
    file.open(PIN, "", Clock()())
    desk, devices = PairingDesk(file, tokens, Clock()), [Device(None) for _ in range(MOST_AT_ONCE + 2)]

    async def all_at_once() -> None:
        await asyncio.gather(*map(desk.serve, devices))

    asyncio.run(all_at_once())
    refusals = [message for device in devices for message in device.inbox if isinstance(message, x.Refused)]
    assert refusals == [x.Refused("busy")] * 2
