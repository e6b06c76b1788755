"""What goes into the agent's file."""

from __future__ import annotations

from composer.layers.agent import source_digest, sources


def test_the_sources_are_the_agent_s_in_one_order() -> None:
    names = [name for name, _ in sources()]
    assert names == sorted(names)
    assert {"__main__.py", "agent_stub/__init__.py", "agent_stub/__main__.py", "agent_stub/wire/header.py"} <= set(
        names
    )
    assert {name.partition("/")[0] for name in names} <= {"__main__.py", "agent_stub", "plugins"}


def test_names_and_texts_decide_the_digest() -> None:
    digest = source_digest([("a.py", "x"), ("b.py", "y")])
    assert digest == source_digest([("a.py", "x"), ("b.py", "y")])
    assert (
        len({digest, source_digest([("a.py", "xb.py"), ("", "y")]), source_digest([("a.py", "x"), ("c.py", "y")])}) == 3
    )
