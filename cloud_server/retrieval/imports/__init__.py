"""Vectors that were made elsewhere, with their texts: read in blocks, checked, and made into the shards of an index."""
