"""What a PDF needs beside its bytes. Apart from pdf.py, whose library takes half a second to import."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PdfOptions:
    """The passwords to try, and what was recognised on pages that are pictures, from the first page on."""

    passwords: Sequence[str] = ()
    page_texts: Sequence[str] = ()
