"""Everything that parses English, as pure functions, independent of stores, models and caches."""
