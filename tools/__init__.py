"""Programs for people who work on the project: demo, test, bench, the local channel."""
