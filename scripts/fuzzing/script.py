"""The choices of a fuzzing target, made from the fuzzer's bytes."""

from shared.protocol.codec import Frame


class Script:
    """The fuzzer's bytes as a source of choices; when they run out, every choice is 0."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def number(self, below: int) -> int:
        """Return a number of at least 0 and less than `below`, from one byte."""
        self._at += 1
        return self._data[self._at - 1] % below if self._at <= len(self._data) else 0

    def frame(self) -> Frame:
        """Return bytes or text, possibly with lone surrogates."""
        size = self.number(256)
        data = self._data[self._at : self._at + size]
        self._at += size
        return data if size % 2 else data.decode("utf-8", "surrogateescape")
