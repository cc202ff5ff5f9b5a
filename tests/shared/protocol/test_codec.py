"""Encoding and decoding: every message is the same afterwards, anything else is refused, and memory stays bounded."""

import gc
import tracemalloc
import typing

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import inspect

from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.messages import CloseCode

DEVICE = typing.get_args(m.FromDevice)
SERVER = typing.get_args(m.FromServer)


def values(kind: inspect.Type) -> st.SearchStrategy[object]:
    """Any value within the bounds of a type; lists and texts are short."""
    chosen: st.SearchStrategy[object]
    match kind:
        case inspect.StructType():
            chosen = st.tuples(*(values(field.type) for field in kind.fields)).map(lambda given: kind.cls(*given))
        case inspect.UnionType():
            chosen = st.one_of([values(part) for part in kind.types])
        case inspect.VarTupleType():
            most = min(kind.max_length or 9, 9)
            chosen = st.lists(values(kind.item_type), min_size=kind.min_length or 0, max_size=most).map(tuple)
        case inspect.IntType():
            chosen = st.integers(kind.ge, kind.le)
        case inspect.FloatType(gt=None):
            chosen = st.floats(kind.ge, kind.le)
        case inspect.FloatType():
            chosen = st.floats(kind.gt, kind.le, exclude_min=True)
        case inspect.StrType():
            chosen = st.text(min_size=kind.min_length or 0, max_size=min(kind.max_length or 99, 99))
        case inspect.BytesType():
            chosen = st.binary(min_size=kind.min_length or 0, max_size=99)
        case inspect.LiteralType():
            chosen = st.sampled_from(kind.values)
        case inspect.BoolType():
            chosen = st.booleans()
        case _:
            chosen = st.none()
    return chosen


def largest(kind: inspect.Type, character: str) -> object:
    """Return the value of a type that takes the most bytes, if texts consist of the given character."""
    chosen: object = None
    match kind:
        case inspect.StructType():
            chosen = kind.cls(*(largest(field.type, character) for field in kind.fields))
        case inspect.UnionType():
            chosen = max((largest(part, character) for part in kind.types), key=size)
        case inspect.VarTupleType():
            assert kind.max_length is not None, "a list without a bound"
            chosen = (largest(kind.item_type, character),) * kind.max_length
        case inspect.IntType() | inspect.FloatType():
            assert kind.le is not None, "a number without a bound"
            chosen = kind.le
        case inspect.StrType():
            assert kind.max_length is not None, "a text without a bound"
            chosen = character * kind.max_length
        case inspect.BytesType():
            assert kind.max_length is not None, "bytes without a bound"
            chosen = bytes(kind.max_length)
        case inspect.LiteralType():
            chosen = max(kind.values, key=size)
        case inspect.BoolType():
            chosen = False
    return chosen


def size(value: object) -> int:
    """Return the size of the packed value, in bytes."""
    return len(msgspec.msgpack.encode(value))


@given(st.sampled_from(DEVICE).flatmap(lambda kind: values(inspect.type_info(kind))))
def test_what_a_device_says_arrives(message: m.FromDevice) -> None:
    if isinstance(message, m.Hello) and not set(m.VERSIONS).intersection(message.versions):
        message = msgspec.structs.replace(message, versions=m.VERSIONS)
    assert codec.from_device(codec.device_frame(message)) == message


@given(st.sampled_from(SERVER).flatmap(lambda kind: values(inspect.type_info(kind))))
def test_what_a_server_says_arrives(message: m.FromServer) -> None:
    assert codec.from_server(codec.server_frame(message)) == message


@pytest.mark.parametrize("kind", [*DEVICE, *SERVER])
def test_the_largest_message_fits_its_frame_and_none_has_an_open_bound(kind: type) -> None:
    said = inspect.type_info(kind)
    if kind in (m.Hello, m.Welcome, m.Goaway, m.Closing):
        assert len(msgspec.json.encode(largest(said, "\x01"))) <= m.MOST_TEXT_BYTES
    else:
        assert size(largest(said, "\U0001f426")) <= m.MOST_FRAME_BYTES


def refusal(read: typing.Callable[[Frame], object], frame: Frame) -> ProtocolError:
    """Return the error with which a frame is refused."""
    with pytest.raises(ProtocolError) as caught:
        read(frame)
    return caught.value


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (bytes(m.MOST_FRAME_BYTES + 1), CloseCode.TOO_LARGE),
        (" " * (m.MOST_TEXT_BYTES + 1), CloseCode.TOO_LARGE),
        ("é" * (m.MOST_TEXT_BYTES // 2 + 1), CloseCode.TOO_LARGE),
        ('{"type":"hello","later":' + "[" * m.MOST_BRACKETS, CloseCode.MALFORMED),
        (b"", CloseCode.MALFORMED),
        ("", CloseCode.MALFORMED),
        ("\ud800", CloseCode.MALFORMED),
        ('{"type":"closing","code":1000,"message":"\ud800"}', CloseCode.MALFORMED),
        (b"\x92\x04\x00", CloseCode.MALFORMED),  # request 0
        (b"\x93\x04\x01\x01", CloseCode.MALFORMED),  # a field too many
        (b"\x92\x04\x01\xc0", CloseCode.MALFORMED),  # bytes after the message
        (b"\x92\x63\x01", CloseCode.MALFORMED),  # no such message
    ],
)
def test_what_is_no_message_is_refused_by_both(frame: Frame, code: CloseCode) -> None:
    assert refusal(codec.from_device, frame).code == code
    assert refusal(codec.from_server, frame).code == code


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -0.1])
def test_a_temperature_is_a_number_to_sample_with(number: float) -> None:
    ask = m.Ask(1, "", True, 0, 1, 0, m.Sampling(number))
    assert refusal(codec.from_device, msgspec.msgpack.encode(ask)).code == CloseCode.MALFORMED


