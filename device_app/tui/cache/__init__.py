"""The cache screen: kept answers and attention states, the savings, suggested questions, and limits."""
