"""Sessions: a persistent shell on a pty, and plain execution."""
