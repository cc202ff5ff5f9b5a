"""The benchmark of answers that migrate between device and server: its figures of their quality."""

from scripts.benchmarks.disco_quality import Answered, Moved, figures

REFERENCE = "red green blue black"
OWN = {"better": "red green blue white", "worse": "red white"}


def answered(to_better: str, to_worse: str) -> Answered:
    moved = {"better": [Moved(to_better, OWN["worse"])], "worse": [Moved(to_worse, OWN["better"])]}
    return Answered(REFERENCE, OWN, moved)


def test_moved_answers_are_compared_with_each_side_on_its_own() -> None:
    quality = figures([answered("red green blue white", "red white"), answered("red green blue black", "grey")])
    assert quality["better"]["f1"] == 0.75
    assert quality["worse"]["f1"] == 0.3333
    assert quality["to_better"]["f1"] == 0.875
    assert quality["to_worse"]["f1"] == 0.1667
    assert quality["moved"]["f1"] == 0.5208
    assert quality["difference"]["moved_over_worse"]["f1"]["mean"] == 0.1875
    assert quality["difference"]["better_over_worse"]["f1"]["low"] == 0.4167
    # As good as the reference is above both sides, and "grey" below both.
    assert quality["bound"]["f1"] == 0.5
    assert quality["not_below"]["f1"] == 0.75
    assert quality["answers"] == 2
