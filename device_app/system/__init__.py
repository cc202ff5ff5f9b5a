"""The device that Jackdaw runs on: battery, processes, user activity, work budgets, services started at login."""
