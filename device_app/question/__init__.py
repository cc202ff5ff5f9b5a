"""The facts about one question. Every other package may import this one."""
