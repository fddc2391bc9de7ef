"""What is promised of a GPU's firmware, played against it alone.

The pages that promise it are docs/howto/firmware.md and docs/explanation/elections.md.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ringhil.emulator.loop.alone import (
    believed,
    keepalives,
    leases,
    links,
    registers,
    reluctance,
    rounds,
    waits,
    wardens,
)
from ringhil.emulator.loop.alone.servers import Stages

Play = Callable[[Stages], None]


@dataclass(frozen=True)
class LonePromise:
    """`says`: what is promised; `play` raises NotKept, or FirmwareError for what none may do, and so do `others`: the
    same promise as other roles keep it. `counts`: only an entry GPU that counts can keep it."""

    says: str
    play: Play
    others: tuple[Play, ...] = ()
    counts: bool = False


LONE_PROMISES = {
    "keepalives.rounds": LonePromise(
        "A round each interval, under one number that rises: by both ways round, and up to the grantor.",
        keepalives.go_both_ways_round,
        (keepalives.go_both_ways_round_of_a_warden,),
    ),
    "keepalives.jitter": LonePromise(
        "Intervals are shorter by a jitter, which comes from seed, GPU and number alone.",
        keepalives.differ_in_length,
    ),
    "keepalives.say": LonePromise(
        "A keepalive says the state of its sender, whether it hears its uplink, the highest epoch, whom it hears.",
        keepalives.say_what_is,
        (keepalives.say_whom_another_number_reaches,),
    ),
    "keepalives.wardens": LonePromise(
        "A warden's keepalive says whether its leader is heard.", keepalives.say_whether_the_leader_is_heard
    ),
    "keepalives.answers": LonePromise(
        "A warden answers each keepalive in time, and names it, the holder and the highest epoch.",
        keepalives.are_answered,
    ),
    "keepalives.newest": LonePromise(
        "A keepalive that was overtaken by a newer one changes nothing.",
        keepalives.are_the_newest,
        (keepalives.are_the_newest_of_a_warden,),
    ),
    "keepalives.latest_answer": LonePromise(
        "An answer that was overtaken by a later one changes nothing.", keepalives.are_the_newest_answers
    ),
    "keepalives.this_boot": LonePromise(
        "Answers to what a GPU said before its last boot are no sign of its uplink, and renew nothing.",
        keepalives.are_of_this_boot,
    ),
    "keepalives.intact": LonePromise(
        "Damaged keepalives and claims are not believed.", keepalives.are_intact, (keepalives.claims_are_intact,)
    ),
    "lease.from_claim": LonePromise("A member counts its lease from when its claim left.", leases.counts_from_claim),
    "lease.renewed": LonePromise(
        "An answer renews a lease from when the keepalive left that it names.", leases.renews_from_keepalive
    ),
    "lease.as_holder": LonePromise(
        "Answers to what a member has said as a candidate renew nothing.", leases.renews_as_holder
    ),
    "lease.fenced": LonePromise(
        "A member gives its lease up as soon as it hears of a higher epoch.",
        leases.is_fenced,
        (leases.is_fenced_by_its_warden,),
    ),
    "lease.own_epochs": LonePromise("The epochs of another link are no business of a lease.", leases.minds_own_epochs),
    "lease.unknown": LonePromise(
        "A member gives a lease back that it doesn't know.", leases.gives_back_what_it_does_not_know
    ),
    "lease.granted": LonePromise(
        "A member holds only what was granted to it, in time and by its uplink.",
        leases.takes_only_what_is_granted_to_it,
    ),
    "lease.epochs": LonePromise(
        "A member claims the lowest epoch above all that it knows of which only its rank may claim.",
        leases.claims_its_own_epochs,
    ),
    "lease.other_holder": LonePromise(
        "A member that is granted a lease, and hears of another holder by then, gives it back.",
        leases.leaves_the_other_holder_be,
    ),
    "warden.epochs": LonePromise(
        "A warden grants no epoch that is not higher than all it knows.", wardens.grants_higher_epochs_only
    ),
    "warden.memory": LonePromise(
        "A warden's epoch is in the register memory before the grant leaves.", wardens.remembers_first
    ),
    "warden.from_arrival": LonePromise(
        "A warden counts a lease from when its claim arrived, or a keepalive of its holder.",
        wardens.counts_from_arrival,
    ),
    "warden.renewed": LonePromise("Only its holder's keepalives renew a lease.", wardens.renewed_by_holder_only),
    "warden.released": LonePromise("A lease that is given back is over at once.", wardens.released_by_its_epoch),
    "warden.link": LonePromise("A warden hears its leader by their link only.", wardens.listens_to_its_link_only),
    "warden.boots": LonePromise(
        "A warden grants nothing for lease and guard after a later boot.", wardens.sits_a_boot_out
    ),
    "warden.settles": LonePromise(
        "At power-up the wardens of two links or more grant nothing for 2 skews.", wardens.settles_at_power_up
    ),
    "warden.fenced": LonePromise(
        "A lease is over as soon as its warden hears of a higher epoch, and the leader is told.", wardens.is_fenced
    ),
    "warden.others": LonePromise(
        "A warden grants nothing while another one's lease may run.", wardens.refuses_beside_another
    ),
    "warden.own": LonePromise(
        "A warden grants the holder of its lease a new one when it asks anew.", wardens.grants_its_holder_anew
    ),
    "warden.tells": LonePromise(
        "Wardens tell one another at once of a lease that begins or ends.", wardens.tells_at_once
    ),
    "wait.rank": LonePromise("A member asks a skew after each that goes first.", waits.for_better_ones),
    "wait.who_is_up": LonePromise(
        "A member waits a skew for each better one that is up and hears its uplink, and for no other.",
        waits.for_who_is_up,
    ),
    "wait.announced": LonePromise(
        "Between cards a member waits for 3 skews at power-up, and claims a skew after it says that it is a candidate.",
        waits.at_power_up_between_cards,
    ),
    "wait.alone": LonePromise(
        "Who is alone in its group asks at power-up without waiting for others.", waits.for_nobody_at_power_up
    ),
    "wait.candidate": LonePromise(
        "Between cards a better candidate that hears its uplink is left its turn.", waits.for_a_better_candidate
    ),
    "wait.holder": LonePromise("Nobody asks while another one says that it holds the role.", waits.while_another_holds),
    "wait.told": LonePromise(
        "A member doesn't ask while its grantor alone says that another one holds the role.",
        waits.while_the_grantor_tells_of_a_holder,
    ),
    "wait.boot": LonePromise(
        "After a later boot a member lets others go first for wait_to_restore.", waits.after_a_later_boot
    ),
    "wait.boot_across": LonePromise(
        "After a later boot a member of a link between cards listens for a detection time.",
        waits.after_a_later_boot_between_cards,
    ),
    "wait.nobody": LonePromise("A member lets nobody go first who can't hold the role.", waits.for_nobody),
    "wait.losses": LonePromise(
        "A member whose lease ran out waits, twice as long at each further loss.",
        waits.longer_after_each_loss,
    ),
    "wait.held_long": LonePromise(
        "A lease that was held for long begins the waits anew.", waits.no_longer_after_a_long_lease
    ),
    "wait.turn": LonePromise(
        "A member whose lease ran out leaves every other one time to ask, even if it hears of none.",
        waits.a_turn_after_a_loss,
    ),
    "wait.refused": LonePromise(
        "After a refusal a member waits as long as that says, and a guard.", waits.after_a_refusal
    ),
    "wait.refused_told": LonePromise(
        "A refusal that says how long it lasts goes before a holder of whom answers told.",
        waits.after_a_refusal_though_told_of_a_holder,
    ),
    "wait.back": LonePromise(
        "A GPU that was silent is up again after wait_to_restore, twice as long after each further failure.",
        waits.for_who_comes_back,
    ),
    "wait.forgiven": LonePromise(
        "Good behaviour of eight times the wait wipes the failures of a GPU out.", waits.less_for_who_behaves
    ),
    "reluctance.asks": LonePromise(
        "A reluctant member doesn't ask while a better one can hold the link.", reluctance.lets_others_ask
    ),
    "reluctance.last": LonePromise("A reluctant candidate goes behind all others.", reluctance.goes_last),
    "reluctance.hands_over": LonePromise(
        "A reluctant holder hands its link over to a better one.", reluctance.hands_over
    ),
    "reluctance.keeps": LonePromise(
        "A reluctant holder keeps what nobody better can hold.", reluctance.keeps_what_nobody_better_can_have
    ),
    "reluctance.said": LonePromise(
        "A warden's answers say that its GPU is the entry GPU, while it is.", keepalives.say_who_is_reluctant
    ),
    "rounds.again": LonePromise(
        "A round that failed is tried again with a new number, three times in all, and told.",
        rounds.are_tried_again,
        counts=True,
    ),
    "rounds.end": LonePromise("Each round ends in time, whatever came before it.", rounds.always_end, counts=True),
    "rounds.one_way": LonePromise("One message that comes home is a count.", rounds.one_way_is_enough, counts=True),
    "rounds.believed": LonePromise("What comes home changed is not counted.", believed.what_is_right, counts=True),
    "rounds.plain": LonePromise(
        "What comes home changed is not counted, without records either.",
        believed.what_is_right_without_records,
        counts=True,
    ),
    "rounds.fit": LonePromise("Two messages that don't fit each other are no count.", believed.what_fits, counts=True),
    "rounds.once": LonePromise(
        "A message that comes home once more is rejected, and told.", believed.each_once, counts=True
    ),
    "rounds.told": LonePromise(
        "A report has the members, those that are degraded, the boundary GPUs and the weight.",
        believed.all_that_is_known,
        counts=True,
    ),
    "rounds.names": LonePromise("Only what failed in this period names suspects.", rounds.name_the_latest, counts=True),
    "rounds.own_state": LonePromise(
        "An entry GPU that computes slowly says so in its own record.", rounds.tell_how_it_is, counts=True
    ),
    "rounds.own_record": LonePromise(
        "An entry GPU's own record has its type, its weight, and that it may be the entry GPU.",
        rounds.tell_who_it_is,
        counts=True,
    ),
    "rounds.changed": LonePromise(
        "A round that only counts, and differs from the last count, is looked into by one with records.",
        rounds.look_when_a_count_changes,
        counts=True,
    ),
    "links.noisy": LonePromise(
        "A link is noisy from an error on until 16 rounds have passed without another.",
        links.noisy_for_some_rounds,
        counts=True,
    ),
    "links.slow": LonePromise(
        "A link is slow when four rounds in a row are late by as much, and not before.",
        links.slow_after_some_rounds,
        counts=True,
    ),
    "links.first": LonePromise(
        "So is the link out of the entry GPU, by its own quickest time.", links.slow_at_the_entry_gpu, counts=True
    ),
    "links.as_much": LonePromise(
        "A link is slow when its three quickest late rounds agree, and not before.", links.slow_by_as_much, counts=True
    ),
    "links.bypassed": LonePromise("A bypassed GPU makes no link slow.", links.slow_by_a_bypass, counts=True),
    "registers.boot": LonePromise(
        "A boot clears control of the roles, crossings and exits.",
        registers.are_cleared_at_boot,
        registers.CLEARED_AT_BOOT,
    ),
    "registers.entry": LonePromise(
        "Entry, monitor and exits are set while the entry role is held, and a census runs.",
        registers.follow_the_entry_role,
        counts=True,
    ),
    "registers.link": LonePromise(
        "Boundary and crossings are set while the lease of the link runs.",
        registers.follow_the_link,
        registers.FOLLOW_THE_LINK,
    ),
}
