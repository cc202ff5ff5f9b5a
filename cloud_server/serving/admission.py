"""What a connection gets at the door: a place, or why there is none; and what the server offers."""

from dataclasses import dataclass
from http import HTTPStatus

from cloud_server.access.tokens import TokenEntry
from cloud_server.pipelines.answering import Answering
from cloud_server.settings import Settings
from shared.protocol import messages as m


@dataclass(frozen=True, slots=True)
class AdmissionRefused:
    """Why a connection is not let in, and after how many seconds it may be tried again."""

    status: HTTPStatus
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AdmissionSlot:
    """That of a connection which was let in: it counts until it is given back, served or not."""

    entry: TokenEntry


def offer(settings: Settings, answering: Answering) -> m.Offer:
    """What this server is and gives."""
    engine = answering.engine
    return m.Offer(
        model=engine.info.model,
        vocabulary=engine.vocabulary_hash(),
        embedder=answering.embedder.fingerprint,
        context=engine.info.prompt_room,
        requests=16,
        max_tokens=settings.limits.max_tokens,
        resume_for_s=settings.serve.resume_s,
    )
