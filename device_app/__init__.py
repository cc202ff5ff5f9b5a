"""The assistant on the person's own device: knowledge, retrieval, answering, command line."""
