"""Entry point: commands, and what every error becomes.

| exit code | meaning |
|---:|---|
| 0 | as expected |
| 1 | an expectation or an invariant failed |
| 2 | bad input or environment; one line on stderr says where, what was found and what is allowed |
| 2 | a defect of ours; one line says what failed, and how to report it |
| 129, 130, 143 | ended by SIGHUP, SIGINT, SIGTERM |
| 141 | whoever read stdout is gone: ended by SIGPIPE |
"""

import errno
import gc
import importlib
import io
import logging
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, NoReturn

import click
from click.shell_completion import get_completion_class

from ringhil.emulator.documents import one_line
from ringhil.emulator.errors import RinghilError, printable
from ringhil.emulator.front.log import configure
from ringhil.emulator.terminated import Terminated

# Loaded when they are asked for: `ringhil --help` should not have to import an engine.
COMMANDS = {
    "card": "Talk to a card, real or emulated, over a serial line.",
    "bench": "Measure speed, beside that of other ways to run the RTL.",
    "doctor": "Try what ringhil needs on this machine; say what is missing, and how to get it.",
    "explore": "Inject every fault at every place, pairs and random schedules; minimise what fails.",
    "export": "Write a recording for other tools: Wireshark, Perfetto, waves, JSON lines.",
    "extcap": "Let Wireshark capture from a recording while it is written.",
    "firmware": "Check the firmware of a GPU against what it must do.",
    "lend": "Lend a whole GPU to a virtual machine: look whether this machine can.",
    "nvml": "Run a program that uses NVML, such as nvitop, on the GPUs of a served server.",
    "place": "Place tasks on the servers of a cluster, and compare policies.",
    "replay": "Run a recorded run or live session again, and compare.",
    "rtl": "Check, prove, build and play to the RTL of a GPU node; report its coverage.",
    "run": "Power up a server, count its GPUs, share out the work, play the timeline and judge.",
    "serve": "Emulate the cards of a server, each with a management port for other programs.",
    "share": "Run applications that share GPUs by isolated memory and time slices.",
    "switch": "Run tasks one after another on a GPU, and compare policies for the switch.",
    "step": "Step a run message by message, forwards and backwards.",
    "schema": "Print the JSON Schema of scenario files, or of what a command prints with --json.",
    "view": "Show a run in a browser, while it goes on or from its recording.",
    "verify": "Play every scenario below some paths, in parallel, with one verdict each.",
}
_log = logging.getLogger(__name__)
_COMPLETE = "_RINGHIL_COMPLETE"  # click ends by itself when a shell asks for completions
# Of objects that came since the last collection, and of collections before the next larger one. Most of a run's objects
# live to its end: Python's own 700, 10 and 10 cost a tenth of its time.
_COLLECTIONS = (20_000, 20, 100)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _ReaderGone(Exception):
    """Whoever read our output has closed it. No OSError: click makes exit code 1 of that, which says something else."""


