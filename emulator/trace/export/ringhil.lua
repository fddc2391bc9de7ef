-- Messages of ring-interconnect GPU cards, as ringhil captures them (link type 147).
-- Generated from protocol/wire.py and protocol/capture.py: do not edit; `make generate` rewrites it.

local proto = Proto("ringhil", "Ring-interconnect GPU card")
local f, names = {}, {}
local bad = ProtoExpert.new("ringhil.bad", "arrived damaged, or marked by an earlier hop", expert.group.CHECKSUM,
  expert.severity.WARN)
local wrong_crc = ProtoExpert.new("ringhil.wrong_crc", "its bytes have another CRC, or it is no frame",
  expert.group.CHECKSUM, expert.severity.ERROR)
local rejected = ProtoExpert.new("ringhil.rejected", "rejected", expert.group.RESPONSE_CODE, expert.severity.WARN)
local short = ProtoExpert.new("ringhil.short", "ends before its fields do", expert.group.MALFORMED,
  expert.severity.ERROR)
proto.experts = { bad, wrong_crc, rejected, short }

-- A field of `size` bytes at `at`, into `tree`; where the packet ends before, `more` says so.
local more = true
local function add(tree, field, buffer, at, size)
  if not more or at + size > buffer:len() then
    more = false
    return 0
  end
  tree:add(field, buffer(at, size))
  return at + size
end
local function number(buffer, at, size)
  if at + size > buffer:len() then return 0 end
  return buffer(at, size):uint()
end
local function flags(tree, field, bits, buffer, at, size)
  if not more or at + size > buffer:len() then
    more = false
    return 0
  end
  local branch = tree:add(field, buffer(at, size))
  for _, bit in ipairs(bits) do branch:add(bit, buffer(at, size)) end
  return at + size
end

