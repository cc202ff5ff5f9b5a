"""Reads the declarations in a C header: constants, structs, functions, callbacks. Independent of ctypes and llama.cpp.

Only a compiler understands all of C. This reader understands the parts of C that interfaces between languages use:
numbers, pointers, arrays of a fixed length, and structs of these. A declaration is read when it is requested, and
refused unless it is understood with certainty: a wrong layout would corrupt memory.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from models.c_declarations import PRIMITIVES, Field, HeaderError, Signature

_MOST_ELEMENTS = 1 << 16
_MOST_STARS = 8
_MOST_STEPS = 8  # from one constant to the next that defines it
_NEAR = 80  # characters before a brace that tell what it opens
_QUOTED = re.compile(r"""/\*.*?(?:\*/|\Z)|//(?:[^\n\\]+|\\.)*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?""", re.S)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)((?:[^\n\\]+|\\.)*)", re.M | re.S | re.A)
_DEFINITION = re.compile(r"\s+(\w+)\s+(\S.*)", re.S | re.A)
_LINKAGE = re.compile(r'extern\s*""\s*\Z')
_BODY = re.compile(r"(typedef\s+)?(struct|enum)\b\s*(\w*)([^{]*)\{(.*)\}\s*(\w*)\s*\Z", re.S | re.A)
_CALLBACK = re.compile(r"typedef\b(.*?)\(\s*\*\s*(\w+)\s*\)\s*\((.*)\)\s*\Z", re.S | re.A)
_LAST_WORD = re.compile(r"(.*)\b(\w+)\s*\Z", re.S | re.A)
_DEPRECATED = re.compile(r'DEPRECATED\s*\((.*),\s*""\s*\)\s*\Z', re.S)
_TOKEN = re.compile(r"\w+|[^\w\s]", re.A)
_NAME = re.compile(r"[A-Za-z_]\w*", re.A)
_FIELD = re.compile(r"\s*((?:\*\s*)*)(\w+)\s*(?:\[\s*(\w+)\s*\])?\s*", re.A)
_ARGUMENT = re.compile(r"((?:\* ?)*)(\w*) ?(\[ (?:\w+ )?\])?", re.A)
_NUMBER = re.compile(r"(-?)\s*(0[xX][0-9a-fA-F]{1,16}|0|[1-9]\d{0,17})[uUlL]{0,3}", re.A)
_SHIFT = re.compile(r"([1-9]\d{0,8})[uUlL]{0,3}\s*<<\s*(\d{1,2})", re.A)
_DROPPED = re.compile(r"const|volatile|restrict|extern|struct|[A-Z_]+_API", re.A)
_COMBINED = frozenset(("unsigned", "signed", "long", "short", "int", "char", "float", "double"))
_CONDITIONS = frozenset(("if", "ifdef", "ifndef", "elif", "else", "endif"))


