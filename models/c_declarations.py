"""The declarations in a C header, as Python values.

A type is written as in C, without qualifiers and with its aliases replaced: "int32_t", "char*", "float[4]", or the name
of a struct. An enum is an "int", a callback a "void*".
"""

from collections.abc import Mapping
from typing import NamedTuple

PRIMITIVES: Mapping[str, str] = {
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")},
    **{name: name for name in ("bool", "char", "short", "int", "long", "float", "double")},
    **{"_Bool": "bool", "signed char": "byte", "unsigned char": "ubyte", "unsigned short": "ushort"},
    **{"signed": "int", "signed int": "int", "unsigned": "uint", "unsigned int": "uint", "unsigned long": "ulong"},
    **{"long long": "longlong", "unsigned long long": "ulonglong", "size_t": "size_t", "uintptr_t": "size_t"},
}
"""The name in ctypes, without "c_", of each C spelling of a number's type."""


class HeaderError(ValueError):
    """A fault in a header. The message is the end of a sentence that begins with the header's name."""


class Field(NamedTuple):
    """A member of a struct."""

    name: str
    type: str


class Signature(NamedTuple):
    """The argument types and the result type of a function."""

    result: str
    arguments: tuple[str, ...]
