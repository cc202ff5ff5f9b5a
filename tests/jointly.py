"""Joint answers, which a device and a server generate together, in the test's process; and the same answer by one
process, for comparison.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from device_app.answering.sources.joint import joint_pieces
from device_app.companion.joint.aggregated import Aggregated, JointQuestion
from device_app.companion.link.link import Link
from device_app.inference.local import LocalSource
from models.drafts import draft, likeliest
from models.engine import Engine, Logits
from models.fake import FakeEmbedder, FakeEngine
from models.following_weights import FollowingWeights
from models.sampling import SamplingSettings
from shared.aggregation import rules
from shared.aggregation.messages import Draft, Place, Rule
from shared.aggregation.weights import basis, device_share, log_weight, row_similarities, row_weights
from shared.prompt import CHATML, Prompt, build
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.public import public_prompt
from shared.side import Side
from shared.text import embedded_text
from shared.trace import Trace
from shared.types import StoredPassage
from tests.companion import FewPassages, Served, Slow
from tests.racing import linked

DANUBE = "Which countries does the Danube flow through, and where?"
DIARY = "The Danube flows through ten countries and we saw four of them by boat."
FREE = SamplingSettings(temperature=3.0, seed=7)
"""Sampling with so high a temperature that chance decides as much as the passages."""

HOW: list[tuple[Rule, Place]] = [
    ("coupled", "both"),
    ("algorithm1", "both"),
    ("algorithm1", "device"),
    ("algorithm1", "server"),
    ("greedy", "device"),
]


by_each_rule = pytest.mark.parametrize(("rule", "place"), HOW)

TITLE = "Diary"
BOAT = "Our boat was called Jackdaw, and it was blue."
EVEN = FewPassages().search(FakeEmbedder().embed([DANUBE])[0], 1)[0].similarity
"""The similarity at which the device's passage has the same weight as the server's."""
WARM = SamplingSettings(temperature=4.0, top_k=40, seed=3)


class Flat(Slow):
    """A fake engine with nearly flat logits, so that many different tokens are sampled."""

    def _append(self, sequence: int, tokens: Sequence[int]) -> Logits:
        flat: Logits = super()._append(sequence, tokens) / np.float32(200)
        return flat


def frames_sent(monkeypatch: pytest.MonkeyPatch) -> list[Frame]:
    """Record all frames that links send from now on."""
    sent: list[Frame] = []
    raw = Link._send_raw

    def noted(link: Link, frames: list[Frame]) -> int:
        sent.extend(frames)
        return raw(link, frames)

    monkeypatch.setattr(Link, "_send_raw", noted)
    return sent


@dataclass(frozen=True)
class Asked:
    """A joint question, with the device's prompt, its passages and the similarity of each of them."""

    together: JointQuestion
    prompt: Prompt
    similarities: Sequence[float]
    texts: Sequence[str] = ()

    def weights(self, engine: Engine) -> FollowingWeights | None:
        """Return the weights of the device's passages if they follow the text, else None."""
        every, texts = self.together.weights_every, [embedded_text(TITLE, text) for text in self.texts]
        how = FakeEmbedder(), engine.detokenize, self.together.question, texts, self.similarities, every
        return FollowingWeights(*how) if every else None


def passage(text: str) -> StoredPassage:
    """Return a passage of the person's files."""
    return StoredPassage(1, text, 0, None, None, 1, TITLE, "note", None, (), "diary.md")


def together(
    question: str = DANUBE,
    texts: Sequence[str] = (DIARY,),
    similarity: float = 0.55,
    sampling: SamplingSettings = FREE,
    max_tokens: int = 120,
    rule: Rule = "coupled",
    place: Place | None = None,
    rows: int = 1,
    passages: int = 1,
    weights_every: int = 0,
) -> Asked:
    """Return a joint question with private passages, one row (prompt) for each.

    Weights follow the text after every `weights_every` tokens; 0 for never. The device may send token distributions.
    The rule "greedy" means temperature 0.
    """
    if rule == "greedy":
        sampling = SamplingSettings(repetition_penalty=sampling.repetition_penalty, seed=sampling.seed)
    asked = JointQuestion(
        question, sampling, max_tokens, passages, rows, rule, place, open=True, weights_every=weights_every
    )
    return Asked(asked, build(question, [passage(text) for text in texts]), [similarity] * len(texts), texts)


