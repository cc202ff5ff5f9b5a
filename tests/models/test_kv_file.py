"""The file of a slice of KV states: what was stored is read back, and a damaged file is never used."""

import dataclasses
import struct
import zlib

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models import kv_file
from models.engine import KVSlice
from models.fake import FakeEngine
from shared.errors import SliceRejected

HEADER = len(kv_file.MAGIC)
PREFIX = (1, 2, 3)


def cut(tokens: tuple[int, ...] = (4, 5, 6)) -> KVSlice:
    """Return a slice of real state that was computed after PREFIX."""
    engine = FakeEngine()
    engine.prefill(0, [*PREFIX, *tokens])
    return engine.slice(0, len(PREFIX), len(PREFIX) + len(tokens))


def content(kv_slice: KVSlice) -> bytes:
    return b"".join(kv_file.pack(kv_slice))


def joined(packed: bytes) -> int:
    """Join the file's slice to a sequence with the tokens PREFIX; return the sequence's number of tokens."""
    engine = FakeEngine()
    engine.prefill(0, PREFIX)
    try:
        engine.join(0, [kv_file.unpack(packed)])
    except SliceRejected:
        assert engine.tokens(0) == PREFIX
        raise
    return engine.length(0)


counts = st.integers(0, (1 << 62) - 1)


@given(
    st.builds(
        lambda key, prefix, start, tokens, planes, checksum: KVSlice(
            key, prefix, start, tuple(tokens), b"".join(planes.values()), checksum, _sizes(planes)
        ),
        st.text(st.characters(exclude_categories=["Cs"])),
        st.text("0123456789abcdef", max_size=32),
        counts,
        st.lists(counts),
        st.dictionaries(st.sampled_from(["cells", "q", "k", "v"]), st.binary(max_size=40)),
        st.integers(0, 0xFFFFFFFF),
    )
)
def test_what_was_packed_comes_back(kv_slice: KVSlice) -> None:
    assert kv_file.unpack(content(kv_slice)) == dataclasses.replace(kv_slice, data=memoryview(kv_slice.data))


def _sizes(planes: dict[str, bytes]) -> tuple[tuple[str, int], ...]:
    return tuple((name, len(data)) for name, data in planes.items())


@given(st.lists(st.integers(0, 255), min_size=1, max_size=30))
def test_a_slice_from_a_file_is_joined(tokens: list[int]) -> None:
    assert joined(content(cut(tuple(tokens)))) == len(PREFIX) + len(tokens)


def test_every_truncation_is_rejected() -> None:
    whole = content(cut())
    for length in range(len(whole)):
        with pytest.raises(SliceRejected):
            kv_file.unpack(whole[:length])


def test_whatever_is_added_is_rejected() -> None:
    for more in (b"\0", b" ", b"\n" * 16):
        with pytest.raises(SliceRejected):
            kv_file.unpack(content(cut()) + more)


def test_every_flipped_bit_is_rejected() -> None:
    whole = content(cut())
    for place in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(SliceRejected):
            joined(bytes(damaged))


@given(st.data())
def test_bytes_that_were_overwritten_are_rejected(data: st.DataObject) -> None:
    whole = content(cut())
    place = data.draw(st.integers(0, len(whole) - 1))
    run = data.draw(st.binary(min_size=1, max_size=len(whole) - place))
    damaged = whole[:place] + run + whole[place + len(run) :]
    if damaged != whole:
        with pytest.raises(SliceRejected):
            joined(damaged)


@given(st.binary(max_size=200))
@example(kv_file.MAGIC)
@example(kv_file.MAGIC + b"\xff" * 8)
def test_bytes_that_were_never_a_slice_are_rejected(packed: bytes) -> None:
    for start in (b"", kv_file.MAGIC):
        with pytest.raises(SliceRejected):
            kv_file.unpack(start + packed)


def sealed(header: bytes, data: bytes | memoryview = b"") -> bytes:
    """Return a file with this header and the right checksum of the header."""
    return kv_file.MAGIC + struct.pack("<II", len(header), zlib.crc32(header)) + header + data


@pytest.mark.parametrize(
    "change",
    [
        {"start": -1},
        {"start": 1.5},
        {"start": 10**30},
        {"tokens": [-1]},
        {"tokens": [1 << 63]},
        {"tokens": [10**30]},
        {"tokens": None},
        {"planes": [["k", -48], ["v", 96]]},
        {"planes": [["k"]]},
        {"planes": []},
        {"checksum": -1},
        {"kv_key": 7},
        {"kv_key": "another engine"},
        {"prefix": "0" * 32},
        {"unknown": 1},
    ],
)
def test_a_forged_header_is_rejected_whatever_it_says(change: dict[str, object]) -> None:
    kv_slice = cut()
    fields = {**dataclasses.asdict(dataclasses.replace(kv_slice, data=b"")), **change}
    del fields["data"]
    with pytest.raises(SliceRejected):
        joined(sealed(msgspec.json.encode(fields), kv_slice.data))


def test_a_header_of_any_announced_length_takes_no_memory_for_it() -> None:
    kv_slice = cut()
    for length in (0, 1, 0x7FFFFFFF, 0xFFFFFFFF):
        packed = bytearray(content(kv_slice))
        packed[HEADER : HEADER + 4] = length.to_bytes(4, "little")
        with pytest.raises(SliceRejected):
            kv_file.unpack(bytes(packed))


def test_a_deeply_nested_header_is_rejected() -> None:
    with pytest.raises(SliceRejected):
        kv_file.unpack(sealed(b'{"tokens":' + b"[" * 100_000))


def test_a_file_of_another_format_version_is_rejected() -> None:
    packed = content(cut())
    with pytest.raises(SliceRejected, match="unknown format"):
        kv_file.unpack(packed.replace(b"kv 1", b"kv 2", 1))
