"""Puts a question plainly by its meaning: as the plain question whose form, in a table, is the nearest to its own."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Final

from device_app.english.phrasings import has_known_deeds, masked, same_cues, shown, table
from shared.errors import JackdawError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from models.engine import Embedder

_MEASURED_WITH: Final = "all-MiniLM-L6-v2"
_LEAST_COSINE: Final = 0.8
"""The least cosine of two forms that ask the same, measured with this embedder: at .75 every third answer is wrong."""


@dataclass(slots=True)
class Phrasings:
    """The table of forms with its vectors, which are kept in `folder`."""

    embedder: Callable[[], Embedder]
    folder: Path
    _vectors: npt.NDArray[np.float32] | None = field(default=None, init=False)

    def plain(self, question: str, today: date, is_name: Callable[[str], bool]) -> str | None:
        """Return the plain question that means the same; None if there is none, or the embedder is not at hand.

        Every word of the question that does not ask has to find a place in the plain question.
        """
        form = masked(question, today, is_name)
        places = [
            place
            for place, each in enumerate(table())
            if form and each.masks == form.masks and same_cues(each.text, form.text) and has_known_deeds(form.text)
        ]
        if form is None or not places:
            return None
        try:
            embedder = self.embedder()
            if not embedder.fingerprint.startswith(_MEASURED_WITH):
                return None
            cosines = self._of_table(embedder)[places] @ embedder.embed([shown(form.text)])[0]
        except (JackdawError, OSError):
            return None  # whoever needs the embedder for more than this says what is missing
        best = int(cosines.argmax())
        return form.filled(table()[places[best]].plain) if cosines[best] >= _LEAST_COSINE else None

    def _of_table(self, embedder: Embedder) -> npt.NDArray[np.float32]:
        """Return the vectors of the table, shape (forms, dimensions), computed once for each table and embedder."""
        if self._vectors is None:
            import numpy as np

            from storage.blobs import Blobs

            texts = [shown(each.text) for each in table()]
            key = hashlib.sha256("\n".join((embedder.fingerprint, *texts)).encode()).hexdigest()[:32]
            kept = Blobs(self.folder)
            try:
                self._vectors = np.load(io.BytesIO(kept.read(key)))
            except (OSError, ValueError, EOFError):
                self._vectors = embedder.embed(texts)
                written = io.BytesIO()
                np.save(written, self._vectors)
                kept.write(key, [written.getvalue()])
        return self._vectors
