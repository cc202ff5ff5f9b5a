"""Which cached states a prompt may use, given which self-tests of the engine's exactness have failed."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from device_app.cache.states.tree import QKVTree
from device_app.inference.local import LocalSource
from models.verdict import Check, Verdict
from shared.prompt import CHATML, build
from shared.trace import Trace
from shared.types import StoredPassage
from storage.blobs import Blobs
from storage.counters import Counters
from storage.database import Database
from storage.kv_slices import KVSlices
from tests.inexact import Inexact

PASSAGES = [
    StoredPassage(number, text, 0, None, None, number, f"Note {number}", "note", None, (), "/note")
    for number, text in enumerate(("Petra has the blue drill.", "The ferry leaves at 7:40."))
]

SERVED: Mapping[Check | None, tuple[int, int]] = {
    None: (3, 3),
    "slices": (0, 0),
    "passes": (0, 0),
    "reordered": (0, 0),
    "rows": (3, 0),
    "rollback": (3, 3),
}
"""By the self-test that fails: how many segments come from cached states, for a prompt of one row and for one of two
rows.
"""


@pytest.mark.parametrize(("check", "served"), SERVED.items())
@pytest.mark.parametrize("rows", [1, 2])
def test_a_prompt_gets_the_states_that_are_exact(
    check: Check | None, served: tuple[int, int], rows: int, tmp_path: Path
) -> None:
    database, engine = Database(tmp_path / "jackdaw.db"), Inexact()
    engine.restrict(Verdict(frozenset({check} if check else ())))
    source = LocalSource(engine, CHATML)
    tree = QKVTree(KVSlices(database), Blobs(tmp_path / "kv"), Counters(database), 10**9, "lfu")
    prompt = build("Which?", PASSAGES, CHATML)
    prompt = prompt.joined() if rows == 1 else prompt
    expected, trace = source.prefilled(prompt, Trace(), None), Trace()
    source.prefill(prompt, tree)
    assert [list(logits) for logits in source.prefilled(prompt, trace, tree)] == [list(logits) for logits in expected]
    assert trace.segments_cached == served[rows - 1]
