"""The fuzzer's targets, on Hypothesis's bytes: whatever the other side says, ours ends well."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.fuzzing import protocol


@pytest.mark.parametrize("target", protocol.TARGETS)
@settings(max_examples=300)
@given(data=st.binary(max_size=600))
def test_any_bytes_are_survived(target: Callable[[bytes], None], data: bytes) -> None:
    target(data)
