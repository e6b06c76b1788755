"""Pure planning: values in, exact bytes out; no network, clock or disk."""
