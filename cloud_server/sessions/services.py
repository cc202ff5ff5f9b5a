"""The services that all requests share, and the device to which a request belongs."""

from collections.abc import Callable
from dataclasses import dataclass

from cloud_server.access.quota import Quota
from cloud_server.engine.generation import Generation
from cloud_server.monitoring.metrics import Metrics
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.pipeline import Pipeline
from cloud_server.sessions.threads import RequestThreads
from shared.protocol import messages as m
from shared.protocol.server import ServerSession


@dataclass(frozen=True, slots=True)
class RequestServices:
    """The services that requests use. `draining` returns whether the server accepts no new requests; `model_only`:
    requests without passages are answered, too, by the model alone.
    """

    answering: Answering
    pipeline: Pipeline
    generation: Generation
    threads: RequestThreads
    metrics: Metrics
    log_questions: bool
    draining: Callable[[], bool]
    model_only: bool = True


@dataclass(frozen=True, slots=True)
class Device:
    """The device to which requests belong. `name` is its token's name; `send` sends an event if the session allows it.

    `new_key` returns a job key for the request with the given number; `release_key` releases a key.
    """

    session: ServerSession
    name: str
    parts: RequestServices
    quota: Quota
    send: Callable[[m.Event], None]
    new_key: Callable[[int], int]
    release_key: Callable[[int], None]
