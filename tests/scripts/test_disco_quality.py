"""The benchmark of answers that migrate between device and server: the answers, and the figures of their quality."""

import math
from collections.abc import Mapping

from device_app.inference.local import LocalSource
from models.fake import FakeEngine
from scripts.benchmarks.disco_quality import MOST_PROMPT, ROWS, SHARES, Answered, Moved, Request, answers, figures
from shared.prompt import CHATML, turn

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


def fakes() -> dict[str, LocalSource]:
    """Return two sides that write a request's first line, the worse one in capitals."""
    engines = {"better": FakeEngine(sequences=ROWS), "worse": FakeEngine(sequences=ROWS, shouts=True)}
    return {name: LocalSource(engine, CHATML) for name, engine in engines.items()}


def request(line: str) -> Request:
    return Request(f"{line}\nSay the first line.", f"reference of {line}")


def computed(sides: Mapping[str, LocalSource]) -> int:
    return sum(side.engine.computed for side in sides.values())


def test_answers_to_several_requests_are_handed_over_after_each_share() -> None:
    lines = [f"the herons of pond number {number} stand in the reeds" for number in range(6)]
    sides = fakes()
    groups = list(answers(map(request, lines), sides))
    assert [len(group) for group in groups] == [4, 2]
    for line, answered in zip(lines, [each for group in groups for each in group], strict=True):
        assert answered.reference == f"reference of {line}"
        assert answered.own == {"better": line, "worse": line.upper()}
        counts = [math.ceil(share * len(line)) for share in SHARES]
        assert answered.moved["worse"] == [Moved(line[:count] + line[count:].upper(), line) for count in counts]
        assert answered.moved["better"] == [
            Moved(line[:count].upper() + line[count:], line.upper()) for count in counts
        ]
    assert not any(side.engine.length(row) for side in sides.values() for row in range(ROWS))


def test_what_a_side_would_write_itself_is_not_computed_again() -> None:
    same, sides = "1234 5678 9012 3456 7890", fakes()
    [[answered]] = answers([request(same)], sides)
    assert [moved.text for moved in answered.moved["better"] + answered.moved["worse"]] == [same] * 2 * len(SHARES)
    prompt = len(sides["better"].tokens(turn(request(same).text).tail))
    assert computed(sides) == 2 * (prompt + len(same))


def test_requests_with_short_answers_and_those_too_long_are_left_out() -> None:
    long = "a line that has more tokens than the required twenty"
    requests = [request("Too short."), request(long), Request("x" * MOST_PROMPT, "unused")]
    [[answered]] = answers(requests, fakes())
    assert answered.reference == f"reference of {long}"