f.seen_version = ProtoField.uint8("ringhil.seen.version", "version", base.DEC, nil, nil, "")
f.seen_way = ProtoField.uint8("ringhil.seen.way", "way", base.DEC, { [0] = "to_firmware", [1] = "from_firmware", [2] = "to_cpu", [3] = "from_cpu", [4] = "event" }, nil, "")
f.seen_port = ProtoField.uint8("ringhil.seen.port", "port", base.DEC, nil, nil, "")
f.seen_found = ProtoField.uint8("ringhil.seen.found", "found", base.HEX, nil, nil, "")
f.seen_found_bits = {
  ProtoField.bool("ringhil.seen.found.bad", "bad", 8, nil, 0x1),
  ProtoField.bool("ringhil.seen.found.wrong_crc", "wrong_crc", 8, nil, 0x2),
  ProtoField.bool("ringhil.seen.found.rejected", "rejected", 8, nil, 0x4),
}
f.seen_card = ProtoField.uint16("ringhil.seen.card", "card", base.DEC, nil, nil, "")
f.seen_gpu = ProtoField.uint16("ringhil.seen.gpu", "gpu", base.DEC, nil, nil, "")
f.seen_number = ProtoField.uint64("ringhil.seen.number", "number", base.DEC, nil, nil, "")
f.seen_cycle = ProtoField.uint64("ringhil.seen.cycle", "cycle", base.DEC, nil, nil, "")
f.seen_names_length = ProtoField.uint16("ringhil.seen.names_length", "names_length", base.DEC, nil, nil, "")
f.seen_names = ProtoField.string("ringhil.seen.names", "names")
f.record_id = ProtoField.uint16("ringhil.record.id", "id", base.DEC, nil, nil, "number of the GPU")
f.record_hop = ProtoField.uint16("ringhil.record.hop", "hop", base.DEC, nil, nil, "the count as this GPU left it")
f.record_state = ProtoField.uint8("ringhil.record.state", "state", base.DEC, { [0] = "down", [1] = "working", [2] = "degraded" }, nil, "how it is")
f.record_flags = ProtoField.uint8("ringhil.record.flags", "flags", base.HEX, nil, nil, "what it is, and how the message has arrived")
f.record_flags_bits = {
  ProtoField.bool("ringhil.record.flags.entry_capable", "entry_capable", 8, nil, 0x1),
  ProtoField.bool("ringhil.record.flags.boundary", "boundary", 8, nil, 0x2),
  ProtoField.bool("ringhil.record.flags.port2", "port2", 8, nil, 0x4),
  ProtoField.bool("ringhil.record.flags.arrived_bad", "arrived_bad", 8, nil, 0x8),
  ProtoField.bool("ringhil.record.flags.arrived_marked", "arrived_marked", 8, nil, 0x10),
}
f.record_gpu_type = ProtoField.uint8("ringhil.record.gpu_type", "gpu_type", base.DEC, { [0] = "generic", [1] = "T4", [2] = "V100", [3] = "A100", [4] = "H100", [5] = "H200" }, nil, "its model")
f.record_stamp = ProtoField.uint8("ringhil.record.stamp", "stamp", base.DEC, nil, nil, "cycle in which the message reached this GPU, modulo 2^8; of the origin 0")
f.record_weight = ProtoField.uint16("ringhil.record.weight", "weight", base.DEC, nil, nil, "share of work that it wants, relative to the other GPUs")
f.record_errors = ProtoField.uint8("ringhil.record.errors", "errors", base.DEC, nil, nil, "frames that arrived bad at the port of arrival since power-up, modulo 2^8")
f.record_peer = ProtoField.uint8("ringhil.record.peer", "peer", base.DEC, nil, nil, "a boundary GPU's: the card at the other end of its link; otherwise 0xFF")
f.record_tag = ProtoField.uint32("ringhil.record.tag", "tag", base.HEX, nil, nil, "CRC over epoch, sequence and this record: no later hop can change it unseen")
f.command_key = ProtoField.uint32("ringhil.command.key", "key", base.DEC, nil, nil, "of the context: told when it is created, 0 is the key of whoever manages the GPU")
f.command_amount = ProtoField.uint32("ringhil.command.amount", "amount", base.DEC, nil, nil, "pages (create, configure: the limit), cycles of a launch, or what a query asks for")
f.command_slice = ProtoField.uint32("ringhil.command.slice", "slice", base.DEC, nil, nil, "create, configure: cycles in a row while others wait; 0: the GPU's default")
f.command_priority = ProtoField.uint8("ringhil.command.priority", "priority", base.DEC, nil, nil, "create, configure: the highest is served first in each round")
f.command_state = ProtoField.uint24("ringhil.command.state", "state", base.DEC, nil, nil, "create, configure: cycles that saving and restoring it adds to a switch")
f.statistics_kind = ProtoField.uint8("ringhil.statistics.kind", "kind", base.DEC, { [17] = "statistics", [18] = "keepalive", [19] = "election", [20] = "work", [21] = "result", [22] = "acknowledgement", [23] = "report" }, nil, "what it is; the high nibble is the version of the wire format")
f.statistics_card = ProtoField.uint8("ringhil.statistics.card", "card", base.DEC, nil, nil, "number of the card on which that GPU is")
f.statistics_flags = ProtoField.uint16("ringhil.statistics.flags", "flags", base.HEX, nil, nil, "a hop may set 0x0100 and up; bits 12 to 15: boundary links that a data frame has crossed")
f.statistics_flags_bits = {
  ProtoField.bool("ringhil.statistics.flags.ccw", "ccw", 16, nil, 0x1),
  ProtoField.bool("ringhil.statistics.flags.with_records", "with_records", 16, nil, 0x2),
  ProtoField.bool("ringhil.statistics.flags.to_host", "to_host", 16, nil, 0x4),
  ProtoField.bool("ringhil.statistics.flags.last", "last", 16, nil, 0x8),
  ProtoField.bool("ringhil.statistics.flags.circulating", "circulating", 16, nil, 0x100),
  ProtoField.bool("ringhil.statistics.flags.wrapped", "wrapped", 16, nil, 0x200),
}
f.statistics_ttl = ProtoField.uint16("ringhil.statistics.ttl", "ttl", base.DEC, nil, nil, "hops that it may still make; each node that it passes counts one down")
f.statistics_origin = ProtoField.uint16("ringhil.statistics.origin", "origin", base.DEC, nil, nil, "sender, to which it comes home")
f.statistics_epoch = ProtoField.uint32("ringhil.statistics.epoch", "epoch", base.DEC, nil, nil, "under which the entry GPU was elected that counts")
f.statistics_sequence = ProtoField.uint32("ringhil.statistics.sequence", "sequence", base.DEC, nil, nil, "number of the round; a further attempt is a round of its own")
f.statistics_count = ProtoField.uint16("ringhil.statistics.count", "count", base.DEC, nil, nil, "working GPUs so far, the origin included (R2, R3)")
f.statistics_records_count = ProtoField.uint16("ringhil.statistics.records_count", "records_count", base.DEC, nil, nil, "those that follow")
f.statistics_expected = ProtoField.uint16("ringhil.statistics.expected", "expected", base.DEC, nil, nil, "GPUs wired into the ring")
f.statistics_record_limit = ProtoField.uint16("ringhil.statistics.record_limit", "record_limit", base.DEC, nil, nil, "most records that may be appended; bit 15: a GPU found no room for its own")
f.statistics_sent_at = ProtoField.uint64("ringhil.statistics.sent_at", "sent_at", base.DEC, nil, nil, "cycle in which the round began")
f.statistics_e2e_crc = ProtoField.uint32("ringhil.statistics.e2e_crc", "e2e_crc", base.HEX, nil, nil, "over what no hop may change")
f.statistics_link_crc = ProtoField.uint32("ringhil.statistics.link_crc", "link_crc", base.HEX, nil, nil, "over the whole frame; each hop writes it anew")
f.keepalive_kind = ProtoField.uint8("ringhil.keepalive.kind", "kind", base.DEC, { [17] = "statistics", [18] = "keepalive", [19] = "election", [20] = "work", [21] = "result", [22] = "acknowledgement", [23] = "report" }, nil, "what it is; the high nibble is the version of the wire format")
f.keepalive_card = ProtoField.uint8("ringhil.keepalive.card", "card", base.DEC, nil, nil, "number of the card on which that GPU is")
f.keepalive_flags = ProtoField.uint16("ringhil.keepalive.flags", "flags", base.HEX, nil, nil, "a hop may set 0x0100 and up; bits 12 to 15: boundary links that a data frame has crossed")
f.keepalive_flags_bits = {
  ProtoField.bool("ringhil.keepalive.flags.ccw", "ccw", 16, nil, 0x1),
  ProtoField.bool("ringhil.keepalive.flags.with_records", "with_records", 16, nil, 0x2),
  ProtoField.bool("ringhil.keepalive.flags.to_host", "to_host", 16, nil, 0x4),
  ProtoField.bool("ringhil.keepalive.flags.last", "last", 16, nil, 0x8),
  ProtoField.bool("ringhil.keepalive.flags.circulating", "circulating", 16, nil, 0x100),
  ProtoField.bool("ringhil.keepalive.flags.wrapped", "wrapped", 16, nil, 0x200),
}
f.keepalive_ttl = ProtoField.uint16("ringhil.keepalive.ttl", "ttl", base.DEC, nil, nil, "hops that it may still make; each node that it passes counts one down")
f.keepalive_destination = ProtoField.uint16("ringhil.keepalive.destination", "destination", base.DEC, nil, nil, "GPU that takes it off the ring")
f.keepalive_epoch = ProtoField.uint32("ringhil.keepalive.epoch", "epoch", base.DEC, nil, nil, "the highest that its sender knows of; of a holder, that of its lease")
f.keepalive_sequence = ProtoField.uint32("ringhil.keepalive.sequence", "sequence", base.DEC, nil, nil, "number of the round of keepalives, from 1 at each boot; all of a round have the same")
f.keepalive_my_discriminator = ProtoField.uint32("ringhil.keepalive.my_discriminator", "my_discriminator", base.HEX, nil, nil, "who says it: bits 31 to 16 its GPU number, bits 15 to 0 its boots, modulo 2^16; of the CPU 0")
f.keepalive_your_discriminator = ProtoField.uint32("ringhil.keepalive.your_discriminator", "your_discriminator", base.HEX, nil, nil, "my_discriminator of the last that was heard of the receiver, 0: none; an answer: that of who asked")
f.keepalive_role = ProtoField.uint8("ringhil.keepalive.role", "role", base.DEC, { [1] = "entry", [2] = "boundary" }, nil, "which election it is about")
f.keepalive_priority = ProtoField.uint8("ringhil.keepalive.priority", "priority", base.DEC, nil, nil, "rank of the sender in its group: 0 is elected first")
f.keepalive_multiplier = ProtoField.uint8("ringhil.keepalive.multiplier", "multiplier", base.DEC, nil, nil, "intervals of silence after which the sender is to be taken for down")
f.keepalive_state = ProtoField.uint8("ringhil.keepalive.state", "state", base.HEX, nil, nil, "bits 0 to 3: [state of a member](#state-of-a-member); bits 4 to 7: [flags of a member](#flags-of-a-member)")
f.keepalive_state_bits = {
  ProtoField.uint8("ringhil.keepalive.state.member", "member", base.DEC, { [0] = "follower", [1] = "candidate", [2] = "holder" }, 0x0f),
  ProtoField.bool("ringhil.keepalive.state.uplink", "uplink", 8, nil, 0x10),
  ProtoField.bool("ringhil.keepalive.state.reluctant", "reluctant", 8, nil, 0x20),
  ProtoField.bool("ringhil.keepalive.state.granting", "granting", 8, nil, 0x40),
}
f.keepalive_interval = ProtoField.uint32("ringhil.keepalive.interval", "interval", base.DEC, nil, nil, "cycles between two rounds of the sender")
f.keepalive_members = ProtoField.uint64("ringhil.keepalive.members", "members", base.DEC, nil, nil, "bit i: the member of rank i is up, for the sender; its own bit is set")
f.keepalive_echo = ProtoField.uint32("ringhil.keepalive.echo", "echo", base.DEC, nil, nil, "an answer of a grantor: `sequence` of the keepalive that it answers; otherwise 0")
f.keepalive_holder = ProtoField.uint32("ringhil.keepalive.holder", "holder", base.DEC, nil, nil, "of a grantor: rank of the member whose lease runs; 0xFFFFFFFF: of none")
f.keepalive_e2e_crc = ProtoField.uint32("ringhil.keepalive.e2e_crc", "e2e_crc", base.HEX, nil, nil, "over what no hop may change")
f.keepalive_link_crc = ProtoField.uint32("ringhil.keepalive.link_crc", "link_crc", base.HEX, nil, nil, "over the whole frame; each hop writes it anew")
f.election_kind = ProtoField.uint8("ringhil.election.kind", "kind", base.DEC, { [17] = "statistics", [18] = "keepalive", [19] = "election", [20] = "work", [21] = "result", [22] = "acknowledgement", [23] = "report" }, nil, "what it is; the high nibble is the version of the wire format")
f.election_card = ProtoField.uint8("ringhil.election.card", "card", base.DEC, nil, nil, "number of the card on which that GPU is")
f.election_flags = ProtoField.uint16("ringhil.election.flags", "flags", base.HEX, nil, nil, "a hop may set 0x0100 and up; bits 12 to 15: boundary links that a data frame has crossed")
f.election_flags_bits = {
  ProtoField.bool("ringhil.election.flags.ccw", "ccw", 16, nil, 0x1),
  ProtoField.bool("ringhil.election.flags.with_records", "with_records", 16, nil, 0x2),
  ProtoField.bool("ringhil.election.flags.to_host", "to_host", 16, nil, 0x4),
  ProtoField.bool("ringhil.election.flags.last", "last", 16, nil, 0x8),
  ProtoField.bool("ringhil.election.flags.circulating", "circulating", 16, nil, 0x100),
  ProtoField.bool("ringhil.election.flags.wrapped", "wrapped", 16, nil, 0x200),
}
f.election_ttl = ProtoField.uint16("ringhil.election.ttl", "ttl", base.DEC, nil, nil, "hops that it may still make; each node that it passes counts one down")
f.election_destination = ProtoField.uint16("ringhil.election.destination", "destination", base.DEC, nil, nil, "GPU that takes it off the ring")
f.election_epoch = ProtoField.uint32("ringhil.election.epoch", "epoch", base.DEC, nil, nil, "claim, grant, release: of this lease; refuse: the highest that the grantor knows of")
f.election_sequence = ProtoField.uint32("ringhil.election.sequence", "sequence", base.DEC, nil, nil, "bits 31 to 16: boots of the claimant, bits 15 to 0: number of its claim; of an answer, as asked")
f.election_candidate = ProtoField.uint16("ringhil.election.candidate", "candidate", base.DEC, nil, nil, "number of the GPU that claims, or holds")
f.election_operation = ProtoField.uint8("ringhil.election.operation", "operation", base.DEC, { [1] = "claim", [2] = "grant", [3] = "refuse", [4] = "release" }, nil, "what it asks or answers")
f.election_role = ProtoField.uint8("ringhil.election.role", "role", base.DEC, { [1] = "entry", [2] = "boundary" }, nil, "which election it is about")
f.election_lease = ProtoField.uint32("ringhil.election.lease", "lease", base.DEC, nil, nil, "cycles that a lease lasts; refuse: for so long nothing will be granted, 0: only the epoch is too low")
f.election_members = ProtoField.uint64("ringhil.election.members", "members", base.DEC, nil, nil, "as in a keepalive of the claimant")
f.election_e2e_crc = ProtoField.uint32("ringhil.election.e2e_crc", "e2e_crc", base.HEX, nil, nil, "over what no hop may change")
f.election_link_crc = ProtoField.uint32("ringhil.election.link_crc", "link_crc", base.HEX, nil, nil, "over the whole frame; each hop writes it anew")
f.work_kind = ProtoField.uint8("ringhil.work.kind", "kind", base.DEC, { [17] = "statistics", [18] = "keepalive", [19] = "election", [20] = "work", [21] = "result", [22] = "acknowledgement", [23] = "report" }, nil, "what it is; the high nibble is the version of the wire format")
f.work_card = ProtoField.uint8("ringhil.work.card", "card", base.DEC, nil, nil, "number of the card on which that GPU is")
f.work_flags = ProtoField.uint16("ringhil.work.flags", "flags", base.HEX, nil, nil, "a hop may set 0x0100 and up; bits 12 to 15: boundary links that a data frame has crossed")
f.work_flags_bits = {
  ProtoField.bool("ringhil.work.flags.ccw", "ccw", 16, nil, 0x1),
  ProtoField.bool("ringhil.work.flags.with_records", "with_records", 16, nil, 0x2),
  ProtoField.bool("ringhil.work.flags.to_host", "to_host", 16, nil, 0x4),
  ProtoField.bool("ringhil.work.flags.last", "last", 16, nil, 0x8),
  ProtoField.bool("ringhil.work.flags.circulating", "circulating", 16, nil, 0x100),
  ProtoField.bool("ringhil.work.flags.wrapped", "wrapped", 16, nil, 0x200),
}
f.work_ttl = ProtoField.uint16("ringhil.work.ttl", "ttl", base.DEC, nil, nil, "hops that it may still make; each node that it passes counts one down")
f.work_destination = ProtoField.uint16("ringhil.work.destination", "destination", base.DEC, nil, nil, "GPU that takes it off the ring")
f.work_epoch = ProtoField.uint32("ringhil.work.epoch", "epoch", base.DEC, nil, nil, "of the entry GPU that it goes through")
f.work_unit = ProtoField.uint32("ringhil.work.unit", "unit", base.DEC, nil, nil, "number of the work; from 0x80000000 on it is a command to a context")
f.work_source = ProtoField.uint16("ringhil.work.source", "source", base.DEC, nil, nil, "the entry GPU that it came through: results go back to it")
f.work_attempt = ProtoField.uint16("ringhil.work.attempt", "attempt", base.DEC, nil, nil, "one more each time that it is sent again")
f.work_segment = ProtoField.uint16("ringhil.work.segment", "segment", base.DEC, nil, nil, "0, 1, 2 ... of this unit")
f.work_segment_bytes = ProtoField.uint16("ringhil.work.segment_bytes", "segment_bytes", base.DEC, nil, nil, "bytes of payload that count, 256 at most")
f.work_length = ProtoField.uint32("ringhil.work.length", "length", base.DEC, nil, nil, "bytes of the whole unit")
f.work_compute = ProtoField.uint8("ringhil.work.compute", "compute", base.DEC, { [0] = "digest", [16] = "create", [17] = "destroy", [18] = "configure", [19] = "allocate", [20] = "free", [21] = "copy", [22] = "launch", [23] = "cancel", [24] = "query" }, nil, "what is asked of the compute engine")
f.work_source_card = ProtoField.uint8("ringhil.work.source_card", "source_card", base.DEC, nil, nil, "the card of `source`")
f.work_context = ProtoField.uint16("ringhil.work.context", "context", base.DEC, nil, nil, "a command's: which of the engine's contexts it is for")
f.work_payload = ProtoField.bytes("ringhil.work.payload", "payload")
f.work_e2e_crc = ProtoField.uint32("ringhil.work.e2e_crc", "e2e_crc", base.HEX, nil, nil, "over what no hop may change")
f.work_link_crc = ProtoField.uint32("ringhil.work.link_crc", "link_crc", base.HEX, nil, nil, "over the whole frame; each hop writes it anew")
f.result_kind = ProtoField.uint8("ringhil.result.kind", "kind", base.DEC, { [17] = "statistics", [18] = "keepalive", [19] = "election", [20] = "work", [21] = "result", [22] = "acknowledgement", [23] = "report" }, nil, "what it is; the high nibble is the version of the wire format")
f.result_card = ProtoField.uint8("ringhil.result.card", "card", base.DEC, nil, nil, "number of the card on which that GPU is")
f.result_flags = ProtoField.uint16("ringhil.result.flags", "flags", base.HEX, nil, nil, "a hop may set 0x0100 and up; bits 12 to 15: boundary links that a data frame has crossed")
f.result_flags_bits = {
  ProtoField.bool("ringhil.result.flags.ccw", "ccw", 16, nil, 0x1),
  ProtoField.bool("ringhil.result.flags.with_records", "with_records", 16, nil, 0x2),
  ProtoField.bool("ringhil.result.flags.to_host", "to_host", 16, nil, 0x4),
  ProtoField.bool("ringhil.result.flags.last", "last", 16, nil, 0x8),
  ProtoField.bool("ringhil.result.flags.circulating", "circulating", 16, nil, 0x100),
  ProtoField.bool("ringhil.result.flags.wrapped", "wrapped", 16, nil, 0x200),
}
f.result_ttl = ProtoField.uint16("ringhil.result.ttl", "ttl", base.DEC, nil, nil, "hops that it may still make; each node that it passes counts one down")
f.result_destination = ProtoField.uint16("ringhil.result.destination", "destination", base.DEC, nil, nil, "GPU that takes it off the ring")
f.result_epoch = ProtoField.uint32("ringhil.result.epoch", "epoch", base.DEC, nil, nil, "as in the work that it answers")
f.result_unit = ProtoField.uint32("ringhil.result.unit", "unit", base.DEC, nil, nil, "as in the work")
f.result_source = ProtoField.uint16("ringhil.result.source", "source", base.DEC, nil, nil, "number of the GPU that answers")
f.result_attempt = ProtoField.uint16("ringhil.result.attempt", "attempt", base.DEC, nil, nil, "as in the work")
f.result_status = ProtoField.uint16("ringhil.result.status", "status", base.DEC, { [0] = "done", [1] = "over_limit", [2] = "no_memory", [3] = "invalid", [4] = "running", [5] = "cancelled", [6] = "started" }, nil, "how it has ended")
f.result_source_card = ProtoField.uint8("ringhil.result.source_card", "source_card", base.DEC, nil, nil, "its card")
f.result_queued = ProtoField.uint8("ringhil.result.queued", "queued", base.DEC, nil, nil, "units still waiting in this GPU")
f.result_digest = ProtoField.uint64("ringhil.result.digest", "digest", base.DEC, nil, nil, "CRC 32 | sum 32 over the padded bytes that arrived")
f.result_length = ProtoField.uint32("ringhil.result.length", "length", base.DEC, nil, nil, "bytes that arrived")
f.result_cycles = ProtoField.uint32("ringhil.result.cycles", "cycles", base.DEC, nil, nil, "cycles that the compute engine took")
f.result_e2e_crc = ProtoField.uint32("ringhil.result.e2e_crc", "e2e_crc", base.HEX, nil, nil, "over what no hop may change")
f.result_link_crc = ProtoField.uint32("ringhil.result.link_crc", "link_crc", base.HEX, nil, nil, "over the whole frame; each hop writes it anew")
f.acknowledgement_kind = ProtoField.uint8("ringhil.acknowledgement.kind", "kind", base.DEC, { [17] = "statistics", [18] = "keepalive", [19] = "election", [20] = "work", [21] = "result", [22] = "acknowledgement", [23] = "report" }, nil, "what it is; the high nibble is the version of the wire format")
f.acknowledgement_card = ProtoField.uint8("ringhil.acknowledgement.card", "card", base.DEC, nil, nil, "number of the card on which that GPU is")
f.acknowledgement_flags = ProtoField.uint16("ringhil.acknowledgement.flags", "flags", base.HEX, nil, nil, "a hop may set 0x0100 and up; bits 12 to 15: boundary links that a data frame has crossed")
f.acknowledgement_flags_bits = {
  ProtoField.bool("ringhil.acknowledgement.flags.ccw", "ccw", 16, nil, 0x1),
  ProtoField.bool("ringhil.acknowledgement.flags.with_records", "with_records", 16, nil, 0x2),
  ProtoField.bool("ringhil.acknowledgement.flags.to_host", "to_host", 16, nil, 0x4),
  ProtoField.bool("ringhil.acknowledgement.flags.last", "last", 16, nil, 0x8),
  ProtoField.bool("ringhil.acknowledgement.flags.circulating", "circulating", 16, nil, 0x100),
  ProtoField.bool("ringhil.acknowledgement.flags.wrapped", "wrapped", 16, nil, 0x200),
}
f.acknowledgement_ttl = ProtoField.uint16("ringhil.acknowledgement.ttl", "ttl", base.DEC, nil, nil, "hops that it may still make; each node that it passes counts one down")
f.acknowledgement_destination = ProtoField.uint16("ringhil.acknowledgement.destination", "destination", base.DEC, nil, nil, "GPU that takes it off the ring")
f.acknowledgement_epoch = ProtoField.uint32("ringhil.acknowledgement.epoch", "epoch", base.DEC, nil, nil, "as in the work that it answers")
f.acknowledgement_unit = ProtoField.uint32("ringhil.acknowledgement.unit", "unit", base.DEC, nil, nil, "as in the work")
f.acknowledgement_source = ProtoField.uint16("ringhil.acknowledgement.source", "source", base.DEC, nil, nil, "number of the GPU that refuses")
f.acknowledgement_attempt = ProtoField.uint16("ringhil.acknowledgement.attempt", "attempt", base.DEC, nil, nil, "as in the work")
f.acknowledgement_status = ProtoField.uint16("ringhil.acknowledgement.status", "status", base.DEC, { [1] = "busy", [2] = "incomplete", [3] = "unknown_kind", [4] = "no_context", [5] = "foreign", [6] = "exists" }, nil, "why")
f.acknowledgement_source_card = ProtoField.uint8("ringhil.acknowledgement.source_card", "source_card", base.DEC, nil, nil, "its card")
f.acknowledgement_queued = ProtoField.uint8("ringhil.acknowledgement.queued", "queued", base.DEC, nil, nil, "units still waiting in this GPU")
f.acknowledgement_e2e_crc = ProtoField.uint32("ringhil.acknowledgement.e2e_crc", "e2e_crc", base.HEX, nil, nil, "over what no hop may change")
f.acknowledgement_link_crc = ProtoField.uint32("ringhil.acknowledgement.link_crc", "link_crc", base.HEX, nil, nil, "over the whole frame; each hop writes it anew")
f.report_kind = ProtoField.uint8("ringhil.report.kind", "kind", base.DEC, { [17] = "statistics", [18] = "keepalive", [19] = "election", [20] = "work", [21] = "result", [22] = "acknowledgement", [23] = "report" }, nil, "what it is; the high nibble is the version of the wire format")
f.report_card = ProtoField.uint8("ringhil.report.card", "card", base.DEC, nil, nil, "number of the card on which that GPU is")
f.report_flags = ProtoField.uint16("ringhil.report.flags", "flags", base.HEX, nil, nil, "a hop may set 0x0100 and up; bits 12 to 15: boundary links that a data frame has crossed")
f.report_flags_bits = {
  ProtoField.bool("ringhil.report.flags.ccw", "ccw", 16, nil, 0x1),
  ProtoField.bool("ringhil.report.flags.with_records", "with_records", 16, nil, 0x2),
  ProtoField.bool("ringhil.report.flags.to_host", "to_host", 16, nil, 0x4),
  ProtoField.bool("ringhil.report.flags.last", "last", 16, nil, 0x8),
  ProtoField.bool("ringhil.report.flags.circulating", "circulating", 16, nil, 0x100),
  ProtoField.bool("ringhil.report.flags.wrapped", "wrapped", 16, nil, 0x200),
}
f.report_ttl = ProtoField.uint16("ringhil.report.ttl", "ttl", base.DEC, nil, nil, "hops that it may still make; each node that it passes counts one down")
f.report_destination = ProtoField.uint16("ringhil.report.destination", "destination", base.DEC, nil, nil, "GPU that takes it off the ring")
f.report_epoch = ProtoField.uint32("ringhil.report.epoch", "epoch", base.DEC, nil, nil, "under which the entry GPU was elected that counts")
f.report_sequence = ProtoField.uint32("ringhil.report.sequence", "sequence", base.DEC, nil, nil, "number of the round")
f.report_source = ProtoField.uint16("ringhil.report.source", "source", base.DEC, nil, nil, "number of the entry GPU")
f.report_count = ProtoField.uint16("ringhil.report.count", "count", base.DEC, nil, nil, "GPUs that work")
f.report_size = ProtoField.uint16("ringhil.report.size", "size", base.DEC, nil, nil, "GPUs wired into the ring")
f.report_verdict = ProtoField.uint16("ringhil.report.verdict", "verdict", base.DEC, { [0] = "none", [1] = "ring", [2] = "single", [3] = "arms" }, nil, "how the count came about")
f.report_break_after = ProtoField.uint16("ringhil.report.break_after", "break_after", base.DEC, nil, nil, "verdict arms: last GPU of the clockwise arm; 0xFFFF: otherwise, or not known")
f.report_break_before = ProtoField.uint16("ringhil.report.break_before", "break_before", base.DEC, nil, nil, "verdict arms: last GPU of the counter-clockwise arm; 0xFFFF: otherwise, or not known")
f.report_rejected = ProtoField.uint32("ringhil.report.rejected", "rejected", base.DEC, nil, nil, "messages and rounds rejected since this entry GPU was elected")
f.report_sent_at = ProtoField.uint64("ringhil.report.sent_at", "sent_at", base.DEC, nil, nil, "cycle in which the round began")
f.report_suspects = ProtoField.uint16("ringhil.report.suspects", "suspects", base.DEC, nil, nil, "GPUs that may have spoiled the rejected messages")
f.report_first_suspect = ProtoField.uint16("ringhil.report.first_suspect", "first_suspect", base.DEC, nil, nil, "the lowest of them; 0xFFFF: none")
f.report_slow_link = ProtoField.uint16("ringhil.report.slow_link", "slow_link", base.DEC, nil, nil, "the link from this GPU clockwise takes longer than it should; 0xFFFF: none does")
f.report_noisy_link = ProtoField.uint16("ringhil.report.noisy_link", "noisy_link", base.DEC, nil, nil, "messages arrive damaged over the link from this GPU clockwise; 0xFFFF: over none")
f.report_weight = ProtoField.uint32("ringhil.report.weight", "weight", base.DEC, nil, nil, "of all members together, in quarters: of a degraded one a quarter of its weight counts")
f.report_reserved = ProtoField.uint32("ringhil.report.reserved", "reserved", base.DEC, nil, nil, "0")
f.report_sets = ProtoField.uint64("ringhil.report.sets", "sets", base.HEX)
f.report_e2e_crc = ProtoField.uint32("ringhil.report.e2e_crc", "e2e_crc", base.HEX, nil, nil, "over what no hop may change")
f.report_link_crc = ProtoField.uint32("ringhil.report.link_crc", "link_crc", base.HEX, nil, nil, "over the whole frame; each hop writes it anew")
f.event = ProtoField.string("ringhil.event", "event")
f.bytes = ProtoField.bytes("ringhil.bytes", "bytes")
f.source = ProtoField.string("ringhil.source", "source")
f.destination = ProtoField.string("ringhil.destination", "destination")
f.is_statistics = ProtoField.none("ringhil.statistics", "statistics")
f.is_keepalive = ProtoField.none("ringhil.keepalive", "keepalive")
f.is_election = ProtoField.none("ringhil.election", "election")
f.is_work = ProtoField.none("ringhil.work", "work")
f.is_result = ProtoField.none("ringhil.result", "result")
f.is_acknowledgement = ProtoField.none("ringhil.acknowledgement", "acknowledgement")
f.is_report = ProtoField.none("ringhil.report", "report")
local ways = { [0] = "to_firmware", [1] = "from_firmware", [2] = "to_cpu", [3] = "from_cpu", [4] = "event" }
names[17] = "statistics"
names[18] = "keepalive"
names[19] = "election"
names[20] = "work"
names[21] = "result"
names[22] = "acknowledgement"
names[23] = "report"
local commands = { [16] = true, [17] = true, [18] = true, [19] = true, [20] = true, [21] = true, [22] = true, [23] = true, [24] = true }
local roles = { [1] = "entry", [2] = "boundary" }
local member_states = { [0] = "follower", [1] = "candidate", [2] = "holder" }
local operations = { [1] = "claim", [2] = "grant", [3] = "refuse", [4] = "release" }
local computes = { [0] = "digest", [16] = "create", [17] = "destroy", [18] = "configure", [19] = "allocate", [20] = "free", [21] = "copy", [22] = "launch", [23] = "cancel", [24] = "query" }
local results = { [0] = "done", [1] = "over_limit", [2] = "no_memory", [3] = "invalid", [4] = "running", [5] = "cancelled", [6] = "started" }
local refusals = { [1] = "busy", [2] = "incomplete", [3] = "unknown_kind", [4] = "no_context", [5] = "foreign", [6] = "exists" }
local verdicts = { [0] = "none", [1] = "ring", [2] = "single", [3] = "arms" }
local function header(tree, buffer, at, v)
  v.version = number(buffer, at, 1)
  at = add(tree, f.seen_version, buffer, at, 1)
  v.way = number(buffer, at, 1)
  at = add(tree, f.seen_way, buffer, at, 1)
  v.port = number(buffer, at, 1)
  at = add(tree, f.seen_port, buffer, at, 1)
  v.found = number(buffer, at, 1)
  at = flags(tree, f.seen_found, f.seen_found_bits, buffer, at, 1)
  v.card = number(buffer, at, 2)
  at = add(tree, f.seen_card, buffer, at, 2)
  v.gpu = number(buffer, at, 2)
  at = add(tree, f.seen_gpu, buffer, at, 2)
  at = add(tree, f.seen_number, buffer, at, 8)
  at = add(tree, f.seen_cycle, buffer, at, 8)
  v.names_length = number(buffer, at, 2)
  at = add(tree, f.seen_names_length, buffer, at, 2)
  if v.names_length > 0 then at = add(tree, f.seen_names, buffer, at, v.names_length) end
  return at
