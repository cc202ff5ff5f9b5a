"""Makes ctypes' structures and functions from declarations (`models.c_declarations`). Does not read headers."""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from models.c_declarations import PRIMITIVES, Field, HeaderError, Signature

_DEEPEST = 16  # structs within structs


class CTypes:
    """The ctypes types of an interface; `structs` holds the structs' members by the structs' names.

    For each struct without known members there is a pointer type of its own, so that ctypes does not accept one pointer
    in place of another.
    """

    def __init__(self, structs: Mapping[str, Sequence[Field]]) -> None:
        self._fields = structs
        self._types: dict[str, Any] = {"void": None, "void*": ctypes.c_void_p, "char*": ctypes.c_char_p}
        self._structs: dict[str, Any] = {}

    def type(self, text: str) -> Any:
        """Return the ctypes type of a C type, which is written as in `c_declarations`; None for "void". Raises
        HeaderError for a struct without known members.
        """
        if text not in self._types:
            self._types[text] = self._new(text)
        return self._types[text]

    def callback(self, signature: Signature) -> Any:
        """Return the type that turns a Python function into a C function."""
        return ctypes.CFUNCTYPE(self.type(signature.result), *map(self.type, signature.arguments))

    def function(self, library: ctypes.CDLL, name: str, signature: Signature) -> Any:
        """Return a function of a library, with its types. Raises HeaderError if the library does not have it."""
        try:
            function = library[name]
        except AttributeError:
            raise HeaderError(f"declares {name}, which the library lacks") from None
        function.restype = self.type(signature.result)
        function.argtypes = [self.type(argument) for argument in signature.arguments]
        return function

    def _new(self, text: str) -> Any:
        if text.endswith("]"):
            single, _, count = text[:-1].partition("[")
            return self.type(single) * int(count)
        if text in PRIMITIVES:
            return getattr(ctypes, f"c_{PRIMITIVES[text]}")
        if not text.endswith("*"):
            return self._complete(text, ())
        target = text[:-1]
        is_struct = not (target.endswith("*") or target in PRIMITIVES)
        return ctypes.POINTER(self._made(target) if is_struct else self.type(target))

    def _made(self, name: str) -> Any:
        """Return the struct's ctypes type, whose members may not be set yet."""
        if name not in self._structs:
            self._structs[name] = type(name, (ctypes.Structure,), {})
        return self._structs[name]

    def _complete(self, name: str, within: tuple[str, ...]) -> Any:
        """Return the struct's ctypes type with its members; `within` are the structs that contain it."""
        if name in within or name not in self._fields or len(within) > _DEEPEST:
            raise HeaderError(f"has a struct {name} whose size is not known")
        struct = self._made(name)
        if "_fields_" not in vars(struct):
            for field in self._fields[name]:
                part = field.type.partition("[")[0]
                if not (part.endswith("*") or part in PRIMITIVES):
                    self._complete(part, (*within, name))
            struct._fields_ = [(field.name, self.type(field.type)) for field in self._fields[name]]
        return struct
