"""Pipelines of retrieval and generation: they find the passages for a question and make the job that writes its
answer.
"""
