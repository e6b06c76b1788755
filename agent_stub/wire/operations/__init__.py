"""Typed bodies of every operation: requests, events and replies."""
