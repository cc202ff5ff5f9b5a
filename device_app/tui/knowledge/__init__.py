"""The knowledge: what has been read, what is being read, what could not be; and the first run, which begins it."""
