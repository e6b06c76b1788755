"""Output of commands: bounded windows and spill files."""
