"""The engine's memory is counted in KV cache cells, one per token.

A fork takes none, however sequences grow, are cut and forked.
"""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.kv import Cells
from shared.errors import ContextFull

CAPACITY, SEQUENCES = 12, 3
sequences = st.integers(0, SEQUENCES - 1)
steps = st.one_of(
    st.tuples(st.just("append"), sequences, st.integers(0, 6)),
    st.tuples(st.just("cut"), sequences, st.integers(0, 12)),
    st.tuples(st.just("fork"), sequences, sequences),
)


@given(st.lists(steps, max_size=20))
def test_there_is_room_for_what_no_sequence_holds(taken: list[tuple[str, int, int]]) -> None:
    cells, held, fresh = Cells(CAPACITY, SEQUENCES), [list[int]() for _ in range(SEQUENCES)], 0
    for what, sequence, number in taken:
        if what == "append":
            with suppress(ContextFull):
                cells.require(number)
                cells.append(sequence, list(range(number)))
                held[sequence] += range(fresh, fresh + number)
                fresh += number
        elif what == "cut":
            cells.truncate(sequence, number)
            del held[sequence][number:]
        else:
            cells.share(sequence, number)
            held[number] = held[sequence].copy()
        free = CAPACITY - len(set().union(*held))
        assert [cells.length(sequence) for sequence in range(SEQUENCES)] == list(map(len, held))
        cells.require(free)
        with pytest.raises(ContextFull):
            cells.require(free + 1)
