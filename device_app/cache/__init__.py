"""PerCache: answers that are there before the question."""
