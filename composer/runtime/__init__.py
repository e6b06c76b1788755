"""Engines that start sandboxes, all behind `composer.runtime.engine.Engine`."""
