"""Does a prefix keep its promises? The gates of design/portable_env.md as functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from composer.env.built import BuiltEnv
from composer.env.gates.files import Prefix, file_gates
from composer.env.gates.report import Gate
from composer.env.gates.start import start_gates


def verify_files(root: Path, prefix: str = "/.oc", host_paths: Sequence[str] = ()) -> tuple[Gate, ...]:
    """The gates that only read: quick, on any machine. ``host_paths`` must occur in no file."""
    return tuple(file_gates(Prefix.read(root, prefix), host_paths))


def verify_folder(root: Path, prefix: str = "/.oc", host_paths: Sequence[str] = ()) -> tuple[Gate, ...]:
    """All gates of a prefix that lies at ``root``, unpacked or in a stage; needs a machine of its CPU."""
    return verify_files(root, prefix, host_paths) + tuple(start_gates(root, prefix))


def verify_env(env: BuiltEnv) -> tuple[Gate, ...]:
    """All gates of an environment in its stage."""
    return verify_folder(env.root, env.prefix, host_paths=(str(env.root.parent),))
