"""The arms of `dragon` by name, and an answer of one of them with its moments and bytes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from models.sampling import SamplingSettings
from shared.aggregation.messages import Place, Rule
from shared.protocol import messages as m
from shared.side import Side

Arm = Literal[
    "device_only",
    "device_only_greedy",
    "token_wise",
    "sequence_wise",
    "sequence_wise_compact",
    "algorithm1",
    "coupled",
    "greedy",
]

FirstArm = Arm | Literal["drcg_text"]

FREE = SamplingSettings(temperature=0.7, min_p=0.05)
JOINT: dict[Arm, tuple[Rule, Place | None]] = {
    "algorithm1": ("algorithm1", "device"),
    "coupled": ("coupled", None),
    "greedy": ("greedy", None),
}
"""How the product writes together. Algorithm 1 begins on the device and goes where its scheduler wants it."""


@dataclass(slots=True)
class TimedAnswer:
    """An answer. Moments are of `time.perf_counter`: when it was asked, when the device had read its prompt, and when
    each token was known. Bytes are those of the whole request, and without its question and passages.
    """

    tokens: list[int]
    at: list[float]
    asked_at: float
    read_at: float
    up: int = 0
    down: int = 0
    up_writing: int = 0
    down_writing: int = 0
    judged: dict[Side, tuple[int, int]] = field(default_factory=dict)
    alone: str = ""
    passages: Sequence[m.PublicPassage] = ()

    @property
    def ms_per_token(self) -> float:
        """From the first token that was shown to the last; where all came at once, from when the prompt was read."""
        if self.at[0] == self.at[-1]:
            return self.ms_with_start
        return (self.at[-1] - self.at[0]) / (len(self.at) - 1) * 1000

    @property
    def ms_with_start(self) -> float:
        """From when the device had read its prompt to the last token, over all of them."""
        return (self.at[-1] - self.read_at) / len(self.at) * 1000

    @property
    def ttft_ms(self) -> float:
        """From the question to the first token."""
        return (self.at[0] - self.asked_at) * 1000

    def late(self, step_s: float) -> float:
        """Tokens of a hundred that came more than one and a half steps of the device after the one before."""
        gaps = [after - before for before, after in zip(self.at, self.at[1:], strict=False)]
        return 100 * sum(gap > 1.5 * step_s for gap in gaps) / max(len(gaps), 1)
