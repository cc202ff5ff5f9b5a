"""The public corpus: built from files, searched by clusters (TeleRAG's ground)."""
