"""A file of vectors with arbitrary bytes is either read, or refused with an error message."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.retrieval.imports.opening import open_sources
from shared.errors import UsageError

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss

NPY = b"\x93NUMPY\x01\x00v\x00"
FLAT = b"IxFI" + (4).to_bytes(4, "little")


@st.composite
def headers(draw: st.DrawFn) -> bytes:
    """An npy header of any shape and type, or a header of a flat index with any numbers, and some data."""
    numbers = st.integers(-(2**40), 2**40) | st.integers(0, 9)
    if draw(st.booleans()):
        shape = tuple(draw(st.lists(numbers, max_size=3)))
        kind = draw(st.sampled_from(["<f4", "<f2", ">f8", "|O", "<i8", "<c8", "|b1", "<f16", "oops"]))
        header = f"{{'descr': {kind!r}, 'fortran_order': {draw(st.booleans())}, 'shape': {shape}, }}".encode()
        return NPY + header.ljust(117) + b"\n" + draw(st.binary(max_size=80))
    count, values = draw(numbers), draw(numbers)
    rest = count.to_bytes(8, "little", signed=True) + bytes(17) + draw(st.binary(min_size=4, max_size=4))
    return FLAT + rest + values.to_bytes(8, "little", signed=True) + draw(st.binary(max_size=80))


@given(headers() | st.binary(max_size=60).map(NPY.__add__) | st.binary(max_size=60).map(FLAT.__add__) | st.binary())
def test_it_is_read_or_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, texts = Path(folder, "vectors"), Path(folder, "texts.jsonl")
        file.write_bytes(data)
        texts.write_text("")
        try:
            source, _ = open_sources(file, texts, {})
            blocks = list(source.blocks(0))
        except UsageError:
            return
        assert sum(map(len, blocks)) == source.count
        assert all(block.dtype == np.float32 and block.shape[1] == source.dimensions for block in blocks)
