"""The recorded costs of an answer, and of attempts that were discarded before it."""

from shared.trace import Trace


def test_what_was_begun_in_vain_is_one_step_and_none_of_its_tokens_count() -> None:
    trace = Trace()
    for name in ("retrieve", "prefill", "decode"):
        with trace.step(name):
            pass
    trace.tokens_prefilled, trace.tokens_cached, trace.segments_cached, trace.tokens_decoded = 30, 20, 2, 5
    trace.first_token()
    steps = dict(trace.steps)
    trace.begin_again()
    with trace.step("prefill"):
        trace.tokens_prefilled += 7
    assert [name for name, _ in trace.steps] == ["retrieve", "in vain", "prefill"]
    assert dict(trace.steps)["in vain"] == steps["prefill"] + steps["decode"]
    assert (trace.tokens_prefilled, trace.tokens_cached, trace.segments_cached, trace.tokens_decoded) == (7, 0, 0, 0)
    assert trace.first_token_ms is None
    trace.first_token()
    trace.begin_again()
    first, second = trace.discarded
    assert (first.tokens_prefilled, first.tokens_cached, second.tokens_prefilled) == (30, 20, 7)
    assert [len(part.steps) for part in trace.all] == [2, 1, 3]
    assert not first.discarded
    assert not second.discarded


def test_steps_of_one_name_count_together_wherever_they_stand() -> None:
    trace = Trace(steps=[("prefill", 30.0), ("search", 200.0), ("prefill", 12.0)])
    assert (trace.step_ms("prefill"), trace.step_ms("decode")) == (42.0, 0.0)
