"""Builders that meet in one store, and builders that are killed."""

from __future__ import annotations

import multiprocessing
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from composer.build import BuildRequest, runtime_layers
from composer.env.built import BuiltEnv
from composer.env.lock import Lock
from composer.layers.agent import agent_layer
from composer.layers.pack import pack_env
from composer.layers.record import env_key, find_env, save_env
from composer.progress import silent
from composer.store.store import Store


def pack_all(env: BuiltEnv, root: Path) -> None:
    store = Store.open(root)
    key = env_key(env.lock_digest, env.prefix, env.platform, "gzip")
    layers = find_env(store, key)
    if layers is None:
        layers = pack_env(env, store, "gzip", silent)
        save_env(store, key, env, layers)
    agent_layer(store, env.prefix, env.platform, layers, "gzip")


def test_two_builders_of_one_env_make_it_once(core_lock: Lock, tmp_path: Path) -> None:
    begun: list[str] = []

    def build(_number: int) -> object:
        def progress(what: str, done: int, _total: int) -> None:
            if done == 0:
                begun.append(what)

        return runtime_layers(BuildRequest("scratch"), core_lock, Store.open(tmp_path), progress)[0]

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(build, range(2))
    assert one == two
    assert begun.count("pack layers") == 1
    assert Store.open(tmp_path).verify() == []


def test_a_killed_builder_leaves_a_store_that_verifies(core_env: BuiltEnv, tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    moments = random.Random(7)
    context = multiprocessing.get_context("fork")
    for _ in range(12):
        process = context.Process(target=pack_all, args=(core_env, tmp_path))
        process.start()
        time.sleep(moments.uniform(0.02, 3))
        process.kill()
        process.join()
        process.close()
        assert store.verify() == []
    store.sweep()
    left = [*(store.root / "tmp").iterdir(), *(store.layout.root / "tmp").iterdir()]
    assert left == []
    pack_all(core_env, tmp_path)
    assert store.verify() == []
    assert find_env(store, env_key(core_env.lock_digest, core_env.prefix, core_env.platform, "gzip")) is not None
