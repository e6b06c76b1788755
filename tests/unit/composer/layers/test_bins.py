"""Which package and which path goes into which layer."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from composer.env.built import BuiltPackage
from composer.layers.bins import assign, divide

NAMES = st.sampled_from(
    ["python", "sysroot_linux-64", "openssl", "bash", "pyzmq", "nodejs", "chromium", "a", "b", "c", "d", "e", "tzdata"]
)
PATHS = st.sampled_from([f"{folder}/{name}" for folder in ("bin", "lib", "lib/a") for name in "abcdef"])


def package(name: str, *files: str, version: str = "1") -> BuiltPackage:
    return BuiltPackage(name, version, "0", "linux-64", "", "", "", files)


@st.composite
def package_sets(draw: st.DrawFn) -> list[BuiltPackage]:
    names = draw(st.lists(NAMES, unique=True))
    return [package(name, *draw(st.lists(PATHS, unique=True, max_size=6))) for name in names]


@given(package_sets(), st.sets(PATHS))
def test_each_path_is_in_one_layer(packages: list[BuiltPackage], unowned: set[str]) -> None:
    packages.append(package("python", "bin/python3"))
    paths = {name for each in packages for name in each.files} | unowned
    found = [path for _, names in divide(assign(packages), paths) for path in names]
    assert sorted(found) == sorted(paths)


@given(package_sets())
def test_at_most_ten_layers_with_plugins_and_agent(packages: list[BuiltPackage]) -> None:
    assert len(assign(packages)) <= 8


@given(package_sets(), st.randoms())
def test_the_order_of_packages_does_not_matter(packages: list[BuiltPackage], random: object) -> None:
    shuffled = list(packages)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert assign(shuffled) == assign(packages)


@given(package_sets().filter(bool), st.data())
def test_another_version_changes_one_bin(packages: list[BuiltPackage], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(packages) - 1))
    changed = [replace(each, version="2") if at == number else each for at, each in enumerate(packages)]
    pairs = zip(assign(packages), assign(changed), strict=True)
    assert sum(before != after for before, after in pairs) == 1


@given(package_sets(), NAMES)
def test_an_added_package_moves_no_other(packages: list[BuiltPackage], name: str) -> None:
    def role_of(found: list[BuiltPackage]) -> dict[str, frozenset[str]]:
        bins = assign(found)
        return {each.name: frozenset(other.name for other in b.packages) - {name} for b in bins for each in b.packages}

    before = role_of([each for each in packages if each.name != name])
    after = role_of([*(each for each in packages if each.name != name), package(name)])
    assert {key: value for key, value in after.items() if key != name} == before


def test_the_order_is_from_seldom_to_often_changed() -> None:
    roles = [each.role for each in assign([package(name) for name in ("chromium", "bash", "pyzmq", "a", "python")])]
    assert roles[0] == "libc"
    assert roles[-1] == "browser"
    assert set(roles[1:-1]) == {"bin"}


def test_a_path_of_two_packages_goes_with_the_first() -> None:
    bins = assign([package("python", "both"), package("nodejs", "both", "own")])
    assert [names for _, names in divide(bins, ["both", "own", "nobody's"])] == [("both", "nobody's"), ("own",)]


def test_a_bin_without_paths_is_no_layer() -> None:
    bins = assign([package("python", "file"), package("nodejs")])
    assert [each.role for each, _ in divide(bins, ["file"])] == ["libc"]