end
local function record(tree, buffer, at, v)
  v.id = number(buffer, at, 2)
  at = add(tree, f.record_id, buffer, at, 2)
  v.hop = number(buffer, at, 2)
  at = add(tree, f.record_hop, buffer, at, 2)
  v.state = number(buffer, at, 1)
  at = add(tree, f.record_state, buffer, at, 1)
  v.flags = number(buffer, at, 1)
  at = flags(tree, f.record_flags, f.record_flags_bits, buffer, at, 1)
  v.gpu_type = number(buffer, at, 1)
  at = add(tree, f.record_gpu_type, buffer, at, 1)
  v.stamp = number(buffer, at, 1)
  at = add(tree, f.record_stamp, buffer, at, 1)
  v.weight = number(buffer, at, 2)
  at = add(tree, f.record_weight, buffer, at, 2)
  v.errors = number(buffer, at, 1)
  at = add(tree, f.record_errors, buffer, at, 1)
  v.peer = number(buffer, at, 1)
  at = add(tree, f.record_peer, buffer, at, 1)
  v.tag = number(buffer, at, 4)
  at = add(tree, f.record_tag, buffer, at, 4)
  return at
end
local function command(tree, buffer, at, v)
  v.key = number(buffer, at, 4)
  at = add(tree, f.command_key, buffer, at, 4)
  v.amount = number(buffer, at, 4)
  at = add(tree, f.command_amount, buffer, at, 4)
  v.slice = number(buffer, at, 4)
  at = add(tree, f.command_slice, buffer, at, 4)
  v.priority = number(buffer, at, 1)
  at = add(tree, f.command_priority, buffer, at, 1)
  v.state = number(buffer, at, 3)
  at = add(tree, f.command_state, buffer, at, 3)
  return at
