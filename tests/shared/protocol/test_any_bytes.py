"""The decoders that the fuzzer tests, on random bytes of Hypothesis: any input from the other side gives a message or a
ProtocolError.
"""

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
