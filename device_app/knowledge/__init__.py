"""The person's files: read, cut, embedded, stored and found again."""
