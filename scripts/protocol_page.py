"""Writes the generated parts of the protocol's documentation from the code: `python -m scripts.protocol_page`."""

import re
import typing
from inspect import cleandoc
from pathlib import Path

import msgspec
import numpy as np
from msgspec import inspect

from shared.aggregation.distribution import Top, encode
from shared.aggregation.scheduler import OFFERED
from shared.errors import ProtocolError
from shared.protocol import codec, device, server
from shared.protocol import messages as m
from shared.protocol.request import Request

PAGE = Path(__file__).parent.parent / "shared" / "protocol" / "PROTOCOL.md"
SESSION = "kD3vN0t4SecretAtAll"
USAGE = m.Usage(412, 390, 2, 0)
OFFER = m.Offer(
    model="smollm2-135m",
    vocabulary="sha256:5f0c",
    embedder="minilm",
    context=2048,
    requests=4,
    max_tokens=512,
    resume_for_s=60.0,
    pipelines=("plain", "hyde"),
    aggregation=OFFERED,
    model_only=True,
    follows_text=True,
)
PASSAGE = m.PublicPassage(7, "Bergen", "cities.jsonl", "A city in Norway.", 0.5, 0.75)
LIKELY = Top(np.array([314, 504]), np.array([0.25, 0.5], np.float32), whole=False)

FROM_DEVICE: tuple[m.FromDevice, ...] = (
    m.Hello(m.VERSIONS, "sha256:5f0c", "minilm", "jackdaw 0.1.0", m.Resume(SESSION, 17)),
    m.Ask(1, "Where is Bergen?", True, 3, 64, 16),
    m.Ask(2, "Where is Bergen?", True, 0, 64, 16, m.Sampling(0.7, seed=9), (504, 314), "", (7,)),
    m.Start(3, 16, (504, 314)),
    m.Credit(1, 32),
    m.Cancel(1),
    m.Acknowledge(17),
    m.Ping(1),
    m.Ask(4, "Where is Bergen?", True, 3, 64, 0, m.Sampling(0.7, seed=9), ahead=8),
    m.Weight(4, 12.5),
    m.Drafts(4, 0, 0, (504, 314)),
    m.Ask(5, "Where is Bergen?", True, 3, 64, 0, ahead=8, rule="greedy", place="device"),
    m.Targets(5, 0, (504, 314)),
    m.Fetch(5, 2, 256),
    m.Switch(6, 9, 4, 7),
    m.RoundTrip(6, 48000),
    m.FollowingWeight(6, 12.5, 8),
    m.Reweight(6, 16, -0.75),
    m.Ask(7, "Where is Bergen?", True, 3, 64, 16, pipeline="hyde"),
    m.Ask(8, "Write a poem about Bergen.", True, 0, 64, 16),
)
FROM_SERVER: tuple[m.FromServer, ...] = (
    m.Welcome(2, SESSION, True, 2, OFFER),
    m.Goaway("The server restarts.", 60.0),
    m.Closing(m.CloseCode.BUSY.value, "Too many devices.", 5.0, m.VERSIONS),
    m.Numbered(1, m.Queued(1, 2, 800)),
    m.Numbered(2, m.Sources(1, (PASSAGE,))),
    m.Numbered(3, m.Tokens(1, 0, (504, 314))),
    m.Numbered(4, m.Finished(1, "end", USAGE)),
    m.Numbered(5, m.Failed(2, "busy", "The queue is full.", 3.0)),
    m.Numbered(6, m.Weight(4, 13.25)),
    m.Numbered(7, m.Drafts(4, 0, 0, (504, 314))),
    m.Numbered(8, m.Drafts(5, 0, 0, (504,), (encode(LIKELY),), 4100)),
    m.Numbered(9, m.Rest(5, 2, 0, 17, encode(LIKELY))),
    m.Numbered(10, m.Targets(6, 0, (504, 314))),
    m.Numbered(11, m.Switch(6, 9, 4, 7)),
    m.Numbered(12, m.Round(7, 1, "hyde", ("Bergen is a city in the west of Norway.",), (PASSAGE,))),
    m.Pong(1),
)


