"""Runs Jackdaw on an emulated aarch64 Debian: its engine's tests, what is exact with which build, a question."""
