"""What requests are served with, and whose they are."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

from cloud_server.access.quota import Quota
from cloud_server.engine.generation import Generation
from cloud_server.monitoring.metrics import Metrics
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.pipeline import Pipeline
from shared.protocol import messages as m
from shared.protocol.server import ServerSession


@dataclass(frozen=True, slots=True)
class RequestServices:
    """What requests are served with. `draining` says whether the server takes nothing new."""

    answering: Answering
    pipeline: Pipeline
    generation: Generation
    readers: Executor
    metrics: Metrics
    log_questions: bool
    draining: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Device:
    """Whose requests they are. `name` is its token's, `send` says what becomes of a request, as far as the session lets
    it. `new_key` gives the job of the request of this number a key, `release_key` forgets the key.
    """

    session: ServerSession
    name: str
    parts: RequestServices
    quota: Quota
    send: Callable[[m.Event], None]
    new_key: Callable[[int], int]
    release_key: Callable[[int], None]