end
local function statistics(tree, buffer, at, v)
  v.kind = number(buffer, at, 1)
  at = add(tree, f.statistics_kind, buffer, at, 1)
  v.card = number(buffer, at, 1)
  at = add(tree, f.statistics_card, buffer, at, 1)
  v.flags = number(buffer, at, 2)
  at = flags(tree, f.statistics_flags, f.statistics_flags_bits, buffer, at, 2)
  v.ttl = number(buffer, at, 2)
  at = add(tree, f.statistics_ttl, buffer, at, 2)
  v.origin = number(buffer, at, 2)
  at = add(tree, f.statistics_origin, buffer, at, 2)
  v.epoch = number(buffer, at, 4)
  at = add(tree, f.statistics_epoch, buffer, at, 4)
  v.sequence = number(buffer, at, 4)
  at = add(tree, f.statistics_sequence, buffer, at, 4)
  v.count = number(buffer, at, 2)
  at = add(tree, f.statistics_count, buffer, at, 2)
  v.records_count = number(buffer, at, 2)
  at = add(tree, f.statistics_records_count, buffer, at, 2)
  v.expected = number(buffer, at, 2)
  at = add(tree, f.statistics_expected, buffer, at, 2)
  v.record_limit = number(buffer, at, 2)
  at = add(tree, f.statistics_record_limit, buffer, at, 2)
  at = add(tree, f.statistics_sent_at, buffer, at, 8)
  for i = 1, v.records_count do
    if not more then break end
    if at + 16 > buffer:len() then more = false break end
    at = record(tree:add(proto, buffer(at, 16), "record " .. i), buffer, at, {})
  end
  v.e2e_crc = number(buffer, at, 4)
  at = add(tree, f.statistics_e2e_crc, buffer, at, 4)
  v.link_crc = number(buffer, at, 4)
  at = add(tree, f.statistics_link_crc, buffer, at, 4)
  return at
