"""What a shell is told at its start, and the one constant line that is typed for each command.

Private descriptors in the shell: 250 status (shell to agent), 251 acknowledgement (agent to shell), 252 and 253 the
terminal. A command's text is sourced from a file, so nothing of it is ever typed, and it gets none of these four.
`.` and not `eval`: with eval an unfinished `if` swallows the rest of the typed line and hangs.
"""

from __future__ import annotations

import shlex

STATUS, ACK, TERMINAL_OUT, TERMINAL_ERR = 250, 251, 252, 253

# Reports after ^C and ^Z, which abandon the typed line. Since bash 5.1 PROMPT_COMMAND may be an array, and a user's
# `PROMPT_COMMAND=...` replaces element 0 only; older ones are set again by each trigger.
_PROMPT = (
    '{ __oc_rc=$?; [ -n "$__oc_pending" ] && { __oc_pending=; '
    'printf "%s\\0%s\\0\\0\\n" "$__oc_rc" "$PWD" >&250; read -r -u 251 _; }; } >/dev/null 2>&1'
)

_BASH = r"""
PS1= PS2=
if (( BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501 )); then
  PROMPT_COMMAND=([99]=@PROMPT@)
else
  PROMPT_COMMAND=@PROMPT@
fi
set +o history; set +H; bind 'set enable-bracketed-paste off' 2>/dev/null; unset MAILCHECK
trap '{ declare -px >@FOLDER@/exports; printf %s "$PWD" >@FOLDER@/cwd; } 2>/dev/null' EXIT
exec 252>&1 253>&2
if [ -s @FOLDER@/exports ]; then . @FOLDER@/exports; rm -f @FOLDER@/exports; fi 2>/dev/null
printf '0\0%s\0\0\n' "$PWD" >&250; read -r -u 251 _
"""
_BASH_LINE = (
    " {{ __oc_pending=1; printf %s {mark} >&252; . {file} 1>&252 2>&253 250>&- 251<&- 252>&- 253>&-; "
    "__oc_rc=$?; __oc_pending=; "
    'printf "%s\\0%s\\0%s\\0\\n" "$__oc_rc" "$PWD" "${{PS1:+p}}${{PROMPT_COMMAND[0]:+c}}" >&250; read -r -u 251 _; '
    "}} >/dev/null 2>&1\n"
)

# dash tells of ended jobs whenever it reads a file: an empty one first, so that they are not taken for output.
# ash and dash take descriptors of one digit only, have no `read -u` and no PROMPT_COMMAND.
_SH = r"""
unset ENV; PS1='@PROMPT@' PS2=
exec 5>&1 6>&2
printf '0\0%s\0\0\n' "$PWD" >&7; read -r __oc_ <&8
"""
_SH_LINE = (
    " {{ . {file}-none 2>&6; printf %s {mark} >&5; . {file} 1>&5 2>&6 5>&- 6>&- 7>&- 8<&-; __oc_rc=$?; "
    'printf "%s\\0%s\\0\\0\\n" "$__oc_rc" "$PWD" >&7; read -r __oc_ <&8; }} >/dev/null 2>&1\n'
)
_SH_REPORT = ' { __oc_rc=$?; printf "%s\\0%s\\0\\0\\n" "$__oc_rc" "$PWD" >&7; read -r __oc_ <&8; } >/dev/null 2>&1\n'


def startup(*, bash: bool, folder: str, prompt: str) -> str:
    """The text of the file that the shell reads first; ``folder`` is private to the session.

    ``prompt`` is what an sh prints when it waits for a line: it has no other way to say that it has given one up.
    """
    if not bash:
        return _SH.replace("@PROMPT@", prompt)
    return _BASH.replace("@PROMPT@", shlex.quote(_PROMPT)).replace("@FOLDER@", shlex.quote(folder))


def trigger(*, bash: bool, file: str, mark: str) -> bytes:
    """The line that prints ``mark``, runs the text in ``file`` and reports ``$?`` and the working directory.

    The shell itself prints the mark: only it knows when its prompt, job notices and PROMPT_COMMAND are out.
    """
    return (_BASH_LINE if bash else _SH_LINE).format(file=shlex.quote(file), mark=mark).encode()


def late_report() -> bytes:
    """For an sh that has given the trigger up, at ^C or a syntax error: the report alone, with its ``$?``."""
    return _SH_REPORT.encode()
