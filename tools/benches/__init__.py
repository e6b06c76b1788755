"""The rows of ``tools/bench``: a file for each subject, each measuring its floor in the same run."""
