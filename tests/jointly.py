"""Answers that a device and a server write together, in this process; and the same written by one process alone."""

from collections.abc import Callable, Sequence

from device_app.link.link import Link
from device_app.sources.aggregated import AHEAD, Aggregated, Together, joint_pieces
from device_app.sources.local import LocalSource
from models.engine import Engine
from models.fake import FakeEngine
from models.sampling import SamplingSettings, distribution
from shared.aggregation import rules
from shared.aggregation.messages import Draft, Side
from shared.aggregation.weights import device_share, log_weight
from shared.prompt import CHATML, build
from shared.protocol import messages as m
from shared.public import public_prompt
from shared.trace import Trace
from shared.types import StoredPassage

DANUBE = "Which countries does the Danube flow through, and where?"
DIARY = "The Danube flows through ten countries and we saw four of them by boat."
FREE = SamplingSettings(temperature=3.0, seed=7)
"""Chance decides as much as what stands in the passages."""


def passage(text: str) -> StoredPassage:
    """One of a person's own."""
    return StoredPassage(1, text, 0, None, None, 1, "Diary", "note", None, (), "diary.md")


def together(
    question: str = DANUBE,
    texts: Sequence[str] = (DIARY,),
    similarity: float = 0.55,
    sampling: SamplingSettings = FREE,
    max_tokens: int = 120,
) -> Together:
    """A question with private passages, a row each."""
    prompt = build(question, [passage(text) for text in texts])
    return Together(question, prompt, [similarity] * len(texts), sampling, max_tokens, 1)


class Written:
    """An answer, written to its end; `acting` is called at each token."""

    def __init__(
        self,
        link: Link,
        asked: Together,
        engine: Engine | None = None,
        acting: "Callable[[Written], object]" = lambda _: None,
    ) -> None:
        self.tokens: list[int] = []
        self.text = ""
        source = LocalSource(engine or FakeEngine(), CHATML)
        joint = Aggregated(link, source, asked, Trace(), None)
        self.joint = joint
        for piece in joint_pieces(joint):
            self.tokens.append(piece.token)
            self.text += piece.text
            acting(self)
        self.report = joint.report
        self.settled = joint._machine.settled


def by_one(
    asked: Together, passages: Sequence[m.PublicPassage], device: Engine, server: Engine, template: object = CHATML
) -> list[int]:
    """The answer as one process writes it that holds all passages, token by token; its end token included."""
    local, far = LocalSource(device, template), LocalSource(server, template)  # type: ignore[arg-type]
    trace = Trace()
    decoders = {
        "device": local.decoder(asked.prompt, asked.similarities, ahead=0, trace=trace, tree=None),
        "server": far.decoder(
            public_prompt(asked.question, passages, far.template), (1.0,), ahead=0, trace=trace, tree=None
        ),
    }
    share = device_share(log_weight(asked.similarities), log_weight([one.similarity for one in passages]))
    written: list[int] = []
    while True:
        drafts: dict[Side, Draft] = {}
        for side in ("device", "server"):
            left = distribution(decoders[side].mixture, asked.sampling, written)
            token = rules.draft("coupled", side, asked.sampling.seed, len(written), left.tokens, left.probabilities)
            drafts[side] = Draft(0, token, None)
        chosen = rules.decide("coupled", asked.sampling.seed, len(written), share, drafts["device"], drafts["server"])
        assert chosen is not None
        written.append(chosen)
        if device.is_end(chosen) or len(written) == asked.max_tokens:
            return written
        for decoder in decoders.values():
            decoder.append(chosen)


__all__ = ["AHEAD", "by_one", "together"]
