"""What has to hold in every run, whatever a file expects."""

INVARIANTS = ("wrong_count", "one_grant", "bounded_recovery", "work_once", "no_orphan")
