"""The benchmark of the caches (PerCache): how it counts predictions, and what is stored for each of its simulated
users.
"""

from collections.abc import Sequence

import pytest

from device_app.ahead.prediction import Predicted
from device_app.ahead.work import Step
from scripts.benchmarks.percache_prediction import so_many
from scripts.benchmarks.percache_users import Asked, User, about
from shared.types import Block, Document

STEP = Step.free("predict", "", "")
ONE, TWO = Predicted("Who?", ""), Predicted("When?", "")


@pytest.mark.parametrize(
    ("most", "expected"),
    [(1, [STEP, ONE]), (2, [STEP, ONE, STEP, TWO]), (9, [STEP, ONE, STEP, TWO, STEP])],
)
def test_steps_are_no_questions(most: int, expected: Sequence[Predicted | Step]) -> None:
    assert list(so_many(iter([STEP, ONE, STEP, TWO, STEP]), most)) == expected


def test_who_keeps_what_the_questions_are_about_keeps_nothing_else() -> None:
    documents = [Document(key, "note", key, (Block("text"),)) for key in ("a", "b", "c")]
    asked = (Asked("Who?", "me", frozenset({"b"})), Asked("When?", "now", frozenset({"b", "x"})))
    user = about(User("Ada", {"one": documents[:2], "other": documents[2:]}, asked))
    assert user.files == {"one": [documents[1]]}
    assert user.questions == asked
