"""The catalog of model weights, and the folder that stores them."""

from models.catalog.entries import CATALOG, Entry, Kind, Shape, find, least_for_writing, own_file
from models.catalog.weights import Weights

__all__ = ["CATALOG", "Entry", "Kind", "Shape", "Weights", "find", "least_for_writing", "own_file"]