def page(text: str) -> str:
    """Return the documentation's text with every generated part replaced."""
    parts = {"messages": messages, "limits": limits, "order": order, "codes": codes, "examples": examples}
    marked = r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)"
    return re.sub(marked, lambda match: match[1] + parts[match[2]]() + match[3], text, flags=re.DOTALL)


def messages() -> str:
    """Return a table of the messages of each kind of frame, and a table of the parts of messages."""
    events = typing.get_args(m.Event)
    up = [kind for kind in typing.get_args(m.FromDevice) if kind.__struct_config__.array_like]
    texts = (m.Hello, m.Welcome, m.Goaway, m.Closing)
    rows = ["### Text frames, `type` and fields", *_table([(_tag(kind), _way(kind), kind) for kind in texts])]
    rows += ["### Binary frames of the device", *_table([(_tag(kind), "device → server", kind) for kind in up])]
    down = (m.Numbered, *events, m.Pong)
    ways = ["inside Numbered" if kind in events else "server → device" for kind in down]
    rows += [
        "### Binary frames of the server",
        *_table([(_tag(kind), way, kind) for kind, way in zip(down, ways, strict=True)]),
    ]
    parts = (m.Resume, m.Offer, m.Sampling, m.PublicPassage, m.Usage)
    rows += ["### Parts of messages", *_table([("", "", kind) for kind in parts])]
    return "\n".join(rows) + "\n"


def limits() -> str:
    """Return the table of the limits of frames and sessions."""
    return "\n".join(
        (
            "| limit | value |",
            "|---|---|",
            f"| bytes of a binary frame | {m.MOST_FRAME_BYTES} |",
            f"| bytes of a text frame | {m.MOST_TEXT_BYTES} |",
            f"| opening brackets in a text frame | {m.MOST_BRACKETS} |",
            f"| open requests, whatever the server offers | {m.MOST_REQUESTS} |",
            f"| tokens of an answer | {m.MOST_TOKENS} |",
            f"| Queued events of a request | {m.MOST_QUEUED} |",
            f"| rounds of retrieval of a request | {m.MOST_ROUNDS} |",
            f"| Fetch messages for one position | {m.MOST_FETCHES} |",
            f"| bytes of a piece of a distribution | {m.PIECE_BYTES} |",
            f"| unacknowledged events beyond which no tokens or rounds are sent | {server.MOST_KEPT_EVENTS} |",
            f"| unacknowledged bytes beyond which no tokens or rounds are sent | {server.MOST_KEPT_BYTES} |",
            f"| received events after which a device acknowledges | {device.ACKNOWLEDGE_EVENTS} |",
            f"| received bytes after which a device acknowledges | {device.ACKNOWLEDGE_BYTES} |",
            "",
        )
    )


