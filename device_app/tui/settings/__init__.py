"""Settings and models: what can be chosen, what it is about, what it costs."""