class Written:
    """A joint answer that is generated to its end; `acting` is called at each token, `opening` once the server has the
    request.
    """

    def __init__(
        self,
        link: Link,
        asked: Asked,
        engine: Engine | None = None,
        acting: "Callable[[Written], object]" = lambda _: None,
        opening: "Callable[[], object]" = lambda: None,
    ) -> None:
        self.tokens: list[int] = []
        self.text = ""
        source = LocalSource(engine or FakeEngine(), CHATML)
        self.joint = joint = Aggregated(link, source, asked.together, Trace(), None)
        if weights := asked.weights(source.engine):
            joint.follow(weights)
        with joint:
            opening()
            for piece in joint_pieces(joint, asked.prompt, asked.similarities):
                self.tokens.append(piece.token)
                self.text += piece.text
                acting(self)
        self.report = joint.report
        self.settled = joint._machine.settled


def by_one(
    asked: Asked, passages: Sequence[m.PublicPassage], device: Engine, server: Engine, template: object = CHATML
) -> list[int]:
    """Return the tokens, with the end token, of the answer as a single process with all passages would generate it."""
    local, far = LocalSource(device, template), LocalSource(server, template)  # type: ignore[arg-type]
    trace, request = Trace(), asked.together
    public = public_prompt(request.question, passages, far.template, request.rows)
    near = row_similarities([passage.similarity for passage in passages], request.rows)
    own = asked.weights(device)
    if own:
        own.add([embedded_text(passage.title, passage.text) for passage in passages])
    decoders = {
        "device": local.decoder(asked.prompt, own or row_weights(asked.similarities), ahead=0, trace=trace, tree=None),
        "server": far.decoder(public, row_weights(near), ahead=0, trace=trace, tree=None),
    }
    share = device_share(log_weight(asked.similarities), log_weight([passage.similarity for passage in passages]))
    written: list[int] = []
    while True:
        if own and (count := basis(len(written), own.every)):
            near = own.similarities(written[:count]).result()
            share = device_share(log_weight(near[: own.rows]) - log_weight(near[own.rows :]), 0.0)
        drafts: dict[Side, Draft] = {}
        whole: dict[Side, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
        for side in ("device", "server"):
            mixture = decoders[side].mixture
            token, distribution = draft(request.by, side, mixture, request.sampling, written)
            drafts[side] = Draft(0, token, distribution)
            known = likeliest(mixture, request.sampling, written, device.info.vocabulary)
            whole[side] = known.probabilities.astype(np.float64)
        if request.by == "greedy":
            chosen = int(np.argmax(rules.mixture(whole["device"], whole["server"], share)))
        else:
            seed, place = request.sampling.seed, len(written)
            decided = rules.decide(request.by, seed, place, share, drafts["device"], drafts["server"])
            assert decided is not None
            chosen = decided
        written.append(chosen)
        if device.is_end(chosen) or len(written) == request.max_tokens:
            if own:
                own.close()
            return written
        for decoder in decoders.values():
            decoder.append(chosen)


def public_passages(asked: Asked) -> list[m.PublicPassage]:
    """Return the passages that the server finds."""
    nearest = FewPassages().search(FakeEmbedder().embed([DANUBE])[0], asked.together.passages)
    return [passage for passage in nearest if passage.similarity >= 0.3]


def expected(asked: Asked, engine: Callable[[], Engine] = FakeEngine) -> list[int]:
    """Return the answer as a single process with all passages generates it."""
    return by_one(asked, public_passages(asked), engine(), engine())


def written(served: Served, asked: Asked, device: FakeEngine | None = None, **rest: object) -> Written:
    """Return the joint answer, written to its end by both sides."""
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        return Written(link, asked, device, **rest)  # type: ignore[arg-type]


def at(count: int, act: Callable[[], object]) -> Callable[[Written], None]:
    """Return a function that calls `act` once the answer has `count` tokens."""

    def acting(joint: Written) -> None:
        if len(joint.tokens) == count:
            act()

    return acting


def idle(served: Served) -> bool:
    """Return whether the server is writing nothing."""
    return not len(served.server.generation._batch)


class Endless(Slow):
    """A fake engine for which no token ends the answer."""

    def is_end(self, token: int) -> bool:
        return False
