"""What the gates found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from composer.errors import VerifyError

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Gate:
    """One rule. When this machine cannot try it, ``tried`` is False, ``passed`` True, and ``detail`` says why."""

    name: str
    passed: bool
    detail: str
    tried: bool = True


def gate(name: str, problems: Sequence[str], fine: str) -> Gate:
    """A gate that fails when there are ``problems``; ``fine`` is its detail otherwise."""
    if not problems:
        return Gate(name, True, fine)
    more = f" and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return Gate(name, False, "; ".join(problems[:_SHOWN]) + more)


def raise_failed(gates: Iterable[Gate]) -> None:
    """Raise `VerifyError` for the first gate that failed."""
    for failed in gates:
        if not failed.passed:
            raise VerifyError(
                failed.name, failed.detail, "report it with the lock, or pin another build of the package"
            )
