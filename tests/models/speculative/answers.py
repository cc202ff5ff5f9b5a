"""Answers of fake engines, with and without drafts."""

from collections.abc import Sequence

import numpy as np

from device_app.inference.local import LocalSource
from models.engine import Logits
from models.fake import END, FakeEngine
from models.sampling import SamplingSettings
from models.speculative.costs import PassCosts
from models.speculative.drafting import Drafting
from shared.prompt import CHATML, Prompt, build
from shared.trace import Trace
from shared.types import StoredPassage

CHEAP = PassCosts(((1, 1.0), (4, 1.3), (16, 2.0)), is_exact=True)
NEW = "quick wolves jump from box to mud"


class Fresh(FakeEngine):
    """A fake engine whose text is nowhere in the prompt: the passage's text with each byte one higher."""

    def _append(self, sequence: int, tokens: Sequence[int]) -> Logits:
        logits = super()._append(sequence, tokens)
        return logits if logits.argmax() == END else np.roll(logits, 1)


def asked(*texts: str) -> Prompt:
    passages = [
        StoredPassage(number, text, 0, None, None, number, f"Note {number}", "note", None, (), "/note")
        for number, text in enumerate(texts)
    ]
    return build("Which?", passages, CHATML)


def written(
    engine: FakeEngine, drafting: Drafting, prompt: Prompt, sampling: SamplingSettings, most: int = 200
) -> tuple[list[int], Trace]:
    trace = Trace()
    stream = LocalSource(engine, CHATML, drafting).stream(prompt, sampling, max_tokens=most, trace=trace)
    return [piece.token for piece in stream], trace
