"""From a portable prefix to deterministic layers."""
