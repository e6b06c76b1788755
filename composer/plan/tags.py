"""The three tags: of all inputs, of all but the agent, and one for people."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from composer import __version__
from composer.bases.base import BaseImage
from composer.oci.canonical import compact
from composer.plan.inputs import hash_inputs, lock_inputs
from composer.plan.values import Options, RuntimeLayers, Tags

LONGEST = 128


def make_tags(image: BaseImage, runtime: RuntimeLayers, options: Options, source: str | None = None) -> Tags:
    """The tags of one image; ``source`` is the base as the user wrote it when the image is a re-plan."""
    return Tags(
        source="source-" + _hash(hash_inputs(image, runtime, options)),
        lock="lock-" + _hash(lock_inputs(image, runtime)),
        versioned=versioned_tag(__version__, source or image.source),
    )


def versioned_tag(version: str, base: str) -> str:
    """``VERSION-BASE`` as a valid tag of at most 128 characters, whatever the base is called.

    A scheme and a ``@sha256`` digest are left out; ``registry:5000/a/b:tag`` keeps its parts, joined by dashes.
    """
    name = base.partition("@")[0]
    name = re.sub(r"^(oci|oci-archive|docker-archive|docker-daemon|rootfs):", "", name)
    name = name.rstrip("/").rpartition("/")[2] if name.startswith(("/", ".")) else name
    safe = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "image"
    head = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{version}-{safe}")
    if len(head) <= LONGEST:
        return head
    # Two long names that begin alike must not share a tag.
    digest = hashlib.sha256(base.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{head[: LONGEST - 13]}-{digest}"


def _hash(inputs: dict[str, Any]) -> str:
    return hashlib.sha256(compact(dict(sorted(inputs.items())))).hexdigest()[:32]
