"""How long the device waits for a lost connection to come back."""

from device_app.companion.dispatch.events import Begin, Token
from device_app.companion.dispatch.interruption import Interruption
from device_app.companion.dispatch.migration import Migration
from shared.side import Side
from tests.racing import terms


def written_by(side: Side) -> tuple[Migration[str], Interruption[str]]:
    migration: Migration[str] = Migration(terms(), side)
    return migration, Interruption(migration)


def test_nobody_waits_for_a_moment_that_has_passed_while_the_device_writes() -> None:
    migration, interruption = written_by("device")
    interruption.lost(0.0)
    assert interruption.until is not None
    assert interruption.passed(interruption.until, connected=False) == []
    assert interruption.until is None
    assert interruption.receive(Token("device", 0, 0, "a")) == []
    assert (migration.side, migration.buffer.count) == ("device", 1)


def test_the_device_that_got_ready_goes_on_where_the_server_is_not_back_in_time() -> None:
    migration, interruption = written_by("server")
    interruption.receive(Token("server", 0, 0, "a"))
    list(migration.buffer.due(0.0))
    assert [type(command) for command in interruption.lost(0.0)] == [Begin]
    assert interruption.lost(0.1) == interruption.receive(Token("device", 1, 1, "b")) == []
    assert not migration.moves
    interruption.passed(interruption.until or 0.0, connected=False)
    assert (migration.moves, interruption.until) == ([(1, "device")], None)
