// What is shown of loans: at which moment, of which loan and GPU; and the same again while somebody lends.
import { computed, signal } from "@preact/signals";
import * as f from "./fleet";
import { latest } from "./latest";
import type { Chart, ErrorAnswer, LentGpu, LentLoan, LoansAbout } from "./messages";

const AGAIN = 2_000; // ms between two questions for what is new
const KINDS = ["accent", "result", "election", "report", "work", "acknowledgement", "warn"] as const;

export const about = signal<LoansAbout | null>(null);
export const loan = signal<LentLoan | null>(null);
export const gpu = signal("");
export const tab = signal("loan");
export const view = signal("lanes");
export const figure = signal(0);
export const byGuest = signal(false);
export const notice = signal("");

/** Names of all GPUs, those of loans that have no samples among them. */
export const gpus = computed(() => [...new Set([...about.value!.gpus, ...about.value!.loans].map((each) => each.gpu))]);

const ends = (each: LentLoan) => each.ended_s ?? Infinity;

/** The loans that go on at the moment that is shown, by GPU. */
export const lent = computed(() => {
  const now = f.now.value;
  const found = new Map<string, LentLoan>();
  for (const each of about.value!.loans) if (each.began_s <= now && ends(each) > now) found.set(each.gpu, each);
  return found;
});

export function span(of: LoansAbout): [number, number] {
  const times = of.loans.flatMap((each) => [each.began_s, each.ended_s ?? each.began_s]);
  const found = of.end_s > of.begin_s ? [of.begin_s, of.end_s, ...times] : times;
  const least = found.reduce((one, other) => Math.min(one, other), Infinity);
  const most = found.reduce((one, other) => Math.max(one, other), -Infinity);
  return found.length ? [least, Math.max(most, least + 1e-3)] : [0, 1];
}

export function chooseLoan(each: LentLoan): void {
  loan.value = each;
  gpu.value = each.gpu;
  tab.value = "loan";
}

export function chooseGpu(name: string): void {
  gpu.value = name;
  tab.value = "gpu";
}

export function otherGpu(by: number): void {
  const all = gpus.value;
  const at = Math.max(0, all.indexOf(gpu.value)) + by;
  if (all.length) chooseGpu(all[(at + all.length) % all.length]!);
}

export function used(name: string): LentGpu | undefined {
  return about.value!.gpus.find((each) => each.gpu === name);
}

/** A lane for each GPU or guest, a bar for each loan; and which loan a bar is. */
export const lanes = computed(() => {
  const { loans } = about.value!;
  const [begin, end] = span(about.value!);
  const names = byGuest.value ? [...new Set(loans.map((each) => each.node))] : gpus.value;
  const kinds = [...new Set(loans.map((each) => each.kind))];
  const of = new Map<object, LentLoan>();
  const made = names.map((name) => ({
    name,
    bars: loans.filter((each) => (byGuest.value ? each.node : each.gpu) === name).map((each) => {
      const title = `loan ${each.loan}, ${byGuest.value ? each.gpu : each.node}, ${each.kind}`;
      const bar = { begin: each.began_s, end: each.ended_s ?? end, kind: kinds.indexOf(each.kind), title };
      of.set(bar, each);
      return bar;
    }),
  }));
  const chart: Chart = {
    title: byGuest.value ? "GPUs of each guest" : "Who had which GPU",
    x: { title: "time", quantity: "seconds", begin, end },
    kinds: kinds.map((name, at) => ({ name, colour: KINDS[at % KINDS.length]! })),
    lanes: made,
    group: "time",
  };
  return { chart, of };
});

function happenings(of: LoansAbout): f.Happening[] {
  const [, end] = span(of);
  const found = of.loans.flatMap((each): f.Happening[] => {
    const choose = () => chooseLoan(each);
    const one = { name: each.node, choose };
    const began = { ...one, at: each.began_s, sign: "▶", kind: "lent", text: `${each.gpu}, ${each.kind}, loan ${each.loan}` };
    const over = { ...one, sign: "■", kind: "back", text: `${each.gpu}, loan ${each.loan}${each.reason && `: ${each.reason}`}` };
    const failed = each.error ? [{ ...one, at: each.ended_s ?? end, sign: "✕", kind: "fails", text: `${each.gpu}, loan ${each.loan}: ${each.error}`, bad: true }] : [];
    return each.ended_s === null ? [began, ...failed] : [began, { ...over, at: each.ended_s }, ...failed];
  });
  return found.sort((one, other) => one.at - other.at || (one.kind === "back" ? -1 : 1));
}

/** At the end the moment that is shown moves on with it. */
function take(of: LoansAbout): void {
  const first = about.peek() === null;
  const [begin, end] = span(of);
  const stays = !first && f.now.peek() < f.end.peek();
  about.value = of;
  if (loan.peek()) loan.value = of.loans.find((each) => each.loan === loan.peek()!.loan) ?? null;
  if (!gpu.peek()) gpu.value = gpus.peek()[0] ?? "";
  f.show(begin, end, happenings(of), stays ? f.now.peek() : end);
}

export function open(of: LoansAbout): void {
  document.title = "GPU usage and loans";
  take(of);
  f.runTime();
  if (!of.followed) return;
  let said = "";
  const ask = latest(
    async () => {
      const answer = await fetch("api/loans", { headers: { accept: "application/json" } }).catch(() => null);
      if (!answer) throw new Error("The server of this page has ended: start ringhil view again.");
      const text = await answer.text();
      if (!answer.ok) throw new Error((JSON.parse(text) as ErrorAnswer).error);
      return text;
    },
    (text) => {
      notice.value = "";
      if (text === said || f.playing.peek()) return;
      said = text;
      take(JSON.parse(text) as LoansAbout);
    },
    (error) => (notice.value = error.message),
  );
  setInterval(() => ask(null), AGAIN);
}
