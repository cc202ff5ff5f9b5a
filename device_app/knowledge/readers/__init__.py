"""Readers that convert files to documents: one module per format, chosen by the file's name. Independent of models."""

from device_app.knowledge.readers.folders import FoundFile, walk
from device_app.knowledge.readers.formats import VERSION, cleaned, read, readable
from device_app.knowledge.readers.maildir import identity
from device_app.knowledge.readers.opening import MAX_BYTES
from device_app.knowledge.readers.pdf_options import PdfOptions

__all__ = ["MAX_BYTES", "VERSION", "FoundFile", "PdfOptions", "cleaned", "identity", "read", "readable", "walk"]
