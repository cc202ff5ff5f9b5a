"""One run of background work: it yields each step, and stops between two steps when it is asked to."""

from collections.abc import Iterator

from device_app.ahead.work import GiveWay, Step, Stop, run_once


def step(number: int, tokens: int = 0) -> Step:
    return Step("predict", f"question {number}", "nobody asked", tokens, 0, 1.0)


def test_a_run_ends_when_the_work_has_come_to_its_end() -> None:
    steps: list[Step] = []
    report = run_once(lambda _: iter([step(1, 3), step(2, 4)]), Stop(), steps.append)
    assert list(report.steps) == steps == [step(1, 3), step(2, 4)]
    assert (report.stopped, report.tokens) == (None, 7)
    assert report.as_json()["steps"][1]["subject"] == "question 2"


def test_no_item_is_begun_once_there_is_a_reason_to_stop_and_the_work_is_closed() -> None:
    closed = []

    def work(give_way: GiveWay) -> Iterator[Step]:
        try:
            for number in range(9):
                yield step(number)
        finally:
            closed.append(give_way())

    reasons = iter([None, None, "a question came", None])
    report = run_once(work, Stop(lambda: next(reasons)))
    assert ([step.subject for step in report.steps], report.stopped) == (
        ["question 0", "question 1"],
        "a question came",
    )
    assert closed == [True]


def test_no_work_is_begun_at_all_where_there_is_a_reason_before() -> None:
    assert run_once(lambda _: iter([step(1)]), Stop(lambda: "paused")).steps == ()
