"""The admission of connections: the types for an admitted and a refused connection, and the server's offer to
devices.
"""

from dataclasses import dataclass
from http import HTTPStatus

from cloud_server.access.tokens import TokenEntry
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.catalog import PIPELINES
from cloud_server.settings import Settings
from shared.aggregation import scheduler
from shared.protocol import messages as m


@dataclass(frozen=True, slots=True)
class AdmissionRefused:
    """A refused connection: the HTTP status, and after how many seconds the device may retry; None if a retry is
    useless.
    """

    status: HTTPStatus
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AdmissionSlot:
    """The place of an admitted connection. The place counts as taken until it is released, whether or not the
    connection is served.
    """

    entry: TokenEntry


def offer(settings: Settings, answering: Answering) -> m.Offer:
    """Return this server's model, embedder and limits, for the devices."""
    engine = answering.engine
    return m.Offer(
        model=engine.info.model,
        vocabulary=engine.vocabulary_hash(),
        embedder=answering.embedder.fingerprint,
        context=engine.info.prompt_room,
        requests=16,
        max_tokens=settings.limits.max_tokens,
        resume_for_s=settings.serve.resume_s,
        pipelines=tuple(PIPELINES),
        aggregation=scheduler.OFFERED,
        model_only=settings.limits.model_only,
        follows_text=True,
    )
