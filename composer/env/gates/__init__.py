"""The gates that an environment passes before anybody relies on it."""
