"""Plays every scenario below some paths, in parallel, and reports one verdict for each in words that pipelines read."""

from ringhil.emulator.campaign.verify.discover import VerifyError, discover
from ringhil.emulator.campaign.verify.report import VerifyReport
from ringhil.emulator.campaign.verify.run import VerifyPlan, run_all
from ringhil.emulator.campaign.verify.verdict import Failure, Verdict

__all__ = ["Failure", "Verdict", "VerifyError", "VerifyPlan", "VerifyReport", "discover", "run_all"]
