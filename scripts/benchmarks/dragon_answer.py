"""The arms of the benchmark `dragon` by name, and the type of a measured answer: with its timestamps and bytes.

In some arms one side of a joint answer, device or server, decides every final token from both sides' drafts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from models.sampling import SamplingSettings
from shared.aggregation.messages import Place, Rule
from shared.aggregation.scheduler import Aggregation
from shared.protocol import messages as m
from shared.side import Side

Arm = Literal[
    "device_only",
    "device_only_greedy",
    "token_wise",
    "sequence_wise",
    "sequence_wise_compact",
    "algorithm1",
    "algorithm1_both",
    "algorithm1_device",
    "algorithm1_server",
    "coupled",
    "greedy",
]

FirstArm = Arm | Literal["drcg_text", "drcg_kv", "server_only"]

FREE = SamplingSettings(temperature=0.7, min_p=0.05)
JOINT: dict[Arm, tuple[Rule, Place | None]] = {
    "algorithm1": ("algorithm1", "device"),
    "coupled": ("coupled", None),
    "greedy": ("greedy", None),
}
"""For each arm that is a joint answer of the product: its rule, and the side that decides the final tokens. Algorithm 1
starts on the device; its scheduler may then change the side.
"""

WAYS: dict[Arm, Aggregation] = {
    "algorithm1": "scheduled",
    "algorithm1_both": "both",
    "algorithm1_device": "device",
    "algorithm1_server": "server",
}
"""For each arm that uses Algorithm 1, the side that decides the final tokens, or how that side is chosen."""


def rule_and_place(arm: Arm) -> tuple[Rule, Place | None]:
    """Return the rule of a joint answer, and the side that decides its final tokens."""
    way = WAYS.get(arm)
    return JOINT[arm] if way is None or way == "scheduled" else ("algorithm1", way)


@dataclass(slots=True)
class TimedAnswer:
    """An answer with its measurements. Times are of `time.perf_counter`: when it was requested, when the device had
    prefilled its prompt, and when each token was known. Bytes are those of the whole request, and those without its
    question and passages.
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
    changes: int = 0
    passages: Sequence[m.PublicPassage] = ()

    @property
    def ms_per_token(self) -> float:
        """Milliseconds per token between the first and the last token; if all came at once, since the prefill."""
        if self.at[0] == self.at[-1]:
            return self.ms_with_start
        return (self.at[-1] - self.at[0]) / (len(self.at) - 1) * 1000

    @property
    def ms_with_start(self) -> float:
        """Milliseconds per token, from the end of the device's prefill to the last token."""
        return (self.at[-1] - self.read_at) / len(self.at) * 1000

    @property
    def ttft_ms(self) -> float:
        """Milliseconds from the question to the first token."""
        return (self.at[0] - self.asked_at) * 1000

    def late(self, step_s: float) -> float:
        """Return the share of tokens, in percent, that came more than 1.5 device steps after the previous token."""
        gaps = [after - before for before, after in zip(self.at, self.at[1:], strict=False)]
        return 100 * sum(gap > 1.5 * step_s for gap in gaps) / max(len(gaps), 1)
