"""Plugins of the agent."""
