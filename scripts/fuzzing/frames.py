"""Frames of a device's messages, of whatever values; and frames that are damaged."""

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
    """A frame, the name of its message, and the fields that have extreme values, each as `Message.field`.

    `legal` says that the server goes on behind it.
    """

    name: str
    frame: Frame
    extremes: tuple[str, ...] = ()
    legal: bool = True


def as_binary(kind: inspect.StructType, values: Sequence[Any]) -> bytes:
    """The frame of a message with these fields, whatever they are."""
    return msgspec.msgpack.encode([kind.tag, *values])


def as_text(kind: inspect.StructType, values: Mapping[str, Any]) -> str:
    """The same for the messages that are JSON, numbers that JSON does not have among them."""
    return json.dumps({str(kind.tag_field): kind.tag, **values}, default=repr)


def kind_of(message: type) -> inspect.StructType:
    """The definition of a message that a device sends."""
    return next(kind for kind in KINDS if kind.cls is message)


def damaged(frame: Frame, chance: Random) -> Frame:
    """The frame cut short, with a byte changed, or with something behind it."""
    data = bytearray(frame if isinstance(frame, bytes) else frame.encode())
    match chance.randrange(3):
        case 0:
            del data[chance.randrange(len(data)) :]
        case 1:
            data[chance.randrange(len(data))] = chance.randrange(256)
        case _:
            data += chance.randbytes(3)
    return bytes(data) if isinstance(frame, bytes) else data.decode("utf-8", "replace")
