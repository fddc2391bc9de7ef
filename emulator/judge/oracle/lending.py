"""What becomes of a GPU that is to be lent: the rules, without drivers and registers."""

from enum import StrEnum

Place = tuple[int, int]  # card and number


class Loan(StrEnum):
    """What must follow."""

    NOTHING = "nothing"  # it is so already
    DRAINS = "drains"
    IS_LENT = "is lent"
    STAYS = "stays here"
    COMES_BACK = "comes back"


class LoanTruth:
    """Which GPUs are lent, and which will be when their work is done. Those that the census counts, and that have no
    contexts, can be lent; whether they can is asked again when their work is done."""

    def __init__(self) -> None:
        self.lent: set[Place] = set()
        self.leaving: set[Place] = set()

    def gets_work(self, gpu: Place) -> bool:
        """Whether the CPU may give it any."""
        return gpu not in self.lent and gpu not in self.leaving

    def asked(self, gpu: Place, *, lendable: bool) -> Loan:
        """It is to be lent."""
        if not self.gets_work(gpu):
            return Loan.NOTHING
        if not lendable:
            return Loan.STAYS
        self.leaving.add(gpu)
        return Loan.DRAINS

    def over(self, gpu: Place, *, lendable: bool) -> Loan:
        """A GPU that leaves has no work left."""
        self.leaving.discard(gpu)
        if not lendable:
            return Loan.STAYS
        self.lent.add(gpu)
        return Loan.IS_LENT

    def taken_back(self, gpu: Place) -> Loan:
        """It is to come back."""
        if gpu in self.leaving:
            self.leaving.discard(gpu)
            return Loan.STAYS
        if gpu in self.lent:
            self.lent.discard(gpu)
            return Loan.COMES_BACK
        return Loan.NOTHING

    def of(self, card: int) -> tuple[int, ...]:
        """GPUs of a card that are lent."""
        return tuple(sorted(gpu for number, gpu in self.lent if number == card))
