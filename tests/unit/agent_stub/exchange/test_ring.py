"""Which events a ring keeps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_stub.exchange.ring import Budget, Ring


def test_numbers_start_at_one_and_events_come_back() -> None:
    ring = Ring(100, Budget(1000))
    ring.append([b"ab", b"c"])
    ring.append([b"d"])
    assert (ring.first, ring.last, ring.size) == (1, 2, 4)
    assert (ring.get(1).frames, ring.get(2).size) == ([b"ab", b"c"], 1)
    assert (ring.after(0), ring.after(1), ring.after(2)) == (4, 1, 0)


def test_the_newest_event_is_kept_whatever_its_size() -> None:
    ring = Ring(10, Budget(1000))
    ring.append([b"x" * 5])
    ring.append([b"y" * 50])
    assert (ring.first, ring.last, ring.size) == (2, 2, 50)


def test_all_rings_share_a_budget() -> None:
    budget = Budget(30)
    quiet, loud = Ring(100, budget), Ring(100, budget)
    quiet.append([b"x" * 10])
    for _ in range(20):
        loud.append([b"y" * 10])
    assert (quiet.size, loud.size, budget.used) == (10, 20, 30)
    loud.clear()
    quiet.clear()
    assert budget.used == 0


@given(sizes=st.lists(st.integers(0, 30), max_size=40), limit=st.integers(1, 60))
def test_a_ring_is_a_bounded_tail_of_all_events(sizes: list[int], limit: int) -> None:
    budget = Budget(1 << 20)
    ring = Ring(limit, budget)
    for size in sizes:
        ring.append([b"x" * size])
    kept = [ring.get(seq).size for seq in range(ring.first, ring.last + 1)]
    assert kept == sizes[len(sizes) - len(kept) :]
    assert ring.size == sum(kept) == budget.used
    assert ring.last == len(sizes)
    assert ring.size <= limit or len(kept) == 1
    assert [ring.after(seq) for seq in range(ring.first - 1, ring.last + 1)] == [
        sum(kept[n:]) for n in range(len(kept) + 1)
    ]
