"""Put a small image into a sink on a full disk: ``python -m tests.integration.full_disk FOLDER SINK``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from composer.bases.open import open_base
from composer.errors import ComposerError
from composer.plan.append import plan_append
from composer.plan.values import Options, PlannedBlob
from composer.progress import silent
from composer.sinks.open import open_sink
from composer.store.store import Store
from tests.kit.images import AMD64, member, runtime, tar


def main(folder: Path, sink: str) -> int:
    """Build; the exit status is the error's, and its one line goes to stderr."""
    base = folder / "base.tar"
    base.write_bytes(tar(member("a", data=os.urandom(1 << 20))))
    store = Store.open(folder / ("full" if sink == "store" else "store"))
    try:
        source = open_base(f"rootfs:{base}", store)
        plan = plan_append(source.resolve(AMD64), runtime(store), Options())

        @contextmanager
        def read(blob: PlannedBlob) -> Iterator[BinaryIO]:
            with source.open_layer(blob.descriptor) as file:
                yield file

        target = None if sink == "store" else f"{sink}:{folder / 'full' / 'out'}"
        open_sink(target, "made:1", store).apply(plan, read, silent)
    except ComposerError as error:
        sys.stderr.write(f"{error}\n")
        left = [*store.layout.references(), *(store.root / "tmp").iterdir(), *(store.layout.root / "tmp").glob("*")]
        return 1 if left else error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