end
local function keepalive(tree, buffer, at, v)
  v.kind = number(buffer, at, 1)
  at = add(tree, f.keepalive_kind, buffer, at, 1)
  v.card = number(buffer, at, 1)
  at = add(tree, f.keepalive_card, buffer, at, 1)
  v.flags = number(buffer, at, 2)
  at = flags(tree, f.keepalive_flags, f.keepalive_flags_bits, buffer, at, 2)
  v.ttl = number(buffer, at, 2)
  at = add(tree, f.keepalive_ttl, buffer, at, 2)
  v.destination = number(buffer, at, 2)
  at = add(tree, f.keepalive_destination, buffer, at, 2)
  v.epoch = number(buffer, at, 4)
  at = add(tree, f.keepalive_epoch, buffer, at, 4)
  v.sequence = number(buffer, at, 4)
  at = add(tree, f.keepalive_sequence, buffer, at, 4)
  v.my_discriminator = number(buffer, at, 4)
  at = add(tree, f.keepalive_my_discriminator, buffer, at, 4)
  v.your_discriminator = number(buffer, at, 4)
  at = add(tree, f.keepalive_your_discriminator, buffer, at, 4)
  v.role = number(buffer, at, 1)
  at = add(tree, f.keepalive_role, buffer, at, 1)
  v.priority = number(buffer, at, 1)
  at = add(tree, f.keepalive_priority, buffer, at, 1)
  v.multiplier = number(buffer, at, 1)
  at = add(tree, f.keepalive_multiplier, buffer, at, 1)
  v.state = number(buffer, at, 1)
  at = flags(tree, f.keepalive_state, f.keepalive_state_bits, buffer, at, 1)
  v.interval = number(buffer, at, 4)
  at = add(tree, f.keepalive_interval, buffer, at, 4)
  at = add(tree, f.keepalive_members, buffer, at, 8)
  v.echo = number(buffer, at, 4)
  at = add(tree, f.keepalive_echo, buffer, at, 4)
  v.holder = number(buffer, at, 4)
  at = add(tree, f.keepalive_holder, buffer, at, 4)
  v.e2e_crc = number(buffer, at, 4)
  at = add(tree, f.keepalive_e2e_crc, buffer, at, 4)
  v.link_crc = number(buffer, at, 4)
  at = add(tree, f.keepalive_link_crc, buffer, at, 4)
  return at
