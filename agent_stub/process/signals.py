"""Signals as programs expect them, whatever the agent's own starter had ignored."""

from __future__ import annotations

import signal

_PYTHONS_OWN = {signal.SIGPIPE, signal.SIGXFSZ}


def restore_defaults() -> None:
    """Undo ignored signals: exec keeps them ignored (signal(7)), and a shell cannot trap what was ignored at its start.

    A starter in the background of a script, or nohup, leaves SIGINT, SIGQUIT or SIGHUP so. The two that Python ignores
    for itself stay; they are restored in each child.
    """
    for number in signal.valid_signals() - _PYTHONS_OWN:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
