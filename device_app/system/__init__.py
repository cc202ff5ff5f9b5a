"""The device that Jackdaw runs on: power, heat, load, processes, user activity, budgets for work, services."""
