"""Readers that convert files to documents: one module per format, chosen by the file's name. No store, no model."""

from device_app.knowledge.readers.folders import FoundFile, walk
from device_app.knowledge.readers.formats import VERSION, read, readable
from device_app.knowledge.readers.maildir import identity
from device_app.knowledge.readers.opening import MAX_BYTES

__all__ = ["MAX_BYTES", "VERSION", "FoundFile", "identity", "read", "readable", "walk"]
