"""Processes: their trees, their end, their environment, their user."""
