"""`ringhil nvml`: programs that ask NVML, unchanged, are told of emulated GPUs."""

import ctypes
import os
import shlex
import signal
from contextlib import suppress
from pathlib import Path

import click

from ringhil.emulator.children import unwatch
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE
from ringhil.emulator.front.cli.terminal import building
from ringhil.emulator.nvml.client import NvmlClient, unheard
from ringhil.emulator.nvml.library import command_path, library

_CHILD_SUBREAPER = 36  # of prctl: who loses its parents is this process's child then
_KEYS = (signal.SIGINT, signal.SIGQUIT)  # the program gets them, too, from its terminal
_ENDS = (signal.SIGTERM, signal.SIGHUP)  # it gets them from us


@click.command("nvml", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--socket",
    type=FILE,
    envvar="RINGHIL_NVML",
    required=True,
    help="Socket of `ringhil serve --nvml`.",
)
@click.option("--as", "name", metavar="APPLICATION", help="Show COMMAND only what this application was given.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND...]")
def command(socket: Path, name: str | None, words: tuple[str, ...]) -> None:
    """Run COMMAND so that it sees the emulated GPUs, by NVML and by `nvidia-smi`.

    Without one, print settings for `eval "$(ringhil nvml ...)"`.
    """
    if name == "":
        raise click.UsageError("--as: found ''; allowed is an application's name")
    if name is not None and not words:
        raise click.UsageError("--as: needs a program that is to see it")
    with explained(), building():
        settings = {
            "LD_LIBRARY_PATH": _before("LD_LIBRARY_PATH", library().parent),
            "PATH": _before("PATH", command_path().parent, os.defpath),
            "RINGHIL_NVML": str(socket.absolute()),
        }
    if name is None:
        with explained():
            why = unheard(socket)
        if why is not None:
            told = f"; {words[0]} is started all the same" if words else ""
            click.echo(f"ringhil: {socket}: nobody listens there yet: {why}{told}", err=True)
    if not words:
        for key, value in settings.items():
            click.echo(f"export {key}={shlex.quote(value)}")
        return
    os.environ.update(settings)
    unwatch()  # the library may have been built
    if name is not None:
        _stay_with(socket, name)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise click.ClickException(f"{words[0]}: cannot be run: {error.strerror}") from None


def _before(variable: str, folder: Path, otherwise: str = "") -> str:
    """Returns what a list of folders is with one more, first."""
    others = os.environ.get(variable) or otherwise
    return f"{folder}:{others}" if others else str(folder)


def _stay_with(socket: Path, name: str) -> None:
    """Enter the application, and come back as a child of a process that stays in it as long as any of its descendants:
    so none of them gets out by losing its parents."""
    with explained():
        _enter(socket, name)
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_KEYS, *_ENDS})  # the program may be faster than we are
    child = os.fork()
    if not child:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        with explained():
            _enter(socket, name)  # who looks for its process finds the program
        return
    for number in _KEYS:
        signal.signal(number, signal.SIG_IGN)
    for number in _ENDS:
        signal.signal(number, lambda got, frame: _pass_on(child, got))
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    code = 0
    while True:
        try:
            ended, status = os.wait()
        except ChildProcessError:
            os._exit(code)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            code = code if code >= 0 else 128 - code


def _pass_on(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)


def _enter(socket: Path, name: str) -> None:
    client = NvmlClient(socket)
    client.enter(name)
    client.close()
