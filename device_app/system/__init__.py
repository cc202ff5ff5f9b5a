"""The device that Jackdaw runs on: its conditions (power, charge, heat, load), processes, user activity, work budgets,
services started at login.
"""
