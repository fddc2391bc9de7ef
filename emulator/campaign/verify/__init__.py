"""Plays every scenario below some paths, in parallel, and reports one verdict for each in words that pipelines read."""

from ringhil.emulator.campaign.verify.discover import VerifyError, discover
from ringhil.emulator.campaign.verify.report import Report
from ringhil.emulator.campaign.verify.run import Plan, run_all
from ringhil.emulator.campaign.verify.verdict import Failure, Verdict

__all__ = ["Failure", "Plan", "Report", "Verdict", "VerifyError", "discover", "run_all"]
