from __future__ import annotations

import pytest

from tools.channel.errors import RecipeError
from tools.channel.layouts import ca_certificates, edited, ncurses, openssl, python, tzdata
from tools.channel.package import LONG_PLACEHOLDER, SHORT_PLACEHOLDER, Placeholder
from tools.channel.tree import Entry, link


@pytest.mark.parametrize(
    ("data", "pattern", "new", "after"),
    [
        pytest.param(b"\0/usr\0X", rb"(?<=\0)/usr(?=\0)", b"/_pl", b"\0/_pl\0X", id="as long"),
        pytest.param(
            b"a/usr/lib/ssl/x\0Y", rb"/usr/lib/ssl", b"/_pl/ssl", b"a/_pl/ssl/x\0\0\0\0\0Y", id="rest moves up"
        ),
        pytest.param(b"/a/b\0/a/b\0", rb"/a/b", b"/c", b"/c\0\0\0/c\0\0\0", id="every string"),
    ],
)
def test_edited_keeps_every_offset(data: bytes, pattern: bytes, new: bytes, after: bytes) -> None:
    assert edited("x", Entry(data), [(pattern, new)]).data == after


@pytest.mark.parametrize(
    ("pattern", "new"), [pytest.param(rb"gone", b"", id="absent"), pytest.param(rb"/usr", b"/longer", id="longer")]
)
def test_edited_refuses(pattern: bytes, new: bytes) -> None:
    with pytest.raises(RecipeError, match="lib/x"):
        edited("lib/x", Entry(b"/usr\0"), [(pattern, new)])


def test_openssl_finds_its_directories_under_the_prefix() -> None:
    data = b'OPENSSLDIR: "/usr/lib/ssl"\0/usr/lib/x86_64-linux-gnu/ossl-modules\0/usr/lib/ssl/cert.pem\0end'
    tree = {"lib/libcrypto.so.3": Entry(data), "lib/ssl/certs": link("/etc/ssl/certs"), "bin/c_rehash": Entry(b"perl")}
    layout = openssl(tree, {})
    strings = list(filter(None, layout.tree["lib/libcrypto.so.3"].data.split(b"\0")))
    assert strings == [b'OPENSSLDIR: "/_pl/ssl"', b"/_pl/lib/ossl-modules", b"/_pl/ssl/cert.pem", b"end"]
    assert layout.placeholders == {"lib/libcrypto.so.3": Placeholder(SHORT_PLACEHOLDER, "binary")}
    assert set(layout.tree) == {"lib/libcrypto.so.3"}


def test_ncurses_looks_under_the_prefix() -> None:
    data = b"\x7fELF\0/etc/terminfo\0/etc/terminfo:/lib/terminfo:/usr/share/terminfo\0"
    layout = ncurses({"lib/libtinfo.so.6": link("libtinfo.so.6.4"), "lib/libtinfo.so.6.4": Entry(data)}, {})
    assert layout.tree["lib/libtinfo.so.6.4"].data.startswith(b"\x7fELF\0/_pl/terminfo\0/_pl/share/terminfo\0")


def test_python_has_its_names_and_placeholders() -> None:
    settings = "lib/python3.11/_sysconfigdata__x86_64-linux-gnu.py"
    tree = {
        "bin/python3.11": Entry(b"\x7fELF\0/usr\0/usr/bin\0", executable=True),
        settings: Entry(b"{'prefix': '/usr', 'LIBDIR': '/usr/lib', 'x': '/usrx'}"),
        "lib/python3.11/EXTERNALLY-MANAGED": Entry(b"no pip"),
        "lib/python3.11/lib-dynload/_dbm.cpython-311-x86_64-linux-gnu.so": Entry(b"\x7fELF"),
    }
    layout = python(tree, {})
    assert layout.tree["bin/python3.11"].data == b"\x7fELF\0/_pl\0/usr/bin\0"
    assert layout.tree["bin/python"] == link("python3.11")
    assert layout.tree["lib/python3.11/dist-packages"] == link("site-packages")
    expected = f"{{'prefix': '{LONG_PLACEHOLDER}', 'LIBDIR': '{LONG_PLACEHOLDER}/lib', 'x': '/usrx'}}"
    assert layout.tree[settings].data.decode() == expected
    assert {path: holder.mode for path, holder in layout.placeholders.items()} == {
        "bin/python3.11": "binary",
        "bin/pydoc3.11": "text",
        settings: "text",
    }
    assert not any("EXTERNALLY" in path or "_dbm" in path for path in layout.tree)


def test_certificates_are_one_bundle_in_the_order_of_their_names() -> None:
    folder = "usr/share/ca-certificates/mozilla"
    layout = ca_certificates({}, {f"{folder}/b.crt": Entry(b"B\n"), f"{folder}/a.crt": Entry(b"A\n")})
    assert layout.tree == {"ssl/cacert.pem": Entry(b"A\nB\n"), "ssl/cert.pem": link("cacert.pem")}


def test_zones_are_there_once() -> None:
    names = ("share/zoneinfo/UTC", "share/zoneinfo/right/UTC", "share/zoneinfo/posix/UTC")
    assert set(tzdata(dict.fromkeys(names, Entry(b"z")), {}).tree) == {"share/zoneinfo/UTC"}
