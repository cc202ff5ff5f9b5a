"""The connection to a companion server: one thread opens the connection, keeps it alive and reconnects."""
