"""Messages to frames and back. Whatever the bytes are, decoding ends, keeps its memory within a small multiple of the
frame limit, and either gives a message within its bounds or raises ProtocolError. Knows no order of messages.
"""

from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from shared.errors import ProtocolError
from shared.protocol import messages as m

Frame = bytes | str
Decoded = TypeVar("Decoded")


class _Versions(Struct, tag_field="type", tag="hello"):
    """What every version's hello says."""

    versions: tuple[int, ...]


_TextFromDevice = m.Hello | m.Closing
_TextFromServer = m.Welcome | m.Goaway | m.Closing
_ButAsk = m.Start | m.Credit | m.Cancel | m.Acknowledge | m.Ping | m.JointFromDevice
_BinaryFromDevice = m.Ask | _ButAsk
_BinaryFromDeviceV1 = m.AskV1 | _ButAsk
_BinaryFromServer = m.Numbered | m.Pong

# Looked up by type: isinstance() of a struct takes as long as all the rest of a token's way, where it says no.
_TEXT: Final = frozenset((m.Hello, m.Welcome, m.Goaway, m.Closing))

_binary: Final = msgspec.msgpack.Encoder()
_text: Final = msgspec.json.Encoder()
_versions: Final = msgspec.json.Decoder(_Versions)
_text_from_device: Final[msgspec.json.Decoder[_TextFromDevice]] = msgspec.json.Decoder(_TextFromDevice)
_text_from_server: Final[msgspec.json.Decoder[_TextFromServer]] = msgspec.json.Decoder(_TextFromServer)
_binary_from_device: Final[msgspec.msgpack.Decoder[_BinaryFromDevice]] = msgspec.msgpack.Decoder(_BinaryFromDevice)
_binary_from_device_v1: Final[msgspec.msgpack.Decoder[_BinaryFromDeviceV1]] = msgspec.msgpack.Decoder(
    _BinaryFromDeviceV1
)
_binary_from_server: Final[msgspec.msgpack.Decoder[_BinaryFromServer]] = msgspec.msgpack.Decoder(_BinaryFromServer)


def from_device(frame: Frame, version: int = m.VERSIONS[-1]) -> m.FromDevice:
    """What a device said, in a session of that version; hellos and closings are the same in each.

    Raises ProtocolError; for a hello without a version of ours, its code is VERSION.
    """
    if isinstance(frame, str):
        _within_limits(frame)
        _same_version(frame)
        return _from_text(frame, _text_from_device)
    if version > 1:
        return _from_binary(frame, _binary_from_device)
    said = _from_binary(frame, _binary_from_device_v1)
    return m.Ask(*msgspec.structs.astuple(said)) if isinstance(said, m.AskV1) else said


def from_server(frame: Frame) -> m.FromServer:
    """What a server said. Raises ProtocolError."""
    if isinstance(frame, str):
        _within_limits(frame)
        return _from_text(frame, _text_from_server)
    return _from_binary(frame, _binary_from_server)


def device_frame(message: m.FromDevice, version: int = m.VERSIONS[-1]) -> Frame:
    """The frame of a device's message, in a session of that version: what the version lacks is left out.

    Raises ProtocolError for a value out of its bounds.
    """
    if version == 1 and isinstance(message, m.Ask):
        frame: Frame = _binary.encode(m.AskV1(*msgspec.structs.astuple(message)[: len(m.AskV1.__struct_fields__)]))
    else:
        frame = _frame(message)
    from_device(frame, version)
    return frame


def server_frame(message: m.FromServer) -> Frame:
    """The frame of a server's message. Raises ProtocolError for a value out of its bounds."""
    frame = _frame(message)
    from_server(frame)
    return frame


def closing(error: ProtocolError, retry_after_s: float | None = None) -> str:
    """The last frame to send because of an error, before a close with its code."""
    return _text.encode(m.Closing(error.code, str(error)[:500], retry_after_s, m.VERSIONS)).decode()


def _frame(message: m.Message) -> Frame:
    if type(message) in _TEXT:
        return _text.encode(message).decode()
    return _binary.encode(message)


def _from_binary(frame: bytes, decoder: msgspec.msgpack.Decoder[Decoded]) -> Decoded:
    if len(frame) > m.MOST_FRAME_BYTES:
        raise ProtocolError(m.CloseCode.TOO_LARGE, f"A frame has {len(frame)} bytes; {m.MOST_FRAME_BYTES} are allowed.")
    try:
        return decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _malformed(error) from None


def _from_text(frame: str, decoder: msgspec.json.Decoder[Decoded]) -> Decoded:
    try:
        return decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise _malformed(error) from None


def _within_limits(frame: str) -> None:
    # Characters first: they are counted without making the bytes.
    if len(frame) > m.MOST_TEXT_BYTES or len(frame.encode("utf-8", "replace")) > m.MOST_TEXT_BYTES:
        raise ProtocolError(m.CloseCode.TOO_LARGE, f"A text frame has more than {m.MOST_TEXT_BYTES} bytes.")
    if frame.count("[") + frame.count("{") > m.MOST_BRACKETS:
        raise ProtocolError(m.CloseCode.MALFORMED, f"A text frame has more than {m.MOST_BRACKETS} brackets.")


def _same_version(frame: str) -> None:
    """Raise ProtocolError for a hello of other versions alone, before what they may have changed is read."""
    try:
        offered = _versions.decode(frame).versions
    except (msgspec.DecodeError, UnicodeEncodeError):
        return  # no hello, or none at all: the whole decoder will say
    if not set(m.VERSIONS).intersection(offered):
        spoken = " and ".join(map(str, m.VERSIONS))
        message = f"This side speaks versions {spoken} of the protocol. Update the older of the two."
        raise ProtocolError(m.CloseCode.VERSION, message)


def _malformed(error: Exception) -> ProtocolError:
    # Other messages of msgspec repeat the value, which may be a private text.
    known = isinstance(error, msgspec.DecodeError) and str(error).startswith(("Expected", "Object missing"))
    return ProtocolError(
        m.CloseCode.MALFORMED, f"A frame is no message: {error}." if known else "A frame is no message."
    )
