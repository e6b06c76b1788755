"""Puts a complete agent runtime into any container image: layers made once, appended as manifests only."""
