"""What the benchmark of handed over answers says of their quality."""

from scripts.benchmarks.disco_quality import Answered, Moved, figures

REFERENCE = "red green blue black"
OWN = {"better": "red green blue white", "worse": "red white"}


def answered(to_better: str, to_worse: str) -> Answered:
    moved = {"better": [Moved(to_better, OWN["worse"])], "worse": [Moved(to_worse, OWN["better"])]}
    return Answered(REFERENCE, OWN, moved)


def test_moved_answers_are_compared_with_each_side_on_its_own() -> None:
    found = figures([answered("red green blue white", "red white"), answered("red green blue black", "grey")])
    assert found["better"]["f1"] == 0.75
    assert found["worse"]["f1"] == 0.3333
    assert found["to_better"]["f1"] == 0.875
    assert found["to_worse"]["f1"] == 0.1667
    assert found["moved"]["f1"] == 0.5208
    assert found["difference"]["moved_over_worse"]["f1"]["mean"] == 0.1875
    assert found["difference"]["better_over_worse"]["f1"]["low"] == 0.4167
    # As good as the reference is above both sides, and "grey" below both.
    assert found["bound"]["f1"] == 0.5
    assert found["not_below"]["f1"] == 0.75
    assert found["answers"] == 2