class Header:
    """The declarations in the texts of some headers. Whatever the text, the methods raise only HeaderError.

    A declaration within a preprocessor condition counts as declared. A declaration that contains such a condition is
    refused, and so is a name that is declared in several ways.
    """

    def __init__(self, *texts: str) -> None:
        self._macros: dict[str, set[str]] = {}
        self._declared: dict[tuple[str, str], set[tuple[str, ...]]] = {}  # by kind and name
        self._enums: list[str] = []
        self._values: dict[str, dict[str, int]] = {}  # by enum
        for text in texts:
            plain = _QUOTED.sub(lambda match: '""' if match[0][0] in "\"'" else " ", text)
            for declaration in _declarations(_DIRECTIVE.sub(self._directive, plain)):
                self._file(declaration.lstrip("# \t\n").strip())

    def names(self, kind: Literal["struct", "function", "callback"]) -> list[str]:
        """Return the names of all declarations of a kind. A struct that is declared without its members is left out."""
        return [name for declared, name in self._declared if declared == kind]

    def struct(self, name: str) -> tuple[Field, ...]:
        """Return the members of a struct, in order."""
        inside, attributes = self._only("struct", name)
        *members, end = inside.split(";")
        if "{" in inside or attributes or end.strip() or not members:
            raise HeaderError(f"declares the struct {name} in a way that is not understood")
        fields = tuple(field for member in members for field in self._fields(member, f"in the struct {name}"))
        if len({field.name for field in fields}) < len(fields):
            raise HeaderError(f"declares two fields of one name in the struct {name}")
        return fields

    def function(self, name: str) -> Signature:
        """Return the argument and result types of a function."""
        return self._signature("function", name)

    def callback(self, name: str) -> Signature:
        """Return the argument and result types of the functions to which a pointer of the named type can point."""
        return self._signature("callback", name)

    def constant(self, name: str) -> int:
        """Return the value of a number that is defined as a macro or in an enum."""
        value = self._named(name, {}, _MOST_STEPS)
        if value is None:
            raise HeaderError(f"does not define {name} as one number")
        return value

    def _directive(self, match: re.Match[str]) -> str:
        """Record the macro that a preprocessor directive defines, if any. Return the text that replaces the directive:
        " # " for a condition, so that `_only` can refuse declarations that contain one, else a space.
        """
        if match[1] == "pragma" and "pack" in match[2]:
            raise HeaderError("changes the layout of its structs by a pragma")
        if match[1] == "define" and (definition := _DEFINITION.match(match[2])):
            self._macros.setdefault(definition[1], set()).add(definition[2].strip())
        return " # " if match[1] in _CONDITIONS else " "

    def _file(self, text: str) -> None:
        """Record a declaration under its kind and name."""
        if body := _BODY.match(text):
            is_alias, kind, tag, attributes, inside, alias = body.groups()
            if kind == "enum":
                self._enums.append(inside)
            for name in {tag, alias if is_alias else ""} - {""}:
                self._add(kind, name, inside, attributes.strip())
        elif callback := _CALLBACK.match(text):
            self._add("callback", callback[2], callback[1], callback[3])
        elif text.startswith("typedef"):
            if alias := _LAST_WORD.match(text.removeprefix("typedef")):
                self._add("alias", alias[2], alias[1])
        elif "(" in text:
            deprecated = _DEPRECATED.match(text)
            head, _, arguments = (deprecated[1] if deprecated else text).strip().partition("(")
            if arguments.endswith(")") and (function := _LAST_WORD.match(head)):
                self._add("function", function[2], function[1], arguments[:-1])

    def _add(self, kind: str, name: str, *parts: str) -> None:
        self._declared.setdefault((kind, name), set()).add(parts)

    def _only(self, kind: str, name: str) -> tuple[str, ...]:
        """Return the parts of the declaration of a name. Raises HeaderError unless there is exactly one."""
        declarations = {
            tuple(" ".join(part.split()) for part in parts) for parts in self._declared.get((kind, name), ())
        }
        if len(declarations) != 1:
            raise HeaderError(f"declares the {kind} {name} in several ways" if declarations else f"lacks {name}")
        (parts,) = declarations
        if any("#" in part for part in parts):
            raise HeaderError(f"declares the {kind} {name} differently under some condition")
        return parts

    def _fields(self, text: str, where: str) -> Iterator[Field]:
        """Yield the fields that one declaration declares, such as `float a, *b, c[4]`."""
        shown = f"{text.strip()[:80]!r} {where}"
        base, rest = self._base(text, shown)
        for declarator in rest.split(","):
            match = _FIELD.fullmatch(declarator)
            if not match:
                raise HeaderError(f"has {shown}, which is not understood")
            single = self._resolved(base, match[1].count("*"), shown)
            yield Field(match[2], f"{single}[{self._elements(match[3], shown)}]" if match[3] else single)

    def _elements(self, text: str, shown: str) -> int:
        count = self._value(text, {}, _MOST_STEPS) or 0
        if not 0 < count <= _MOST_ELEMENTS:
            raise HeaderError(f"has {shown}, whose size is not understood")
        return count

    def _signature(self, kind: str, name: str) -> Signature:
        result, arguments = self._only(kind, name)
        parts = arguments.split(",") if arguments not in ("", "void") else []
        return Signature(
            "void" if self._tokens(result) == ["void"] else self._argument(result, f"as result of {name}"),
            tuple(self._argument(part, f"as argument of {name}") for part in parts),
        )

    def _argument(self, text: str, where: str) -> str:
        shown = f"{text.strip()[:80]!r} {where}"
        base, rest = self._base(text, shown)
        match = _ARGUMENT.fullmatch(rest)
        if not match:
            raise HeaderError(f"has {shown}, which is not understood")
        return self._resolved(base, match[1].count("*") + bool(match[3]), shown)

    def _tokens(self, text: str) -> list[str]:
        return [token for token in _TOKEN.findall(text) if not _DROPPED.fullmatch(token)]

    def _base(self, text: str, shown: str) -> tuple[str, str]:
        """Return the name of the type with which a declaration begins, and the rest of the declaration."""
        words = self._tokens(text)
        if words[:1] == ["enum"]:
            return self._enum(words[1] if len(words) > 1 else "", shown), " ".join(words[2:])
        size = next((place for place, word in enumerate(words) if word not in _COMBINED), len(words)) or 1
        return " ".join(words[:size]), " ".join(words[size:])

    def _enum(self, name: str, shown: str) -> str:
        inside, attributes = self._only("enum", name)
        values = self._enumerators(inside, _MOST_STEPS).values()
        count = sum(not part.isspace() for part in inside.split(",") if part)
        if attributes or len(values) < count or not all(-(1 << 31) <= value < 1 << 32 for value in values):
            raise HeaderError(f"has {shown}, an enum whose size is not understood")
        return "int"

    def _resolved(self, base: str, stars: int, shown: str) -> str:
        """Return a type with its aliases replaced. A type of unknown size is accepted only behind a pointer."""
        passed: set[str] = set()
        while base not in PRIMITIVES and ("struct", base) not in self._declared and base not in self._macros:
            if base in passed:
                break
            passed.add(base)
            if ("callback", base) in self._declared:
                base, stars = "void", stars + 1
            elif ("enum", base) in self._declared:
                base = self._enum(base, shown)
            elif ("alias", base) in self._declared:
                (alias,) = self._only("alias", base)
                base, rest = self._base(alias, shown)
                if set(rest) - set("* "):
                    raise HeaderError(f"has {shown}, whose type is not understood")
                stars += rest.count("*")
            else:
                break
        if not (re.fullmatch(r"[A-Za-z_][\w ]*", base, re.A) and base not in self._macros and stars <= _MOST_STARS):
            raise HeaderError(f"has {shown}, which is not understood")
        if not (stars or base in PRIMITIVES or ("struct", base) in self._declared):
            raise HeaderError(f"has {shown}, whose type is not declared")
        return base + "*" * stars

    def _named(self, name: str, known: Mapping[str, int], steps: int) -> int | None:
        """Return the value of a constant; None if it has no value, or several. `known` are the constants of the same
        enum; at most `steps` further constants that define it are looked up.
        """
        if name in known or not steps:
            return known.get(name)
        texts = self._macros.get(name, set())
        values = {self._value(text, {}, steps - 1) for text in texts}
        if not texts:
            mention = re.compile(rf"\b{re.escape(name)}\b", re.A)
            values = {
                self._enumerators(inside, steps - 1).get(name) for inside in self._enums if mention.search(inside)
            }
            values -= {None}
        return values.pop() if len(values) == 1 else None

    def _enumerators(self, inside: str, steps: int) -> Mapping[str, int]:
        """Return the values of an enum's names; names whose value is not understood are left out."""
        if inside in self._values:
            return self._values[inside]
        values = self._values[inside] = {}
        value: int | None = -1
        for part in inside.split(",") if "#" not in inside else ():
            name, sign, text = (piece.strip() for piece in part.partition("="))
            if sign:
                value = self._value(text, values, steps)
            elif value is not None:
                value += 1
            if not _NAME.fullmatch(name):
                value = None
            elif value is not None:
                values[name] = value
        return values

    def _value(self, text: str, known: Mapping[str, int], steps: int) -> int | None:
        """Return the value of a number, a shifted number, or a constant's name; None for anything else. `known` and
        `steps` are as in `_named`.
        """
        while text.startswith("(") and text.endswith(")"):
            text = text[1:-1].strip()
        if number := _NUMBER.fullmatch(text):
            value = int(number[2], 16 if number[2][:2] in ("0x", "0X") else 10)
            return -value if number[1] else value
        if shift := _SHIFT.fullmatch(text):
            return int(shift[1]) << int(shift[2])
        return self._named(text, known, steps) if _NAME.fullmatch(text) else None


def _declarations(text: str) -> Iterator[str]:
    """Yield the declarations outside of all braces (those of `extern "C"` do not count). Functions with a body are left
    out.
    """
    start = depth = 0
    is_body = False
    for match in re.finditer(r"[{};]", text):
        if match[0] == "{":
            if depth == 0:
                before = text[max(start, match.start() - _NEAR) : match.start()].rstrip()
                if _LINKAGE.search(before):
                    start = match.end()
                    continue
                is_body = before.endswith(")")
            depth += 1
        elif match[0] == "}":
            if depth == 0 or (depth == 1 and is_body):
                start = match.end()
            depth = max(0, depth - 1)
        elif depth == 0:
            yield text[start : match.start()]
            start = match.end()
