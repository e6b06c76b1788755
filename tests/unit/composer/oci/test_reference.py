"""Names of images, as Docker reads them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from composer.errors import UsageError
from composer.oci.digest import Digest
from composer.oci.reference import Reference

DIGEST = Digest.of(b"image")

READ = {
    "short": ("alpine", ("", "library/alpine", None, None), "alpine"),
    "tag": ("alpine:3.20", ("", "library/alpine", "3.20", None), "alpine:3.20"),
    "official, in full": ("library/alpine:3.20", ("", "library/alpine", "3.20", None), "alpine:3.20"),
    "user": ("team/app", ("", "team/app", None, None), "team/app"),
    "host": ("example.org/app", ("example.org", "app", None, None), "example.org/app"),
    "port": ("registry:5000/a/b:tag", ("registry:5000", "a/b", "tag", None), "registry:5000/a/b:tag"),
    "port without tag": ("registry:5000/a", ("registry:5000", "a", None, None), "registry:5000/a"),
    "localhost": ("localhost/a", ("localhost", "a", None, None), "localhost/a"),
    "upper-case host": ("HOST/a", ("HOST", "a", None, None), "HOST/a"),
    "address": ("[::1]:5000/a:b", ("[::1]:5000", "a", "b", None), "[::1]:5000/a:b"),
    "digest": (f"alpine@{DIGEST}", ("", "library/alpine", None, DIGEST), f"alpine@{DIGEST}"),
    "all": (
        f"registry:5000/a/b:tag@{DIGEST}",
        ("registry:5000", "a/b", "tag", DIGEST),
        f"registry:5000/a/b:tag@{DIGEST}",
    ),
    "separators": ("a.b/c__d/e---f", ("a.b", "c__d/e---f", None, None), "a.b/c__d/e---f"),
    "looks like a port": ("alpine:5000", ("", "library/alpine", "5000", None), "alpine:5000"),
}

REFUSED = [
    "", ":", "@", "/", "a/", "/a", "a//b", "Alpine", "alpine:", "alpine:a b", "alpine:.a", "alpine:a:b", "alpine@",
    "alpine@sha256:00", "alpine@sha512:" + "0" * 128, f"alpine@{DIGEST}@{DIGEST}", "a___b", "-a", "a-", "a..b/c",
    "host:port/a", "-host.org/a", "host:123456/a", "alpine\n", "alpine:tag\n", "älpine", "alpine:٣", "a" * 64,
    "a" * 256, "t:" + "a" * 129, " alpine",
]  # fmt: skip


@pytest.mark.parametrize(("text", "parts", "printed"), READ.values(), ids=READ)
def test_reads(text: str, parts: tuple[str, str, str | None, Digest | None], printed: str) -> None:
    reference = Reference.parse(text)
    assert (reference.registry, reference.repository, reference.tag, reference.digest) == parts
    assert str(reference) == printed


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_refuses(text: str) -> None:
    with pytest.raises(UsageError):
        Reference.parse(text)


@pytest.mark.parametrize(
    ("text", "target"),
    [("a", "latest"), ("a:b", "b"), (f"a:b@{DIGEST}", DIGEST)],
    ids=["neither", "tag", "digest before tag"],
)
def test_target(text: str, target: str) -> None:
    assert Reference.parse(text).target == target


_PARTS = st.from_regex(r"[a-z0-9]{1,5}(?:(?:[._]|__|-{1,3})[a-z0-9]{1,5}){0,2}", fullmatch=True)
_REGISTRIES = st.one_of(st.just(""), st.from_regex(r"[a-z0-9]{1,8}\.[a-z]{2,3}(:[0-9]{1,5})?/", fullmatch=True))
_TAGS = st.one_of(st.just(""), st.from_regex(r":[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True))
_DIGESTS = st.one_of(st.just(""), st.binary().map(lambda data: f"@{Digest.of(data)}"))


@given(_REGISTRIES, st.lists(_PARTS, min_size=1, max_size=3), _TAGS, _DIGESTS)
def test_what_is_printed_is_read_back(registry: str, parts: list[str], tag: str, digest: str) -> None:
    # A first folder with a dot is a host's name to Docker, too.
    assume(registry or len(parts) == 1 or "." not in parts[0])
    reference = Reference.parse(registry + "/".join(parts) + tag + digest)
    assert Reference.parse(str(reference)) == reference


@given(st.text(alphabet=st.sampled_from("aZ0.:/@-_[]\n é"), max_size=30))
def test_any_text_is_read_back_or_refused(text: str) -> None:
    try:
        reference = Reference.parse(text)
    except UsageError:
        return
    assert Reference.parse(str(reference)) == reference
