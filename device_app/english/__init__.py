"""Pure functions that parse English text. They use no store, model or cache."""
