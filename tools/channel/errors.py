"""The errors that only this tool raises; the rest of the family is composer's."""

from __future__ import annotations

from composer.errors import ComposerError


class ToolMissingError(ComposerError):
    """A program that the tool runs is not installed."""

    code, exit_status = "tool_missing", 69


class RecipeError(ComposerError):
    """A Debian package or wheel is not laid out as its recipe expects."""

    code, exit_status = "bad_recipe", 65
