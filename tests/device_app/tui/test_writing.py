"""An answer while it is written: what is shown when, and which turns its question sees."""

from hypothesis import given
from hypothesis import strategies as st

from device_app.commands.turns import TurnStore
from device_app.tui.edge.writing import HELD_S, SHOW_EVERY_S, TYPING_S, Writing
from storage.conversations import ConversationStore


def test_pieces_are_shown_together() -> None:
    writing = Writing()
    seen = [writing.add("ab", now) for now in (100.0, 100.01, 100.11, 100.8, 101.0, 101.04)]
    assert seen == ["ab", "", "abab", "ab", "ab", ""]
    assert writing.text == "ab" * 6


def test_while_somebody_types_pieces_wait_but_not_for_long() -> None:
    writing = Writing()
    writing.add("a", 100.0)
    assert writing.add("b", 100.2, typed_at=100.2 - TYPING_S / 2) == ""
    assert writing.add("c", 100.3, typed_at=100.3 - TYPING_S) == "bc"
    assert writing.add("d", 100.3 + HELD_S, typed_at=100.3 + HELD_S) == "d"


@given(st.lists(st.tuples(st.text(max_size=5), st.floats(0, 2)), max_size=30))
def test_nothing_is_shown_twice_or_out_of_order(pieces: list[tuple[str, float]]) -> None:
    writing, now, shown = Writing(), 100.0, ""
    for text, later in pieces:
        now += later
        shown += writing.add(text, now)
    assert writing.text == "".join(text for text, _ in pieces)
    assert writing.text.startswith(shown)
    assert writing.add("", now + 2 * SHOW_EVERY_S) == writing.text[len(shown) :]


def test_a_question_sees_what_was_before_the_turn_it_replaces(store: ConversationStore) -> None:
    first = store.begin("One?")
    second = store.begin("Two?", first.conversation_id)
    starts: list[object] = []
    seen = TurnStore(store.database, second.id, starts)  # type: ignore[arg-type]
    assert [turn.question for turn in seen.turns(first.conversation_id)] == ["One?"]
    turn = seen.begin("Two, again?", first.conversation_id)
    assert starts == [turn]
    assert [turn.question for turn in store.turns(first.conversation_id)] == ["One?", "Two?", "Two, again?"]
    seen.write(turn.id, "Two.", {"found": True})
    assert [turn.question for turn in store.turns(first.conversation_id)] == ["One?", "Two, again?"]
