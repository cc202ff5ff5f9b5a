"""Whether what a model wrote is shown as an answer, and a second look at what it was written from.

A small model that was taught to answer in a few words reads a whole passage, and may take what stands beside the
answer for it. So the two sentences or rows that hold most of the question are read again, each by itself; the surest
of the three answers counts. What is not sure enough even then is a guess.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from device_app.cache.states.tree import QKVTree
from device_app.english.query import Query
from device_app.english.units import Unit
from device_app.inference.local import LocalSource
from device_app.inference.sureness import LOOK_TOKENS, LOOKED_THROUGH, LOOKS, MIN_SHIFT, SURE, Sureness
from device_app.knowledge.proof import Subject, asks_whether, decision
from device_app.question.abstention import relevance
from models.sampling import SamplingSettings
from shared import prompt as prompts
from shared.ending import Piece, ended
from shared.prompt import Exchange, Prompt, is_not_found
from shared.trace import Trace
from shared.types import Hit


@dataclass(frozen=True, slots=True)
class Written:
    """The pieces of an answer, the passages it is from, and how sure the model was. `prompt` is the last that was read,
    None where its states are kept already, or nobody has them.
    """

    pieces: Sequence[Piece]
    hits: Sequence[Hit]
    sureness: Sureness
    prompt: Prompt | None = None

    @property
    def text(self) -> str:
        """All of it; "" where nothing was written."""
        return "".join(piece.text for piece in self.pieces).strip()


@dataclass(frozen=True, slots=True)
class Check:
    """Checks the answer to one question, `asked`, with what was found `near` it, the best first. With `lacks`, the
    files say nothing of something that it asks about. What was `fetched` to tell of that is among what is near.
    """

    source: LocalSource
    tree: QKVTree
    trace: Trace
    asked: Query
    near: Sequence[Hit]
    earlier: Sequence[Exchange] = ()
    lacks: str = ""
    fetched: bool = False
    subject: Subject = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "subject", Subject(self.asked, [hit.passage for hit in self.near]))

    def surest(self, first: Written) -> Written:
        """The surest of this answer and those from the sentences that hold most of the question.

        "Yes" and "No" are left as they are, as a sentence alone tells less of what it leaves open; but where passages
        of a server were fetched, which were read in rows of their own, all are read as one to decide that.
        """
        if self._decided(first.text):
            return self._shifted(first) if self.fetched else first
        if self.fetched:
            return first
        best, most = first, first.sureness.of_text
        likeliest = self.subject.likeliest([hit.passage for hit in self.near[:LOOKED_THROUGH]], len(LOOKS))
        for (enough, surer), (place, unit) in zip(LOOKS, likeliest, strict=False):
            if most >= enough:
                break
            look = self._look(self.near[place], unit)
            if look and look.sureness.of_text - surer > most:
                best, most = look, look.sureness.of_text - surer
        return best

    def is_sure(self, look: Written) -> bool:
        """Whether it is shown as an answer. How sure both sides were of what they wrote together is not known: that has
        to stand in what was read.
        """
        if self._decided(look.text):
            if self.fetched:
                return abs(look.sureness.yes_margin) >= MIN_SHIFT
            return look.sureness.decides and not self.lacks
        read = [hit.passage for hit in look.hits]
        return look.sureness.of_text >= SURE and self.subject.stands_in(look.text, read)

    def _decided(self, text: str) -> bool:
        return bool(decision(text)) and asks_whether(self.asked.text)

    def _shifted(self, first: Written) -> Written:
        """ "Yes" or "No", by which way all passages lean that were read, and how much more than those of the files."""
        own = [hit for hit in first.hits if hit.side == "device"]
        shift = self._yes_margin(first.hits) - self._yes_margin(own)
        said = Piece(first.pieces[0].token, "Yes" if shift > 0 else "No")
        return Written([said], first.hits, Sureness(yes_margin=shift))

    def _yes_margin(self, hits: Sequence[Hit]) -> float:
        passages = [hit.passage for hit in hits]
        prompt = prompts.build(self.asked.text, passages, self.source.template, self.earlier).joined()
        sureness = Sureness()
        self._read(prompt, 1, sureness)
        return sureness.yes_margin

    def _look(self, hit: Hit, unit: Unit) -> Written | None:
        """What is answered from that sentence or row alone, if it is an answer in its words."""
        alone = replace(hit.passage, text=unit.text)
        prompt = prompts.build(self.asked.text, [alone], self.source.template, self.earlier)
        most = min(self.source.room(prompt), LOOK_TOKENS)
        if most <= 0:
            return None
        sureness = Sureness()
        look = Written(self._read(prompt, most, sureness, relevance([hit])), [hit], sureness)
        return look if look.text and not is_not_found(look.text) and not decision(look.text) else None

    def _read(self, prompt: Prompt, most: int, sureness: Sureness, relevant: float | None = None) -> list[Piece]:
        trace = Trace()
        self.trace.looks.append(trace)
        stream = self.source.stream(
            prompt,
            SamplingSettings(),
            max_tokens=most,
            relevance=relevant,
            trace=trace,
            tree=self.tree,
            sureness=sureness,
        )
        return list(ended(stream))
