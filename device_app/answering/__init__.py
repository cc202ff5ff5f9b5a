"""Answers questions: `assistant` runs the steps, `planner` decides which step is next."""
