"""The file format of a slice of attention states: a header about its origin, then its planes (`q`, `k`, `v` and
others).

The file may be damaged, so everything in it is checked before use.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import Annotated

import msgspec

from models.engine import KVSlice
from shared.errors import SliceRejected

MAGIC = b"jackdaw kv 1\n"
_HEADER = struct.Struct("<II")  # the header's length and its CRC-32
_LARGEST_HEADER = 1 << 20

Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kv_key: str
    prefix: str
    start: Count
    tokens: tuple[Count, ...]
    planes: tuple[tuple[str, Count], ...]
    checksum: Count


def pack(kv_slice: KVSlice) -> Iterator[bytes | memoryview]:
    """Yield the content of the file of a slice of attention state, in parts."""
    header = msgspec.json.encode(
        _Header(kv_slice.kv_key, kv_slice.prefix, kv_slice.start, kv_slice.tokens, kv_slice.planes, kv_slice.checksum)
    )
    yield MAGIC + _HEADER.pack(len(header), zlib.crc32(header))
    yield header
    yield kv_slice.data


def unpack(content: bytes) -> KVSlice:
    """Return the slice of attention state in a file's content. Its checksum is not compared here, but when an engine
    joins it. Raises SliceRejected.
    """
    begin = len(MAGIC) + _HEADER.size
    if len(content) < begin or not content.startswith(MAGIC):
        raise SliceRejected("Cached attention state has an unknown format; it has to be computed again.")
    length, checksum = _HEADER.unpack_from(content, len(MAGIC))
    packed = content[begin : begin + min(length, _LARGEST_HEADER)]
    try:
        header = msgspec.json.decode(packed, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SliceRejected("Cached attention state is damaged; it has to be computed again.") from error
    if zlib.crc32(packed) != checksum:
        raise SliceRejected("Cached attention state is damaged; it has to be computed again.")
    data = memoryview(content)[begin + length :]
    if sum(size for _, size in header.planes) != len(data):
        raise SliceRejected("Cached attention state is incomplete; it has to be computed again.")
    return KVSlice(header.kv_key, header.prefix, header.start, header.tokens, data, header.checksum, header.planes)
