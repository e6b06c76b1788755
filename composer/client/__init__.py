"""The client of the agent: asyncio first, a synchronous facade on it."""
