"""The options for reading a PDF. Separate from pdf.py, whose library takes half a second to import."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PdfOptions:
    """The passwords to try, and the texts recognised on pages that are pictures, from the first page on."""

    passwords: Sequence[str] = ()
    page_texts: Sequence[str] = ()
