// What is shown of a cluster: by which policy, at which moment, of which server and task.
import { computed, effect, signal } from "@preact/signals";
import { Cluster } from "./cluster-data";
import * as f from "./fleet";
import type { ClusterAbout } from "./messages";
import { precise } from "./ticks";

export const cluster = signal<Cluster | null>(null);
export const policy = signal(0);
export const server = signal(0);
export const task = signal(-1); // a line of the run; -1: none
export const tab = signal("server");
export const view = signal("map");
export const figure = signal(0); // the chart above the scrubber

export const run = computed(() => cluster.value!.runs[policy.value]!);
export const moment = computed(() => cluster.value!.at(run.value, f.now.value));

/** A moment as people read it: in the unit that fits the whole, or percent of all GPUs. */
export function unit(at: number): string {
  const { about } = cluster.value!;
  return precise(about.filled ? "share" : "seconds", at, about.end);
}

export function chooseServer(row: number): void {
  const count = cluster.value!.about.servers.length;
  server.value = ((row % count) + count) % count;
  tab.value = "server";
}

export function chooseTask(line: number): void {
  task.value = line;
  const at = run.value.run.where[line]?.[0];
  if (at) server.value = at[0]!;
  tab.value = "task";
}

export function otherPolicy(by: number): void {
  const count = cluster.value!.runs.length;
  policy.value = (policy.value + by + count) % count;
}

export function open(about: ClusterAbout): void {
  cluster.value = new Cluster(about);
  document.title = about.title;
  let first = true;
  effect(() => {
    const laid = run.value;
    const all = cluster.value!.happenings(laid, { task: chooseTask, server: chooseServer });
    task.value = -1;
    f.show(0, about.end, all, first ? about.start : f.now.peek());
    first = false;
  });
  f.runTime();
}
