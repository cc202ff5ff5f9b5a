"""Converts messages to frames and back. Does not check the order of messages.

For any bytes, decoding ends, uses memory within a small multiple of the frame limit, and returns a message within its
bounds or raises ProtocolError.
"""

from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from shared.errors import ProtocolError
from shared.protocol import messages as m

Frame = bytes | str
Decoded = TypeVar("Decoded")


class _Versions(Struct, tag_field="type", tag="hello"):
    """The field of a hello that is the same in every version: the versions that the sender speaks."""

    versions: tuple[int, ...]


_TextFromDevice = m.Hello | m.Closing
_TextFromServer = m.Welcome | m.Goaway | m.Closing
_ButAsk = m.Start | m.Credit | m.Cancel | m.Acknowledge | m.Ping | m.JointFromDevice
_BinaryFromDevice = m.Ask | _ButAsk
_BinaryFromDeviceV1 = m.AskV1 | _ButAsk
_BinaryFromServer = m.Numbered | m.Pong

# Looked up by type: a negative isinstance() of a struct takes as long as all other work for a token.
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
    """Decode a device's frame, in a session of that version; hellos and closings are the same in every version.

    Raises ProtocolError, with the code VERSION for a hello without any version of VERSIONS.
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
    """Decode a server's frame. Raises ProtocolError."""
    if isinstance(frame, str):
        _within_limits(frame)
        return _from_text(frame, _text_from_server)
    return _from_binary(frame, _binary_from_server)


def device_frame(message: m.FromDevice, version: int = m.VERSIONS[-1]) -> Frame:
    """Encode a device's message for a session of that version, without the fields that the version lacks.

    Raises ProtocolError for a value out of its bounds.
    """
    if version == 1 and isinstance(message, m.Ask):
        frame: Frame = _binary.encode(m.AskV1(*msgspec.structs.astuple(message)[: len(m.AskV1.__struct_fields__)]))
    else:
        frame = _frame(message)
    from_device(frame, version)
    return frame


def server_frame(message: m.FromServer) -> Frame:
    """Encode a server's message. Raises ProtocolError for a value out of its bounds."""
    frame = _frame(message)
    from_server(frame)
    return frame


def closing(error: ProtocolError) -> str:
    """Return the last frame to send after an error, before the connection is closed with the error's code."""
    return _text.encode(m.Closing(error.code, str(error)[:500], versions=m.VERSIONS)).decode()


def _frame(message: m.Message) -> Frame:
    if type(message) in _TEXT:
        return _text.encode(message).decode()
    return _binary.encode(message)


def _from_binary(frame: bytes, decoder: msgspec.msgpack.Decoder[Decoded]) -> Decoded:
    if len(frame) > m.MOST_FRAME_BYTES:
        raise ProtocolError(
            m.CloseCode.TOO_LARGE, f"A binary frame has {len(frame)} bytes; at most {m.MOST_FRAME_BYTES} are allowed."
        )
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
    # Characters are checked first: counting them takes no copy of the bytes.
    if len(frame) > m.MOST_TEXT_BYTES or len(frame.encode("utf-8", "replace")) > m.MOST_TEXT_BYTES:
        raise ProtocolError(m.CloseCode.TOO_LARGE, f"A text frame has more than {m.MOST_TEXT_BYTES} bytes.")
    if frame.count("[") + frame.count("{") > m.MOST_BRACKETS:
        raise ProtocolError(m.CloseCode.MALFORMED, f"A text frame has more than {m.MOST_BRACKETS} brackets.")


def _same_version(frame: str) -> None:
    """Raise ProtocolError for a hello without a common version.

    It is called before fields are read that other versions may define differently.
    """
    try:
        offered = _versions.decode(frame).versions
    except (msgspec.DecodeError, UnicodeEncodeError):
        return  # not a hello, or malformed: the full decoder decides
    if not set(m.VERSIONS).intersection(offered):
        spoken = " and ".join(map(str, m.VERSIONS))
        message = f"This side speaks versions {spoken} of the protocol. Update the older of device and server."
        raise ProtocolError(m.CloseCode.VERSION, message)


def _malformed(error: Exception) -> ProtocolError:
    # Other messages of msgspec repeat the value, which may be private text.
    known = isinstance(error, msgspec.DecodeError) and str(error).startswith(("Expected", "Object missing"))
    return ProtocolError(
        m.CloseCode.MALFORMED,
        f"A frame holds no valid message: {error}." if known else "A frame holds no valid message.",
    )
