"""The connection to a companion server: made, kept and mended by one thread of its own."""
