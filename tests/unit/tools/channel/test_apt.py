from __future__ import annotations

import pytest

from composer.errors import ChannelError
from tools.channel.apt import DebFile, Mirror, parse_targets, parse_uris


@pytest.mark.parametrize(
    ("listing", "mirror"),
    [
        pytest.param(
            "http://x/tools nodistro\nhttp://m/debian/ bookworm\nhttp://m/debian/ bookworm-updates\n"
            "http://s/security/ bookworm-security\n",
            Mirror("http://m/debian/", "http://s/security/"),
            id="with security",
        ),
        pytest.param("http://m/debian/ stable\n", Mirror("http://m/debian/", ""), id="a suite's other name"),
        pytest.param(
            "http://s/ bullseye/updates\nhttp://m/ bullseye\n", Mirror("http://m/", "http://s/"), id="old security"
        ),
    ],
)
def test_parse_targets(listing: str, mirror: Mirror) -> None:
    assert parse_targets(listing) == mirror


@pytest.mark.parametrize("listing", ["", "http://archive.example/ubuntu noble\n"])
def test_a_machine_without_debian_is_told(listing: str) -> None:
    with pytest.raises(ChannelError, match="name no Debian archive"):
        parse_targets(listing)


def test_parse_uris() -> None:
    line = f"'http://m/pool/libcrypt1_1%253a4.4_amd64.deb' libcrypt1_1%3a4.4-2_amd64.deb 89500 SHA256:{'a' * 64}"
    [deb] = parse_uris(f"Reading...\n{line}\n", "bookworm")
    assert deb == DebFile("libcrypt1", "bookworm", "libcrypt1_1%3a4.4-2_amd64.deb", 89500, "a" * 64)
    assert deb.version == "1:4.4-2"