def order() -> str:
    """Return the table of the messages that a request allows in each state of `Request`."""
    steps: tuple[m.Start | m.Event, ...] = (
        m.Start(1, 8),
        m.Queued(1, 0, 0),
        m.Sources(1, ()),
        m.Round(1, 1, "plain", (), ()),
        m.Tokens(1, 0, (1,)),
        m.Finished(1, "end", USAGE),
        m.Finished(1, "cancelled", USAGE),
        m.Failed(1, "busy", ""),
    )
    places: dict[str, tuple[bool, tuple[m.Event, ...]]] = {
        "searching, to generate": (True, ()),
        "searching": (False, ()),
        "found, waiting": (False, (m.Sources(1, ()),)),
        "found, generating": (True, (m.Sources(1, ()),)),
        "in its answer": (True, (m.Sources(1, ()), m.Tokens(1, 0, (1,)))),
        "ended": (True, (m.Failed(1, "busy", ""),)),
    }
    heads = (
        "Start",
        "Queued",
        "Sources",
        "Round, in version 2 (next number)",
        "Tokens (next index)",
        "Finished end, length",
        "Finished cancelled",
        "Failed",
    )
    rows = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for place, (generate, past) in places.items():
        cells = [_verdict(generate, past, step) for step in steps]
        rows.append(f"| {place} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def codes() -> str:
    """Return the table of the codes with which a connection is closed."""
    rows = [f"| {code.value} | {code.name} | {m.CLOSE_REASONS[code]} |" for code in m.CloseCode]
    return "\n".join(("| code | name | when |", "|---|---|---|", *rows, ""))


def examples() -> str:
    """Return example frames as they are sent: JSON as text, bytes in hex."""
    rows = []
    for said, frame in (
        *((said, codec.device_frame(said)) for said in FROM_DEVICE),
        *((said, codec.server_frame(said)) for said in FROM_SERVER),
    ):
        rows += [f"    {said}", f"        {frame if isinstance(frame, str) else frame.hex(' ')}"]
    return "\n".join(rows) + "\n"


def _verdict(generate: bool, past: tuple[m.Event, ...], step: m.Start | m.Event) -> str:
    request = Request(m.Ask(1, "", generate, 0, 64, 8), by_text=False, rounds=True)
    for event in past:
        request.advance(event)
    if isinstance(step, m.Tokens):
        step = m.Tokens(1, request.index, step.ids)
    try:
        if isinstance(step, m.Start):
            request.start(step)
        else:
            request.advance(step)
    except ProtocolError as error:
        return f"{error.code}"
    return "yes"


def _table(rows: list[tuple[str, str, type]]) -> list[str]:
    lines = ["| | message | way | fields | meaning |", "|---|---|---|---|---|"]
    for tag, way, kind in rows:
        said = inspect.type_info(kind)
        assert isinstance(said, inspect.StructType)
        fields = "; ".join(f"`{field.name}` {_bounds(field.type)}{_default(field)}" for field in said.fields)
        meaning = " ".join(cleandoc(kind.__doc__ or "").split())
        lines.append(f"| {tag} | {kind.__name__} | {way} | {fields} | {meaning} |")
    return [*lines, ""]


def _tag(kind: type[msgspec.Struct]) -> str:
    return f"`{kind.__struct_config__.tag}`"


def _way(kind: type) -> str:
    up, down = kind in typing.get_args(m.FromDevice), kind in typing.get_args(m.FromServer)
    return "both" if up and down else "device → server" if up else "server → device"


def _default(field: inspect.Field) -> str:
    return "" if field.required else f" = {msgspec.json.encode(field.default).decode()}"


def _bounds(kind: inspect.Type) -> str:
    """Return a type's bounds as text."""
    words = "yes or no"
    match kind:
        case inspect.StructType():
            words = kind.cls.__name__
        case inspect.UnionType():
            words = " or ".join(
                sorted({_bounds(part) for part in kind.types}, key=lambda bound: (bound == "nothing", bound))
            )
        case inspect.VarTupleType():
            words = f"list of {kind.min_length or 0}..{kind.max_length}: {_bounds(kind.item_type)}"
        case inspect.IntType():
            words = f"{kind.ge}..{kind.le}"
        case inspect.FloatType():
            words = f"number, {f'{kind.ge:g}' if kind.gt is None else f'above {kind.gt:g}'} to {kind.le or 0:g}"
        case inspect.StrType():
            words = f"text of {kind.min_length or 0}..{kind.max_length} characters"
        case inspect.BytesType():
            words = f"{kind.min_length}..{kind.max_length} bytes"
        case inspect.LiteralType():
            words = " or ".join(f'"{value}"' for value in sorted(map(str, kind.values)))
        case inspect.NoneType():
            words = "nothing"
    return words


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