class _Lazy(click.Group):
    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except BrokenPipeError:  # --help is printed here
            raise _ReaderGone from None

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderGone from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"ringhil.emulator.front.cli.{name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            words = self._below(ctx, args[0])
            known = f"it is part of {' and of '.join(words)}" if words else f"there are {', '.join(sorted(COMMANDS))}"
            raise click.UsageError(f"unknown command {args[0]!r}; {known}")
        return super().resolve_command(ctx, args)

    def _below(self, ctx: click.Context, wanted: str) -> list[str]:
        """Where a command is that isn't one of these, as it is typed."""
        found = []
        for name in COMMANDS:
            group = None
            with suppress(RinghilError):  # an extra that it needs is not installed
                group = self.get_command(ctx, name)
            if isinstance(group, click.Group) and wanted in group.commands:
                given = [each.make_metavar(ctx) for each in group.params if isinstance(each, click.Argument)]
                found.append(" ".join(["`ringhil", name, *given, f"{wanted}`"]))
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("ringhil"), prog_name="ringhil")
@click.option("-v", "--verbose", count=True, help="Print to stderr what is done; -vv: also every message of a run.")
def cli(verbose: int) -> None:
    """Emulate ring-interconnect GPU cards: the hardware is RTL, the messages and faults are real.

    Shell completion: put `eval "$(_RINGHIL_COMPLETE=bash_source ringhil)"` into ~/.bashrc
    (zsh_source and fish_source for the other shells).
    """
    configure(verbose)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    gc.set_threshold(*_COLLECTIONS)
    # A pipeline that cancels a job sends SIGTERM, a terminal that is closed SIGHUP: clean up like after an interrupt.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _terminate)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored nobody hears how a child ends
    if not _opened():
        sys.exit(_complain("ringhil: stdout: cannot be written: it is closed"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        with suppress(OSError):  # of a file that can't be written to: it will be said
            sys.stdout.reconfigure(errors="backslashreplace")  # a name with letters that the locale doesn't have
    sys.exit(_run(arguments))


def _opened() -> bool:
    """Whether standard output is. What isn't must not be given to the next file that is opened."""
    closed = [stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)]
    while any(closed) and (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(null, True)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")
    return not closed[1]


def _terminate(number: int, frame: object) -> NoReturn:
    raise Terminated(128 + number)


def _run(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if (asked := os.environ.get(_COMPLETE)) and not _completes(asked):
        kinds = "bash_source, zsh_source or fish_source"
        return _complain(
            f"ringhil: {_COMPLETE}: found {one_line(asked, 40)}; allowed is {kinds}, as in `ringhil --help`"
        )
    try:
        code = cli.main(args=words, prog_name="ringhil", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        return 2
    except click.UsageError as error:
        return _refuse(words, f"{error.ctx.command_path if error.ctx else 'ringhil'}: {error.format_message()}")
    except click.ClickException as error:
        return _refuse(words, f"ringhil: {error.format_message()}")
    except RinghilError as error:
        return _refuse(words, f"ringhil: {error}")
    except (click.Abort, KeyboardInterrupt):
        if arguments is None:  # the process ends already; a second one would only hurt what cleans up
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        _complain("ringhil: interrupted")
        _report_nothing(words, "ringhil: interrupted (SIGINT)")
        return 130
    except (_ReaderGone, BrokenPipeError):
        # End as other tools do, which leave that signal as it is.
        _forget_output()
        _report_nothing(words, "ringhil: ended, as nobody read its output (SIGPIPE)")
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
        return 128 + signal.SIGPIPE
    except OSError as error:
        return _refuse(words, _environment(error) or _unforeseen(error))
    except BaseException as error:  # a defect of ours, or of what we stand on: exit code 1 would say something else
        if isinstance(error, Terminated) or (isinstance(error, SystemExit) and _COMPLETE in os.environ):
            if isinstance(error, Terminated) and isinstance(error.code, int) and error.code:  # 0: serve, as it should
                _report_nothing(words, f"ringhil: ended from outside ({signal.Signals(error.code - 128).name})")
            raise
        return _refuse(words, _broken_package(error) or _unforeseen(error))
    return code if isinstance(code, int) else 0


def _completes(asked: str) -> bool:
    """Whether click knows what to do for that shell."""
    shell, _, what = asked.partition("_")
    known = get_completion_class(shell) is not None and what in ("source", "complete")
    return known and (what == "source" or "COMP_WORDS" in os.environ)


def _environment(error: OSError) -> str | None:
    """What is wrong around us; None: a defect of ours, most likely."""
    # Files that were asked for have their own words; what is left is our output, or what is written for ourselves.
    if error.filename is None and error.errno in _NO_ROOM:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__", "").partition(".")[0] in ("click", "rich") or frame.f_code is _run.__code__:
            _forget_output()
            return f"ringhil: stdout: cannot be written: {error.strerror}"
        return f"ringhil: a file in {tempfile.gettempdir()} or a cache cannot be written: {error.strerror}"
    if error.errno == errno.ENOENT and not _somewhere():
        return "ringhil: the current folder is gone; change to one that is there"
    if error.errno in (*_NO_ROOM, errno.EACCES, errno.EPERM, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        return "ringhil: " + (f"{error.filename}: " if error.filename is not None else "") + str(error.strerror)
    return None


def _somewhere() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _broken_package(error: BaseException) -> str | None:
    """Of a package that we import, which file or module fails while it is imported; None: it isn't that."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_name == "<module>")
    where = [f.f_code.co_filename for f in frames if not str(f.f_globals.get("__name__")).startswith("ringhil.")]
    if isinstance(error, SyntaxError) and error.filename:
        where.append(error.filename)
    elif isinstance(error, ImportError) and error.name:
        package = error.name.partition(".")[0]
        where.append(error.path or getattr(sys.modules.get(package), "__file__", None) or error.name)
    if not where or where[0].startswith("ringhil."):
        return None
    _log.debug("%s", "".join(traceback.format_exception(error)))
    said = one_line(f"{type(error).__name__}: {error}")
    taken = f"; PYTHONPATH is {path}" if (path := os.environ.get("PYTHONPATH")) else ""
    return f"ringhil: {where[0]}: cannot be imported: {said}; install that Python package again{taken}"


def _unforeseen(error: BaseException) -> str:
    """One line about what nobody foresaw, and how to report it; the whole of it for those who ask (`-vv`)."""
    frames = ((frame.f_globals.get("__name__", ""), line) for frame, line in traceback.walk_tb(error.__traceback__))
    *_, (module, line) = (found for found in frames if found[0].startswith("ringhil."))
    _log.debug("%s", "".join(traceback.format_exception(error)))
    said = one_line(f"{type(error).__name__}: {error}")
    report = "this is a defect: please report what `ringhil -vv ...` prints of it"
    return f"ringhil: unforeseen {said} ({module}:{line}); {report}"


def _refuse(words: Sequence[str], message: str) -> int:
    """Nothing comes of the command; a report that it was to write says so too."""
    code = _complain(message)
    _report_nothing(words, message)
    return code


def _report_nothing(words: Sequence[str], message: str) -> None:
    """In reports that the command was to write, unless it has: an earlier one must not speak for it."""
    for option, value in pairwise([*words, ""]):
        name, equals, given = option.partition("=")
        if name in ("--junit", "--codequality", "--html", "--report") and (file := given if equals else value):
            from ringhil.emulator.front.cli.written import REFUSED  # only then, as above

            REFUSED[name](Path(file), " ".join(["ringhil", *takewhile(str.isalpha, words)]), message)


def _forget_output() -> None:
    """What is still to be written to stdout would fail once more at the very end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _complain(message: str) -> int:
    with suppress(OSError):  # nobody to complain to
        click.echo(printable(" ".join(message.split())), err=True)
    return 2
