"""Pipelines of retrieval and generation: they take a question to its passages and to the job that writes its answer."""
