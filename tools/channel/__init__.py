"""A local conda channel made of Debian packages and PyPI wheels, laid out as conda-forge lays its packages out.

It stands in for conda-forge where that cannot be reached. ``python -m tools.channel --out DIR`` is the only interface.
"""
