"""Plays every scenario below some paths, in parallel, and reports one verdict for each in words that pipelines read."""

from ringhil.emulator.verify.discover import VerifyError, discover
from ringhil.emulator.verify.report import Report
from ringhil.emulator.verify.run import Plan, run_all
from ringhil.emulator.verify.verdict import Failure, Verdict

__all__ = ["Failure", "Plan", "Report", "Verdict", "VerifyError", "discover", "run_all"]
