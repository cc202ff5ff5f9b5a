"""The connection to a companion server: one thread makes it, keeps it and reconnects."""