@pytest.mark.parametrize("number", [0.0, 5e-324, 1e-38, 0.0099])
def test_a_penalty_leaves_logits_that_are_numbers(number: float) -> None:
    ask = m.Ask(1, "", True, 0, 1, 0, m.Sampling(repetition_penalty=number))
    assert refusal(codec.from_device, msgspec.msgpack.encode(ask)).code == CloseCode.MALFORMED


def test_neither_side_takes_what_only_it_may_say() -> None:
    up, down = codec.device_frame(m.Cancel(1)), codec.server_frame(m.Pong(1))
    assert refusal(codec.from_server, up).code == CloseCode.MALFORMED
    assert refusal(codec.from_device, down).code == CloseCode.MALFORMED


def test_nothing_out_of_bounds_is_sent() -> None:
    with pytest.raises(ProtocolError):
        codec.device_frame(m.Credit(1, m.MOST_TOKENS + 1))
    with pytest.raises(ProtocolError):
        codec.server_frame(m.Numbered(1, m.Tokens(1, 0, ())))


@pytest.mark.parametrize(
    "hello",
    [
        '{"type":"hello","versions":[3,4],"vocabulary":"w","embedder":"e","client":"c"}',
        '{"type":"hello","versions":[3],"everything":{"else":["is",{"new":true}]},"vocabulary":5}',
    ],
)
def test_a_hello_of_another_version_is_refused_as_that(hello: str) -> None:
    error = refusal(codec.from_device, hello)
    assert error.code == CloseCode.VERSION
    closing = codec.from_server(codec.closing(error))
    assert isinstance(closing, m.Closing)
    assert closing.versions == m.VERSIONS


def test_a_later_hello_that_speaks_our_version_too_is_understood() -> None:
    hello = '{"type":"hello","versions":[1,2,3],"vocabulary":"w","embedder":"e","client":"c","codec":{"new":[1]}}'
    assert codec.from_device(hello) == m.Hello((1, 2, 3), "w", "e", "c")


@pytest.mark.parametrize(
    "frame",
    [
        '{"type":"secret"}',
        '{"type":"closing","code":"secret","message":"secret"}',
        '{"type":"welcome","offer":{"receives":["secret"]}}',
        "secret",
        msgspec.msgpack.encode([33, 1, [19, 1, "secret", [1, 1, 1, 1]]]),
        msgspec.msgpack.encode([1, "secret"]),
    ],
)
def test_an_error_repeats_nothing_of_the_frame(frame: Frame) -> None:
    for read in (codec.from_device, codec.from_server):
        error = refusal(read, frame)
        assert "secret" not in str(error) + codec.closing(error)
        assert error.__context__ is None or error.__suppress_context__


_HEADS = [b"\xdd", b"\xdc", b"\xdf", b"\xde", b"\xdb", b"\xc6", b"\xc9", b"\x9f", b"\x8f", b"\xff\xff\xff\xff"]
"""The first bytes of MessagePack arrays, maps, texts, bytes and extensions that claim up to four billion items."""

lies = st.lists(st.one_of(st.sampled_from(_HEADS), st.binary(max_size=4)), max_size=40).map(b"".join)
tagged = st.tuples(st.sampled_from([b"\x9a\x01\x01", b"\x95\x02\x01\x01", b"\x93\x21\x01\x93\x11\x01"]), lies).map(
    b"".join
)
texts = st.one_of(st.text(), lies.map(lambda lie: lie.decode("latin-1")), st.text('{}[]",:type hello0123'))


def peak(read: typing.Callable[[Frame], object], frame: Frame) -> int:
    """Return the most bytes of memory that decoding a frame takes, whether the result is a message or a
    ProtocolError.
    """
    tracemalloc.start()
    try:
        read(frame)
    except ProtocolError:
        pass
    finally:
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return taken


@given(st.one_of(st.binary(), lies, tagged, texts))
@example(b"\xdd\xff\xff\xff\xff")
@example(b"\x9a\x01\x01\xdb\xff\xff\xff\xff")
@example(b"\x91" * 5000)
@example('{"type":"hello","x":' + "[" * 63)
def test_any_frame_gives_a_message_or_one_kind_of_error_within_its_memory(frame: Frame) -> None:
    for read in (codec.from_device, codec.from_server):
        assert peak(read, frame) <= 64 * len(frame) + 16_384


@pytest.mark.long
def test_the_largest_frames_take_a_small_multiple_of_their_limit() -> None:
    ids = b"\xce\x7f\xff\xff\xff" * 50_000
    frames: list[Frame] = [
        msgspec.msgpack.encode(largest(inspect.type_info(m.Ask), "\U0001f426")),
        msgspec.msgpack.encode(largest(inspect.type_info(m.Numbered), "\U0001f426")),
        b"\x95\x02\x01\x01\xdd\x00\x00\xc3\x50" + ids,  # more ids than allowed: refused by their count
        b"\x95\x02\x01\x01\xdd\x00\x00\x1f\xff" + ids,  # the maximum number of ids, and bytes after them
        b"\x91" * m.MOST_FRAME_BYTES,
        "[" * m.MOST_TEXT_BYTES,
        '{"type":"hello","versions":[' + "1," * 8000,
    ]
    for frame in frames:
        for read in (codec.from_device, codec.from_server):
            gc.collect()
            assert peak(read, frame) <= 5 * m.MOST_FRAME_BYTES