end
local function election(tree, buffer, at, v)
  v.kind = number(buffer, at, 1)
  at = add(tree, f.election_kind, buffer, at, 1)
  v.card = number(buffer, at, 1)
  at = add(tree, f.election_card, buffer, at, 1)
  v.flags = number(buffer, at, 2)
  at = flags(tree, f.election_flags, f.election_flags_bits, buffer, at, 2)
  v.ttl = number(buffer, at, 2)
  at = add(tree, f.election_ttl, buffer, at, 2)
  v.destination = number(buffer, at, 2)
  at = add(tree, f.election_destination, buffer, at, 2)
  v.epoch = number(buffer, at, 4)
  at = add(tree, f.election_epoch, buffer, at, 4)
  v.sequence = number(buffer, at, 4)
  at = add(tree, f.election_sequence, buffer, at, 4)
  v.candidate = number(buffer, at, 2)
  at = add(tree, f.election_candidate, buffer, at, 2)
  v.operation = number(buffer, at, 1)
  at = add(tree, f.election_operation, buffer, at, 1)
  v.role = number(buffer, at, 1)
  at = add(tree, f.election_role, buffer, at, 1)
  v.lease = number(buffer, at, 4)
  at = add(tree, f.election_lease, buffer, at, 4)
  at = add(tree, f.election_members, buffer, at, 8)
  v.e2e_crc = number(buffer, at, 4)
  at = add(tree, f.election_e2e_crc, buffer, at, 4)
  v.link_crc = number(buffer, at, 4)
  at = add(tree, f.election_link_crc, buffer, at, 4)
  return at
