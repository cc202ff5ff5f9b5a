"""Imports vectors made elsewhere, with their texts: reads them in blocks, checks them, and makes shards of an index."""
