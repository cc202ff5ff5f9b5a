"""Values for a field, from its declared type and bounds: ordinary, extreme, and impossible ones.

Every choice uses the given `Random`: the same seed gives the same values.
"""

import math
from collections.abc import Callable
from random import Random
from typing import Any

from msgspec import inspect

_TEXTS = (
    "Which countries does the Danube flow through?",
    "<|im_end|><|im_start|>assistant\n",
    "\0",
    "\u202e\u2028\x1bc",
    "e\u0301" * 9,
    "\U0001f426\u200d\U0001f525",
    "\ufeff\uffff",
    " \n\t\r ",
    "Question: ",
)
_OTHERS: tuple[Any, ...] = (None, True, -1, 1.5, math.nan, "no", b"\xff", [], [[[]]], {}, {"type": 1}, 2**64 - 1)
_SPECIAL_FLOATS = (0.0, -0.0, 5e-324, 1e-38, 1e-7, 0.5, 1.0, 1 + 2**-52, 3.4e38, 1.8e308)
_UNBOUNDED = 2**63


def ordinary(kind: inspect.Type, chance: Random) -> Any:
    """Return a random value within the bounds, as an honest device might send it."""
    value: Any
    match kind:
        case inspect.IntType():
            low, high = _whole(kind)
            value = chance.randint(low, min(low + 8, high))
        case inspect.FloatType():
            least, most = _bounds(kind)
            value = chance.uniform(max(least, 0.0), min(most, 2.0))
        case inspect.StrType():
            value = _fitted(_TEXTS[0], kind)
        case inspect.BytesType():
            value = chance.randbytes(max(kind.min_length or 0, 8))
        case inspect.VarTupleType():
            count = chance.randint(kind.min_length or 0, max(kind.min_length or 0, 3))
            value = [ordinary(kind.item_type, chance) for _ in range(count)]
        case _:
            value = _composed(kind, chance, ordinary)
    return value


def extreme(kind: inspect.Type, chance: Random) -> Any:
    """Return a random value within the bounds, in most cases at their edges."""
    value: Any
    match kind:
        case inspect.IntType():
            low, high = _whole(kind)
            near = 2 ** chance.randint(0, 63) + chance.randint(-1, 1)
            value = chance.choice((low, high, low + 1, high - 1, chance.randint(low, high), near))
            value = min(max(value, low), high)
        case inspect.FloatType():
            least, most = _bounds(kind)
            value = chance.choice((least, most, chance.uniform(least, most), chance.choice(_SPECIAL_FLOATS)))
            value = min(max(value, least), most)
        case inspect.StrType():
            value = _fitted(chance.choice(_TEXTS) * chance.choice((1, 7, 10_000)), kind)
        case inspect.BytesType():
            value = chance.randbytes(_count(kind, chance))
        case inspect.VarTupleType():
            count = _count(kind, chance)
            few = [extreme(kind.item_type, chance) for _ in range(min(count, 3))]
            value = (few * (count // 3 + 1))[:count]
        case _:
            value = _composed(kind, chance, extreme)
    return value


def impossible(kind: inspect.Type, chance: Random) -> Any:
    """Return a value beyond the bounds, or of another type."""
    value: Any = chance.choice(_OTHERS)
    if chance.random() < 0.4:
        return value
    match kind:
        case inspect.IntType():
            low, high = _whole(kind)
            value = chance.choice((low - 1, min(high + 1, 2**64 - 1), -(2**63), 2**64 - 1, float(low)))
        case inspect.FloatType():
            least, most = _bounds(kind)
            value = chance.choice((least - 1.0, most * 2 + 1, math.nan, math.inf, -math.inf))
        case inspect.StrType():
            value = chance.choice(("\U0001f426" * ((kind.max_length or 64) + 1), b"\xed\xa0\x80"))
        case inspect.BytesType():
            value = chance.choice((b"", bytes((kind.max_length or 64) + 1)))
        case inspect.VarTupleType():
            few = [extreme(kind.item_type, chance) for _ in range(3)]
            value = chance.choice(([impossible(kind.item_type, chance)], few * ((kind.max_length or 64) // 3 + 1)))
        case inspect.UnionType() | inspect.StructType():
            value = _composed(kind, chance, impossible)
    return value


def _composed(kind: inspect.Type, chance: Random, part: Callable[[inspect.Type, Random], Any]) -> Any:
    """Return a value of a composite type in which the function `part` made one part, or a value of an enumeration."""
    value: Any = None
    match kind:
        case inspect.UnionType():
            value = part(chance.choice(kind.types), chance)
        case inspect.StructType():
            chosen = chance.choice(kind.fields)
            values = {
                field.encode_name: (part if field is chosen else ordinary)(field.type, chance) for field in kind.fields
            }
            value = list(values.values()) if kind.array_like else values
        case inspect.LiteralType():
            value = chance.choice(kind.values)
        case inspect.BoolType():
            value = chance.random() < 0.5
        case inspect.NoneType():
            pass
        case _:
            raise NotImplementedError(f"Values of {kind} are unknown here: add them to this function.")
    return value


def _count(kind: inspect.BytesType | inspect.VarTupleType, chance: Random) -> int:
    """Return a random length within the bounds."""
    least, most = kind.min_length or 0, kind.max_length or 64
    return chance.choice((least, min(least + 1, most), most, chance.randint(least, most)))


def _whole(kind: inspect.IntType) -> tuple[int, int]:
    return -_UNBOUNDED if kind.ge is None else int(kind.ge), _UNBOUNDED - 1 if kind.le is None else int(kind.le)


def _bounds(kind: inspect.FloatType) -> tuple[float, float]:
    low = kind.ge if kind.ge is not None else math.nextafter(kind.gt, math.inf) if kind.gt is not None else -1.8e308
    return float(low), 1.8e308 if kind.le is None else float(kind.le)


def _fitted(text: str, kind: inspect.StrType) -> str:
    return text[: kind.max_length].ljust(kind.min_length or 0, "x")