end
local function work(tree, buffer, at, v)
  v.kind = number(buffer, at, 1)
  at = add(tree, f.work_kind, buffer, at, 1)
  v.card = number(buffer, at, 1)
  at = add(tree, f.work_card, buffer, at, 1)
  v.flags = number(buffer, at, 2)
  at = flags(tree, f.work_flags, f.work_flags_bits, buffer, at, 2)
  v.ttl = number(buffer, at, 2)
  at = add(tree, f.work_ttl, buffer, at, 2)
  v.destination = number(buffer, at, 2)
  at = add(tree, f.work_destination, buffer, at, 2)
  v.epoch = number(buffer, at, 4)
  at = add(tree, f.work_epoch, buffer, at, 4)
  v.unit = number(buffer, at, 4)
  at = add(tree, f.work_unit, buffer, at, 4)
  v.source = number(buffer, at, 2)
  at = add(tree, f.work_source, buffer, at, 2)
  v.attempt = number(buffer, at, 2)
  at = add(tree, f.work_attempt, buffer, at, 2)
  v.segment = number(buffer, at, 2)
  at = add(tree, f.work_segment, buffer, at, 2)
  v.segment_bytes = number(buffer, at, 2)
  at = add(tree, f.work_segment_bytes, buffer, at, 2)
  v.length = number(buffer, at, 4)
  at = add(tree, f.work_length, buffer, at, 4)
  v.compute = number(buffer, at, 1)
  at = add(tree, f.work_compute, buffer, at, 1)
  v.source_card = number(buffer, at, 1)
  at = add(tree, f.work_source_card, buffer, at, 1)
  v.context = number(buffer, at, 2)
  at = add(tree, f.work_context, buffer, at, 2)
  local first = v.segment == 0 and v.segment_bytes >= 16 and at + 16 <= buffer:len()
  if commands[v.compute] and first then
    command(tree:add(proto, buffer(at, 16), "command"), buffer, at, {})
  end
  if (math.floor((v.segment_bytes + 7) / 8) * 8) > 0 then at = add(tree, f.work_payload, buffer, at, (math.floor((v.segment_bytes + 7) / 8) * 8)) end
  v.e2e_crc = number(buffer, at, 4)
  at = add(tree, f.work_e2e_crc, buffer, at, 4)
  v.link_crc = number(buffer, at, 4)
  at = add(tree, f.work_link_crc, buffer, at, 4)
  return at
end
local function result(tree, buffer, at, v)
  v.kind = number(buffer, at, 1)
  at = add(tree, f.result_kind, buffer, at, 1)
  v.card = number(buffer, at, 1)
  at = add(tree, f.result_card, buffer, at, 1)
  v.flags = number(buffer, at, 2)
  at = flags(tree, f.result_flags, f.result_flags_bits, buffer, at, 2)
  v.ttl = number(buffer, at, 2)
  at = add(tree, f.result_ttl, buffer, at, 2)
  v.destination = number(buffer, at, 2)
  at = add(tree, f.result_destination, buffer, at, 2)
  v.epoch = number(buffer, at, 4)
  at = add(tree, f.result_epoch, buffer, at, 4)
  v.unit = number(buffer, at, 4)
  at = add(tree, f.result_unit, buffer, at, 4)
  v.source = number(buffer, at, 2)
  at = add(tree, f.result_source, buffer, at, 2)
  v.attempt = number(buffer, at, 2)
  at = add(tree, f.result_attempt, buffer, at, 2)
  v.status = number(buffer, at, 2)
  at = add(tree, f.result_status, buffer, at, 2)
  v.source_card = number(buffer, at, 1)
  at = add(tree, f.result_source_card, buffer, at, 1)
  v.queued = number(buffer, at, 1)
  at = add(tree, f.result_queued, buffer, at, 1)
  at = add(tree, f.result_digest, buffer, at, 8)
  v.length = number(buffer, at, 4)
  at = add(tree, f.result_length, buffer, at, 4)
  v.cycles = number(buffer, at, 4)
  at = add(tree, f.result_cycles, buffer, at, 4)
  v.e2e_crc = number(buffer, at, 4)
  at = add(tree, f.result_e2e_crc, buffer, at, 4)
  v.link_crc = number(buffer, at, 4)
  at = add(tree, f.result_link_crc, buffer, at, 4)
  return at
end
local function acknowledgement(tree, buffer, at, v)
  v.kind = number(buffer, at, 1)
  at = add(tree, f.acknowledgement_kind, buffer, at, 1)
  v.card = number(buffer, at, 1)
  at = add(tree, f.acknowledgement_card, buffer, at, 1)
  v.flags = number(buffer, at, 2)
  at = flags(tree, f.acknowledgement_flags, f.acknowledgement_flags_bits, buffer, at, 2)
  v.ttl = number(buffer, at, 2)
  at = add(tree, f.acknowledgement_ttl, buffer, at, 2)
  v.destination = number(buffer, at, 2)
  at = add(tree, f.acknowledgement_destination, buffer, at, 2)
  v.epoch = number(buffer, at, 4)
  at = add(tree, f.acknowledgement_epoch, buffer, at, 4)
  v.unit = number(buffer, at, 4)
  at = add(tree, f.acknowledgement_unit, buffer, at, 4)
  v.source = number(buffer, at, 2)
  at = add(tree, f.acknowledgement_source, buffer, at, 2)
  v.attempt = number(buffer, at, 2)
  at = add(tree, f.acknowledgement_attempt, buffer, at, 2)
  v.status = number(buffer, at, 2)
  at = add(tree, f.acknowledgement_status, buffer, at, 2)
  v.source_card = number(buffer, at, 1)
  at = add(tree, f.acknowledgement_source_card, buffer, at, 1)
  v.queued = number(buffer, at, 1)
  at = add(tree, f.acknowledgement_queued, buffer, at, 1)
  v.e2e_crc = number(buffer, at, 4)
  at = add(tree, f.acknowledgement_e2e_crc, buffer, at, 4)
  v.link_crc = number(buffer, at, 4)
  at = add(tree, f.acknowledgement_link_crc, buffer, at, 4)
  return at
