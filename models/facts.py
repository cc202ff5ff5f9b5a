"""Stores facts measured on this machine in a JSON file beside the weights: verdicts of tests, costs of passes."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class FactsFile:
    """A JSON file of facts by key. An unreadable file counts as empty; nothing is stored in a read-only folder."""

    folder: Path
    name: str

    def load(self) -> dict[str, Any]:
        """Return all facts by key."""
        try:
            kept = json.loads((self.folder / self.name).read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return kept if isinstance(kept, dict) else {}

    def keep(self, key: str, fact: Any) -> None:
        """Store a fact, replacing any earlier fact with this key."""
        import tempfile  # only now: it takes some ms to import, and facts are rarely stored

        facts = {**self.load(), key: fact}
        with suppress(OSError):  # if the folder is not writable, the fact is measured again next time
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=f".{self.name}-")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(facts, file, indent=1)
            Path(name).replace(self.folder / self.name)
