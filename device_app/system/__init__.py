"""The device that Jackdaw runs on: battery, processes, who is active, what work may cost, services at login."""
