"""The person's files: read, split into passages, embedded, stored and retrieved."""
