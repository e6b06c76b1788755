"""Records of finished envs: written last and by rename, so that an env is whole or not there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from composer.env.built import BuiltEnv
from composer.errors import ComposerError
from composer.layers.layer import Layer
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.mediatype import Compression
from composer.oci.platform import Platform
from composer.plan.values import LAYOUT_VERSION
from composer.store.replace import replace_file
from composer.store.store import Store


@dataclass(frozen=True, slots=True)
class EnvRecord:
    """A finished env: what it was made from, and its layers in order."""

    key: str
    lock_digest: Digest
    prefix: str
    platform: Platform
    layers: tuple[Layer, ...]
    packages: tuple[dict[str, Any], ...]

    def as_json(self) -> str:
        """The record's file."""
        return json.dumps(
            {
                "key": self.key,
                "lock_digest": self.lock_digest,
                "prefix": self.prefix,
                "platform": str(self.platform),
                "layers": [_layer_json(layer) for layer in self.layers],
                "packages": list(self.packages),
            },
            indent=1,
        )


def env_key(lock_digest: Digest, prefix: str, platform: Platform, compression: Compression) -> str:
    """The name of an env's record: 64 hexadecimal digits over all that decides its layers' bytes."""
    content = [LAYOUT_VERSION, lock_digest, prefix, str(platform), compression]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def find_env(store: Store, key: str) -> tuple[Layer, ...] | None:
    """The layers of an env that is finished and whole; None when it must be made."""
    record = _read(_path(store, key))
    if record is None:
        return None
    whole = all(store.blobs.has(layer.descriptor.digest, layer.descriptor.size) for layer in record.layers)
    return record.layers if whole else None


def save_env(store: Store, key: str, env: BuiltEnv, layers: tuple[Layer, ...]) -> None:
    """Record an env whose layers are all in the store."""
    packages = tuple({**asdict(package), "files": len(package.files)} for package in env.packages)
    record = EnvRecord(key, env.lock_digest, env.prefix, env.platform, layers, packages)
    replace_file(_path(store, key), record.as_json().encode())


def find_layer(store: Store, path: Path) -> Layer | None:
    """The layer that a record names, when the store still has it."""
    try:
        layer = _layer(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, ComposerError):
        return None
    return layer if store.blobs.has(layer.descriptor.digest, layer.descriptor.size) else None


def save_layer(path: Path, layer: Layer) -> None:
    """Record one layer by rename."""
    replace_file(path, json.dumps(_layer_json(layer)).encode())


def env_records(store: Store) -> list[EnvRecord]:
    """Every env of the store, by key."""
    return list(_records(store))


def _records(store: Store) -> Iterator[EnvRecord]:
    for path in sorted((store.root / "envs").glob("[!.]*.json")):
        record = _read(path)
        if record is not None:
            yield record


def _path(store: Store, key: str) -> Path:
    return store.root / "envs" / f"{key}.json"


def _read(path: Path) -> EnvRecord | None:
    """The record, or None for one that is missing, damaged or of another version: it is then made again."""
    try:
        document = json.loads(path.read_bytes())
        return EnvRecord(
            document["key"],
            Digest.parse(document["lock_digest"]),
            document["prefix"],
            Platform.parse(document["platform"]),
            tuple(_layer(row) for row in document["layers"]),
            tuple(document["packages"]),
        )
    except (OSError, ValueError, KeyError, TypeError, ComposerError):
        return None


def _layer_json(layer: Layer) -> dict[str, Any]:
    return {
        "descriptor": layer.descriptor.as_json(),
        "diff_id": layer.diff_id,
        "role": layer.role,
        "packages": list(layer.packages),
        "unpacked_size": layer.unpacked_size,
    }


def _layer(row: dict[str, Any]) -> Layer:
    return Layer(
        Descriptor.parse(row["descriptor"]),
        Digest.parse(row["diff_id"]),
        row["role"],
        tuple(row["packages"]),
        row["unpacked_size"],
    )
