"""Frames of a device's messages with arbitrary values, and damaged frames."""

import json
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec
from msgspec import inspect

from shared.protocol import messages as m
from shared.protocol.codec import Frame

KINDS: tuple[inspect.StructType, ...] = tuple(
    kind for kind in map(inspect.type_info, typing.get_args(m.FromDevice)) if isinstance(kind, inspect.StructType)
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """A frame with the name of its message, and the fields that have extreme values, each as `Message.field`.

    `legal`: the server continues the connection after the frame.
    """

    name: str
    frame: Frame
    extremes: tuple[str, ...] = ()
    legal: bool = True


def as_binary(kind: inspect.StructType, values: Sequence[Any]) -> bytes:
    """Return the binary frame of a message with the given fields, whatever their values."""
    return msgspec.msgpack.encode([kind.tag, *values])


def as_text(kind: inspect.StructType, values: Mapping[str, Any]) -> str:
    """Return the JSON frame of a text message, even with numbers that JSON does not have."""
    return json.dumps({str(kind.tag_field): kind.tag, **values}, default=repr)


def kind_of(message: type) -> inspect.StructType:
    """Return the definition of a message that a device sends."""
    return next(kind for kind in KINDS if kind.cls is message)


def damaged(frame: Frame, chance: Random) -> Frame:
    """Return the frame cut short, with a changed byte, or with bytes appended."""
    data = bytearray(frame if isinstance(frame, bytes) else frame.encode())
    match chance.randrange(3):
        case 0:
            del data[chance.randrange(len(data)) :]
        case 1:
            data[chance.randrange(len(data))] = chance.randrange(256)
        case _:
            data += chance.randbytes(3)
    return bytes(data) if isinstance(frame, bytes) else data.decode("utf-8", "replace")
