"""``tools/bench``: every row, or those of the subjects named."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Sequence

from composer.cli.render import table
from composer.env.leave import leave
from composer.store.store import Store
from tools.benches.row import Row
from tools.demonstrate import use_channel

SUBJECTS = ("actions", "start", "compose")


def main(names: Sequence[str]) -> int:
    """Measure and print; the exit status is 1 when a goal is missed."""
    unknown = [name for name in names if name not in SUBJECTS]
    if unknown:
        sys.stderr.write(f"bench: no subject {unknown[0]}; there are {', '.join(SUBJECTS)}\n")
        return 64
    use_channel(Store.open())
    rows = asyncio.run(_measure(names or SUBJECTS))
    table(("WHAT", "OURS", "FLOOR", "x FLOOR", "PEER", "PEER x OURS", "GOAL"), [_cells(row) for row in rows])
    return 1 if any(row.met is False for row in rows) else 0


async def _measure(names: Sequence[str]) -> list[Row]:
    found = []
    for name in names:
        async for row in importlib.import_module(f"tools.benches.{name}").rows():
            sys.stderr.write(f"bench: {row.name}: {row.ours:.2f} {row.unit}\n")
            found.append(row)
    return found


def _cells(row: Row) -> tuple[str, ...]:
    rate = row.unit == "MB/s"
    floor = f"{row.floor:.2f} ({row.floor_is})" if row.floor is not None else "-"
    ratio = "-" if not row.floor else f"{(row.floor / row.ours if rate else row.ours / row.floor):.2f}"
    peer = f"{row.peer:.2f} ({row.peer_is})" if row.peer is not None else "-"
    peers = f"{row.peer / row.ours:.0f}" if row.peer is not None else "-"
    mark = {None: "", True: " met", False: " MISSED"}[row.met]
    goal = f"{row.goal:g}{mark}" if row.goal is not None else "-"
    return (row.name, f"{row.ours:.2f} {row.unit}", floor, ratio, peer, peers, goal)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
