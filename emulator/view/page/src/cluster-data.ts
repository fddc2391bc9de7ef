// A cluster at a moment: what every GPU does, what runs on each server, and what happens when.
import type { Happening } from "./fleet";
import type { ClusterAbout, FleetRun } from "./messages";

export const STATES = ["idle", "used", "shared", "sleeping", "taken", "failed"] as const;
export type State = (typeof STATES)[number];
const [IDLE, USED, SHARED, SLEEPING, TAKEN, FAILED] = [0, 1, 2, 3, 4, 5];

/** A run as arrays of numbers. A member: `line` of the run, its server, and its GPUs among all of the cluster. */
export interface Laid {
  readonly run: FleetRun;
  readonly began: Float64Array;
  readonly ended: Float64Array;
  readonly lines: Int32Array;
  readonly servers: Int32Array;
  readonly from: Int32Array; // in `gpus`, one more than there are members
  readonly gpus: Int32Array;
}

/** `gpus`: a state each; `counts`: GPUs by state. */
export interface Moment {
  readonly gpus: Uint8Array;
  readonly counts: readonly number[];
}

export class Cluster {
  /** The number of the first GPU of each server, and how many there are. */
  readonly first: Int32Array;
  readonly runs: readonly Laid[];
  private readonly taken: Uint8Array;
  private readonly awake: Uint8Array; // servers of which GPUs are taken

  constructor(readonly about: ClusterAbout) {
    const { servers } = about;
    this.first = new Int32Array(servers.length + 1);
    servers.forEach((server, row) => (this.first[row + 1] = this.first[row]! + server.types.length));
    this.taken = new Uint8Array(this.first[servers.length]!);
    this.awake = new Uint8Array(servers.length);
    servers.forEach((server, row) => server.busy.forEach((gpu) => {
      this.taken[this.first[row]! + gpu] = 1;
      this.awake[row] = 1;
    }));
    this.runs = about.runs.map((run) => this.laid(run));
  }

  private laid(run: FleetRun): Laid {
    const [lines, servers, from, gpus]: number[][] = [[], [], [0], []];
    run.where.forEach((members, line) => {
      for (const [server, ...own] of members) {
        lines!.push(line);
        servers!.push(server!);
        for (const gpu of own) gpus!.push(this.first[server!]! + gpu);
        from!.push(gpus!.length);
      }
    });
    return {
      run,
      began: Float64Array.from(run.began, (at) => at ?? Infinity),
      ended: Float64Array.from(run.ended, (at) => at ?? Infinity),
      lines: Int32Array.from(lines!),
      servers: Int32Array.from(servers!),
      from: Int32Array.from(from!),
      gpus: Int32Array.from(gpus!),
    };
  }

  /** Every GPU at a moment. A task of nothing but memory wakes no server. */
  at(laid: Laid, now: number): Moment {
    const { about, first } = this;
    const { tasks, whole } = about;
    const parts = new Uint8Array(this.taken.length); // 1: shared, 2: one task has it
    const awake = Uint8Array.from(this.awake);
    for (let member = 0; member < laid.lines.length; member++) {
      const line = laid.lines[member]!;
      if (!(laid.began[line]! <= now && laid.ended[line]! > now)) continue;
      const task = laid.run.task[line]!;
      if (!tasks.gpus[task] && !tasks.cpus[task]) continue;
      awake[laid.servers[member]!] = 1;
      const part = tasks.share[task] === whole ? 2 : 1;
      for (let at = laid.from[member]!; at < laid.from[member + 1]!; at++) {
        const gpu = laid.gpus[at]!;
        if (parts[gpu]! < part) parts[gpu] = part;
      }
    }
    const gpus = new Uint8Array(this.taken.length);
    for (let row = 0; row < about.servers.length; row++) {
      const rest = about.sleeps && !awake[row] ? SLEEPING : IDLE;
      for (let gpu = first[row]!; gpu < first[row + 1]!; gpu++) {
        gpus[gpu] = this.taken[gpu] ? TAKEN : parts[gpu] === 2 ? USED : parts[gpu] ? SHARED : rest;
      }
    }
    for (const fault of about.faults) {
      if (fault.at > now || (fault.ends !== null && fault.ends <= now)) continue;
      if (fault.gpu !== null) gpus[first[fault.server]! + fault.gpu] = FAILED;
      else gpus.fill(FAILED, first[fault.server]!, first[fault.server + 1]!);
    }
    const counts = STATES.map(() => 0);
    for (const state of gpus) counts[state]!++;
    return { gpus, counts };
  }

  /** Lines of the tasks that run on a server, and the GPUs that each has of it. */
  on(laid: Laid, row: number, now: number): { line: number; gpus: number[] }[] {
    const found = [];
    for (let member = 0; member < laid.lines.length; member++) {
      const line = laid.lines[member]!;
      if (laid.servers[member] !== row || !(laid.began[line]! <= now && laid.ended[line]! > now)) continue;
      found.push({ line, gpus: [...laid.gpus.subarray(laid.from[member], laid.from[member + 1])].map((gpu) => gpu - this.first[row]!) });
    }
    return found;
  }

  /** Where a task is, in words. */
  where(run: FleetRun, line: number): string {
    return run.where[line]!.map(([server, ...gpus]) => {
      const name = this.about.servers[server!]!.name;
      return gpus.length ? `${name}: ${gpus.map((gpu) => `a.${gpu}`).join(" ")}` : name;
    }).join("; ");
  }

  /** What happens in a run, in order; of one moment ends come first. */
  happenings(laid: Laid, choose: { task: (line: number) => void; server: (row: number) => void }): Happening[] {
    const { run } = laid;
    const { about } = this;
    const found: (Happening & { order: number })[] = [];
    const lost = new Set(run.lost);
    run.task.forEach((task, line) => {
      const name = about.tasks.name[task]!;
      const put = (order: number, at: number, sign: string, kind: string, text: string, bad = false) =>
        found.push({ order, at, sign, kind, name, text, bad, choose: () => choose.task(line) });
      const [came, began, ended] = [run.came[line]!, run.began[line]!, run.ended[line]!];
      const again = run.number[line]! > 1;
      if (began === null) put(2, came, "…", about.filled ? "no server" : "waits", again ? "it is never placed again" : "it is never placed", true);
      else {
        if (began > came) put(2, came, "…", "waits", again ? "to begin again: no server has room" : "no server has room");
        put(3, began, "▶", "placed", again ? `try ${run.number[line]}: ${this.where(run, line)}` : this.where(run, line));
        if (ended !== null && lost.has(line)) put(1, ended, "✕", "lost", this.where(run, line), true);
        else if (ended !== null) put(0, ended, "■", "ended", this.where(run, line));
      }
    });
    for (const fault of about.faults) {
      const server = about.servers[fault.server]!.name;
      const name = fault.gpu === null ? server : `${server} a.${fault.gpu}`;
      const own = () => choose.server(fault.server);
      found.push({ order: 1, at: fault.at, sign: "✕", kind: "failed", name, text: fault.gpu === null ? "the server" : "a GPU", bad: true, choose: own });
      if (fault.ends !== null) found.push({ order: 1, at: fault.ends, sign: "○", kind: "well again", name, text: "", choose: own });
    }
    return found.filter((each) => each.at <= about.end).sort((one, other) => one.at - other.at || one.order - other.order);
  }
}
