"""PerCache: answers and attention states kept ahead of the question."""
