"""File operations."""
