"""Every base of the matrix, composed and run: as root, as a uid without a passwd entry, with a read-only root."""

from __future__ import annotations

import pytest

from composer import Sandbox
from composer.client.sandbox import StartOptions
from composer.store.store import Store
from tests.kit.bases import MATRIX, KnownBase

pytestmark = [pytest.mark.root, pytest.mark.slow]

VARIANTS = {
    "root": StartOptions(),
    "uid-4242": StartOptions(user="4242:4242"),
    "read-only": StartOptions(read_only=True),
}


@pytest.fixture(params=MATRIX, ids=lambda base: base.name)
def base(request: pytest.FixtureRequest) -> KnownBase:
    return request.param


@pytest.mark.parametrize("variant", VARIANTS)
async def test_actions_on_every_base(base: KnownBase, variant: str, core_store: Store) -> None:
    async with Sandbox.start(base.reference(), options=VARIANTS[variant], store=core_store) as box:
        shell = await box.run("echo $BASH_VERSION $BASH")
        assert shell.exit_code == 0
        assert shell.output.split()[1].startswith("/.oc/") == (not base.has_bash)

        ran = await box.run("cd /; false; echo $? $PWD")
        assert (ran.output, ran.exit_code) == ("1 /\n", 0)

        executed = await box.exec(["/.oc/bin/python3", "-I", "-c", "import os; print(os.getuid())"])
        assert executed.stdout == ("4242\n" if variant == "uid-4242" else "0\n")

        if base.has_shell:
            programs = await box.exec(["/bin/sh", "-c", "ls -d /bin; exit 3"])
            assert (programs.stdout, programs.exit_code) == ("/bin\n", 3)
