"""The cache screen: kept answers and states, the savings, suggested questions, and limits."""
