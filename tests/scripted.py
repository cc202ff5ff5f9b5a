"""A fake engine that writes what a test wants."""

import time
from collections.abc import Mapping, Sequence

from models.engine import Logits
from models.fake import END, FakeEngine


class Scripted(FakeEngine):
    """Replies to a prompt that contains one of the keys with the key's text, to other prompts as the fake engine does.

    A reply of None never ends. Characters of `unsure` get a small probability.
    """

    def __init__(
        self, replies: Mapping[str, str | None], *, unsure: str = "", seconds: float = 0.0, sequences: int = 4
    ) -> None:
        super().__init__(sequences=sequences)
        self._replies, self._unsure, self._seconds = replies, set(unsure.encode()), seconds

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        return self._directed(sequence, super().prefill(sequence, tokens))

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        time.sleep(self._seconds)
        return {sequence: self._directed(sequence, logits) for sequence, logits in super().decode(tokens).items()}

    def _directed(self, sequence: int, logits: Logits) -> Logits:
        held = bytes(token if token < END else 0 for token in self.tokens(sequence))
        prompt, _, said = held.rpartition(b"assistant\n")
        key = next((key for key in self._replies if key.encode() in prompt), None)
        if key is None:
            return logits
        reply = self._replies[key]
        text = b"abcdefghij klm. " * 99 if reply is None else reply.encode()
        following = text[len(said)] if len(said) < len(text) else END
        directed = logits.copy()
        directed[directed.argmax()] -= 20
        directed[following] += 3 if following in self._unsure else 20
        return directed
