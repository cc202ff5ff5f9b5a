"""The file of one slice: what it belongs to, then its planes (`q`, `k`, `v` and whatever else an engine needs).

A file is data from a disk that may have lied: everything about it is checked before it is believed.
"""

import struct
from collections.abc import Iterator
from typing import Annotated

import msgspec

from models.engine import KVSlice
from shared.errors import SliceRejected

MAGIC = b"jackdaw kv 1\n"
_LENGTH = struct.Struct("<I")
_LARGEST_HEADER = 1 << 20

Count = Annotated[int, msgspec.Meta(ge=0)]


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kv_key: str
    prefix: str
    start: Count
    tokens: tuple[Count, ...]
    planes: tuple[tuple[str, Count], ...]
    checksum: Count


def pack(one: KVSlice) -> Iterator[bytes | memoryview]:
    """The file's content in parts."""
    header = msgspec.json.encode(_Header(one.kv_key, one.prefix, one.start, one.tokens, one.planes, one.checksum))
    yield MAGIC + _LENGTH.pack(len(header))
    yield header
    yield one.data


def unpack(content: bytes) -> KVSlice:
    """The slice of a file. Its checksum is compared when an engine joins it. Raises SliceRejected."""
    begin = len(MAGIC) + _LENGTH.size
    if len(content) < begin or not content.startswith(MAGIC):
        raise SliceRejected("Cached attention state is of another format; it has to be computed again.")
    (length,) = _LENGTH.unpack_from(content, len(MAGIC))
    try:
        header = msgspec.json.decode(content[begin : begin + min(length, _LARGEST_HEADER)], type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SliceRejected("Cached attention state is damaged; it has to be computed again.") from error
    data = memoryview(content)[begin + length :]
    if sum(size for _, size in header.planes) != len(data):
        raise SliceRejected("Cached attention state is incomplete; it has to be computed again.")
    return KVSlice(header.kv_key, header.prefix, header.start, header.tokens, data, header.checksum, header.planes)
