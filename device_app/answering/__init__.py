"""From a question to its answer: `assistant` is the story, `planner` decides each step of it."""
