"""From a sink as a user writes it to its destination."""

from __future__ import annotations

from pathlib import Path

from composer.bases.layout import split_name
from composer.errors import UsageError
from composer.sinks.layout import LayoutSink, layout_sink
from composer.sinks.sink import Sink
from composer.store.store import Store

FORMS = "oci:DIR[:NAME], oci-archive:FILE[:NAME], docker-archive:FILE[:NAME], docker-daemon:[NAME]"


def open_sink(text: str | None, name: str, store: Store) -> Sink:
    """The sink that ``text`` names, the store itself for None; ``name`` is the image's where ``text`` has none.

    Raises `UsageError` for an unknown scheme.
    """
    if text is None:
        return LayoutSink(store.layout, name, name)
    scheme, _, rest = text.partition(":")
    if scheme == "docker-daemon":
        from composer.sinks.daemon import DaemonSink

        return DaemonSink(rest or name, store, text)
    if scheme not in ("oci", "oci-archive", "docker-archive"):
        raise UsageError(text, "is not a destination", f"write one of {FORMS}")
    path, tag = split_name(rest)
    if not rest or not path.name:
        raise UsageError(text, "names no path after its scheme", f"write one of {FORMS}")
    if scheme == "oci":
        return layout_sink(path, tag or name)
    from composer.sinks.archive import DockerArchive, OciArchive

    return (OciArchive if scheme == "oci-archive" else DockerArchive)(Path(path), tag or name)
