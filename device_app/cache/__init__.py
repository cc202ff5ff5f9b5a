"""PerCache: answers and attention states prepared before a question is asked."""
