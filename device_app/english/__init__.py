"""Everything that reads English, as pure functions: it knows no store, no model and no cache."""