end
local function report(tree, buffer, at, v)
  v.kind = number(buffer, at, 1)
  at = add(tree, f.report_kind, buffer, at, 1)
  v.card = number(buffer, at, 1)
  at = add(tree, f.report_card, buffer, at, 1)
  v.flags = number(buffer, at, 2)
  at = flags(tree, f.report_flags, f.report_flags_bits, buffer, at, 2)
  v.ttl = number(buffer, at, 2)
  at = add(tree, f.report_ttl, buffer, at, 2)
  v.destination = number(buffer, at, 2)
  at = add(tree, f.report_destination, buffer, at, 2)
  v.epoch = number(buffer, at, 4)
  at = add(tree, f.report_epoch, buffer, at, 4)
  v.sequence = number(buffer, at, 4)
  at = add(tree, f.report_sequence, buffer, at, 4)
  v.source = number(buffer, at, 2)
  at = add(tree, f.report_source, buffer, at, 2)
  v.count = number(buffer, at, 2)
  at = add(tree, f.report_count, buffer, at, 2)
  v.size = number(buffer, at, 2)
  at = add(tree, f.report_size, buffer, at, 2)
  v.verdict = number(buffer, at, 2)
  at = add(tree, f.report_verdict, buffer, at, 2)
  v.break_after = number(buffer, at, 2)
  at = add(tree, f.report_break_after, buffer, at, 2)
  v.break_before = number(buffer, at, 2)
  at = add(tree, f.report_break_before, buffer, at, 2)
  v.rejected = number(buffer, at, 4)
  at = add(tree, f.report_rejected, buffer, at, 4)
  at = add(tree, f.report_sent_at, buffer, at, 8)
  v.suspects = number(buffer, at, 2)
  at = add(tree, f.report_suspects, buffer, at, 2)
  v.first_suspect = number(buffer, at, 2)
  at = add(tree, f.report_first_suspect, buffer, at, 2)
  v.slow_link = number(buffer, at, 2)
  at = add(tree, f.report_slow_link, buffer, at, 2)
  v.noisy_link = number(buffer, at, 2)
  at = add(tree, f.report_noisy_link, buffer, at, 2)
  v.weight = number(buffer, at, 4)
  at = add(tree, f.report_weight, buffer, at, 4)
  v.reserved = number(buffer, at, 4)
  at = add(tree, f.report_reserved, buffer, at, 4)
  for i = 1, (math.floor((v.size + 63) / 64) * 3) do
    if not more then break end
    at = add(tree, f.report_sets, buffer, at, 8)
  end
  v.e2e_crc = number(buffer, at, 4)
  at = add(tree, f.report_e2e_crc, buffer, at, 4)
  v.link_crc = number(buffer, at, 4)
  at = add(tree, f.report_link_crc, buffer, at, 4)
  return at
end

local function place(cards, card, gpu)
  return (cards[card + 1] or tostring(card)) .. "." .. gpu
end
local function word(words, code)
  return words[code] or tostring(code)
end
-- Who has sent a frame that was seen at `here`, and for whom it is; nil: nothing says so.
local function ends(kind, way, port, here, cards, v)
  local from, to
  if way == 1 then from = here end
  if way == 0 or way == 3 then to = here end
  if way == 3 then from = "CPU" end
  if way == 2 or (way == 1 and port == 2) then to = "CPU" end
  if kind == "statistics" then
    return place(cards, v.card, v.origin), "ring"
  elseif kind == "keepalive" then
    if not from and v.my_discriminator == 0 then from = "CPU" end
    if not from and (way == 2 or port ~= 3) then
      from = place(cards, v.card, math.floor(v.my_discriminator / 65536))
    end
  elseif kind == "election" then
    local asks = v.operation == 1 or v.operation == 4
    if not from and asks and way == 2 then from = place(cards, v.card, v.candidate) end
    if not from and not asks and v.role == 1 then from = "CPU" end
  elseif kind == "result" or kind == "acknowledgement" then
    from, to = place(cards, v.source_card, v.source), "CPU"
  elseif kind == "report" then
    from, to = place(cards, v.card, v.source), "CPU"
  elseif kind == "work" then
    from = from or "CPU"
    to = place(cards, v.card, v.destination)
  end
  if not to then to = place(cards, v.card, v.destination) end
  return from, to
end
local says = {
  statistics = function(v, cards)
    local records = v.records_count == 1 and " record" or " records"
    return string.format("statistics from %s, count %d of %d, %d%s", place(cards, v.card, v.origin), v.count,
      v.expected, v.records_count, records)
  end,
  keepalive = function(v)
    local state = word(member_states, v.state % 16)
    local answer = v.echo > 0 and string.format(", answers %d", v.echo) or ""
    return string.format("keepalive, %s %s, epoch %d, sequence %d%s", word(roles, v.role), state, v.epoch, v.sequence,
      answer)
  end,
  election = function(v)
    return string.format("%s of %s role, epoch %d", word(operations, v.operation), word(roles, v.role), v.epoch)
  end,
  work = function(v)
    return string.format("%s, unit %d, segment %d, %d bytes", word(computes, v.compute), v.unit, v.segment,
      v.segment_bytes)
  end,
  result = function(v) return string.format("result, unit %d: %s", v.unit, word(results, v.status)) end,
  acknowledgement = function(v) return string.format("refusal, unit %d: %s", v.unit, word(refusals, v.status)) end,
  report = function(v)
    return string.format("report, count %d of %d, verdict %s", v.count, v.size, word(verdicts, v.verdict))
  end,
}


local kinds = {
  statistics = statistics,
  keepalive = keepalive,
  election = election,
  work = work,
  result = result,
  acknowledgement = acknowledgement,
  report = report,
}

function proto.dissector(buffer, packet, root)
  packet.cols.protocol = "RING"
  more = true
  local tree = root:add(proto, buffer())
  local seen, cards = {}, {}
  local head = buffer(0, math.min(26 + number(buffer, 24, 2), buffer:len()))
  local at = header(tree:add(proto, head, "Seen"), buffer, 0, seen)
  if not more then
    tree:add_proto_expert_info(short)
    return
  end
  for name in buffer(at - seen.names_length, seen.names_length):string():gmatch("[^,]+") do cards[#cards + 1] = name end
  local way, found, kind = seen.way, seen.found, names[number(buffer, at, 1)]
  local here = way == 4 and seen.card == 65535 and "server" or place(cards, seen.card, seen.gpu)
  if way == 4 then
    tree:add(f.event, buffer(at))
    packet.cols.src = here
    packet.cols.info = here .. " " .. buffer(at):string()
  else
    packet.cols.info = string.format("%s %s %s", here, ways[way] or "?", kind or "no frame")
    if found % 4 >= 2 then
      tree:add(f.bytes, buffer(at))
    elseif kind == nil then
      more = false
    else
      local v = {}
      kinds[kind](tree:add(f["is_" .. kind], buffer(at)), buffer, at, v)
      if more then
        local from, to = ends(kind, way, seen.port, here, cards, v)
        if from then
          packet.cols.src = from
          tree:add(f.source, from):set_generated()
        end
        packet.cols.dst = to
        tree:add(f.destination, to):set_generated()
        packet.cols.info = string.format("%s %s: %s", here, ways[way] or "?", says[kind](v, cards))
      end
    end
  end
  if found % 2 >= 1 then tree:add_proto_expert_info(bad) end
  if found % 4 >= 2 then tree:add_proto_expert_info(wrong_crc) end
  if found % 8 >= 4 then tree:add_proto_expert_info(rejected) end
  if not more then tree:add_proto_expert_info(short) end
end

local list = {}
for _, field in pairs(f) do
  if type(field) == "table" then
    for _, bit in ipairs(field) do list[#list + 1] = bit end
  else
    list[#list + 1] = field
  end
end
proto.fields = list
DissectorTable.get("wtap_encap"):add(wtap.USER0, proto)
