"""Make the agent's one file: ``python -m tools.bundle_agent FOLDER FILE``, where FOLDER holds an unpacked prefix.

The layer is made by `composer.layers.agent`, which does the same; this is for looking at the file, or for trying it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from composer.env.build import PREFIX, machine_of
from composer.env.bytecode import PrivatePython
from composer.errors import ComposerError
from composer.layers.agent import NAME, bundle, source_digest, sources
from composer.oci.platform import Platform


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file; prints its size in bytes and the digest of the agent's source."""
    parser = argparse.ArgumentParser(prog="bundle_agent", description="Make agent.pyz.")
    parser.add_argument("folder", type=Path, help="an unpacked prefix, whose Python compiles the agent")
    parser.add_argument("file", type=Path, help="what to write")
    parser.add_argument("--prefix", default=PREFIX, help="where the file is in the image, as tracebacks show it")
    options = parser.parse_args(arguments)
    modules = sources()
    try:
        python = PrivatePython(options.folder.absolute(), machine_of(Platform.host()))
        bundle(modules, python, options.file, f"{options.prefix}/{NAME}")
    except ComposerError as error:
        print(f"bundle_agent: {error}", file=sys.stderr)
        return error.exit_status
    print(f"{options.file}: {options.file.stat().st_size} bytes, source {source_digest(modules)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
