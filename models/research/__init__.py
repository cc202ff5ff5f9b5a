"""A torch engine for measuring published methods. It is in the source checkout only, not in the package."""
