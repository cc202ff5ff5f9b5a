"""Reads a phone's messages, contacts and calls as documents, each by consent. Independent of models."""
