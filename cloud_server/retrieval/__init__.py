"""The public corpus: an index of passages, built from files and searched by clusters of vectors, as in TeleRAG."""
