"""What the gates found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from composer.errors import VerifyError

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Gate:
    """One rule: ``passed`` is None when this machine cannot try it, and ``detail`` says why."""

    name: str
    passed: bool | None
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """All gates of one prefix, in the order tried."""

    root: str
    gates: tuple[Gate, ...]

    @property
    def passed(self) -> bool:
        """Whether no gate failed."""
        return all(gate.passed is not False for gate in self.gates)

    def as_json(self) -> dict[str, object]:
        """The report for ``--json``."""
        return {"root": self.root, "passed": self.passed, "gates": [asdict(gate) for gate in self.gates]}


def gate(name: str, problems: Sequence[str], fine: str) -> Gate:
    """A gate that fails when there are ``problems``; ``fine`` is its detail otherwise."""
    if not problems:
        return Gate(name, True, fine)
    more = f" and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return Gate(name, False, "; ".join(problems[:_SHOWN]) + more)


def raise_failed(report: Report) -> None:
    """Raise `VerifyError` for the first gate that failed."""
    for failed in report.gates:
        if failed.passed is False:
            raise VerifyError(
                failed.name, failed.detail, "report it with the lock, or pin another build of the package"
            )
