from __future__ import annotations

import email.message
import io
import zipfile

import pytest

from tools.channel.architecture import X86_64
from tools.channel.errors import RecipeError
from tools.channel.package import LONG_PLACEHOLDER
from tools.channel.wheels import conda_name, entry_points, read_wheel, requirements, spdx_licence, wheel_package

METADATA = "Metadata-Version: 2.1\nName: Demo.Pack\nVersion: 1.5\nLicense-Expression: MIT\n"


def wheel(files: dict[str, str | bytes], metadata: str = METADATA) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in {"demo-1.5.dist-info/METADATA": metadata, "demo-1.5.dist-info/RECORD": "", **files}.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_a_pure_wheel_is_noarch_python() -> None:
    files: dict[str, str | bytes] = {
        "demo/__init__.py": "x = 1",
        "demo-1.5.dist-info/entry_points.txt": "[console_scripts]\ndemo = demo:main [extra]\n[other]\na = b:c\n",
        "demo-1.5.dist-info/licenses/LICENSE": "free",
        "demo-1.5.data/data/share/demo/x": "data",
    }
    package = wheel_package(read_wheel("demo-1.5-py3-none-any.whl", wheel(files)), (), X86_64)
    assert (package.name, package.version, package.subdir, package.noarch) == ("demo-pack", "1.5", "noarch", "python")
    assert package.entry_points == ("demo = demo:main",)
    assert package.license_texts == {"LICENSE": b"free"}
    assert package.depends == ("python >=3.9",)
    assert {"site-packages/demo/__init__.py", "share/demo/x"} <= set(package.tree)
    assert package.tree["site-packages/demo-1.5.dist-info/INSTALLER"].data == b"conda"
    assert "site-packages/demo-1.5.dist-info/RECORD" not in package.tree


def test_a_binary_wheel_is_for_one_subdir_and_has_its_scripts_as_files() -> None:
    files: dict[str, str | bytes] = {
        "demo.cpython-311-x86_64-linux-gnu.so": b"\x7fELF\0GLIBC_2.14\0",
        "demo-1.5.dist-info/entry_points.txt": "[console_scripts]\ndemo = demo.cli:App.run\n",
    }
    package = wheel_package(read_wheel("demo-1.5-cp311-cp311-linux.whl", wheel(files)), (), X86_64)
    assert (package.subdir, package.noarch, package.build) == ("linux-64", None, "py311h")
    assert set(package.depends) == {"python 3.11.*", "__glibc >=2.14,<3.0.a0"}
    script = package.tree["bin/demo"].data.decode()
    assert script.startswith(f"#!{LONG_PLACEHOLDER}/bin/python3.11\n")
    assert "from demo.cli import App\n" in script
    assert "sys.exit(App.run())" in script
    assert package.placeholders["bin/demo"].mode == "text"
    assert package.tree["lib/python3.11/site-packages/demo.cpython-311-x86_64-linux-gnu.so"].executable


def test_requirements_keep_what_holds_here_and_is_there() -> None:
    lines = [
        "msgpack>=1.0,!=1.1,<2",
        "typing-extensions; python_version < '3.12'",
        "colorama; sys_platform == 'win32'",
        "pytest; extra == 'test'",
        "absent",
    ]
    available = {"msgpack", "typing-extensions", "colorama", "pytest"}
    assert requirements(lines, available, X86_64) == ["msgpack-python <2,>=1.0", "typing_extensions"]


@pytest.mark.parametrize(
    ("headers", "licence"),
    [
        pytest.param({"License-Expression": "BSD-3-Clause OR MIT"}, "BSD-3-Clause OR MIT", id="expression"),
        pytest.param({"License": "ISC"}, "ISC", id="short field"),
        pytest.param({"Classifier": "License :: OSI Approved :: MIT License"}, "MIT", id="classifier"),
        pytest.param({"License": "Copyright (c) me\nAll rights"}, "LicenseRef-Unknown", id="a whole text"),
        pytest.param({}, "LicenseRef-Unknown", id="nothing"),
    ],
)
def test_spdx_licence(headers: dict[str, str], licence: str) -> None:
    metadata = email.message.Message()
    for name, value in headers.items():
        metadata[name] = value
    assert spdx_licence(metadata) == licence


@pytest.mark.parametrize(
    ("filename", "data", "cause"),
    [
        pytest.param("a-1-py3-none-any.whl", b"nothing", "not a wheel", id="no zip"),
        pytest.param("a-1-py3-none-any.whl", wheel({"../../x": "out"}), "leads out", id="escape"),
        pytest.param("a-1-py3-none-any.whl", wheel({"a-1.data/data/../../x": "o"}), "leads out", id="data escape"),
    ],
)
def test_a_bad_wheel_is_refused(filename: str, data: bytes, cause: str) -> None:
    with pytest.raises(RecipeError, match=cause):
        read_wheel(filename, data)


def test_a_wheel_without_metadata_is_refused() -> None:
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    with pytest.raises(RecipeError, match="no METADATA"):
        read_wheel("a-1-py3-none-any.whl", buffer.getvalue())


def test_entry_points_without_scripts() -> None:
    assert entry_points("") == ()
    assert conda_name("Jupyter.Client") == "jupyter_client"
