"""Requests and their life, without I/O: states, replay ring, credit, the table of ids."""
