// What is shown, and what the user does with it. Everything else draws these signals.
import { batch, computed, effect, signal } from "@preact/signals";
import { latest } from "./latest";
import type * as m from "./messages";
import { Places } from "./places";
import type { Doing, Source } from "./source";

export type Tab = "message" | "gpu" | "card";

export const SPEEDS = [10, 50, 200, 1_000, 5_000, 20_000, 100_000]; // cycles of the server a second

const DOOM = 500; // ms between looks at how far it is
const SETTLED = 200; // ms without another wish

export const source = signal<Source>(null!);
export const about = signal<m.ViewAbout | null>(null);
export const cycle = signal(0); // of the moment that is shown; has a fraction while it plays
export const number = signal(0); // the row that is chosen
export const playing = signal(false);
export const speed = signal(200);
export const following = signal(false);
export const picture = signal<m.ViewPicture | null>(null);
export const marks = signal<m.ViewMarks | null>(null);
export const row = signal<m.ViewRow | null>(null);
export const hops = signal<m.ViewHops | null>(null);
export const state = signal<m.ViewState | null>(null);
export const card = signal<m.CardState | null>(null);
export const gpu = signal(""); // whose state is shown
export const cardName = signal("");
export const tab = signal<Tab>("message");
export const notice = signal(""); // what went wrong with the last wish
export const detailNotice = signal("");
export const searched = signal(""); // the condition
export const searching = signal(false);
export const hidden = signal<ReadonlySet<string>>(new Set()); // kinds of frames that aren't drawn
export const helping = signal(false);
export const doom = signal<m.DoomedAnswer | null>(null); // null: of this run it can't be asked
export const elsewhere = signal<m.Elsewhere | null>(null); // the same moment in other tools, when that is shown

export const lastCycle = computed(() => about.value?.last_cycle ?? 0);
export const lastRow = computed(() => about.value?.rows ?? 0);
export const places = computed(() => new Places(source.value?.windows ?? [{ first: about.value?.first_row ?? 1, last: lastRow.value }]));
export const gpus = computed(() => (about.value?.cards ?? []).flatMap((one) => one.gpus));

const fail = (error: Error) => void (notice.value = error.message);
const failDetail = (error: Error) => void (detailNotice.value = error.message);

let rowOpen = false; // the row of the moment that is shown isn't known yet
let wishes = 0; // to be elsewhere: an answer to an earlier one chooses no row

const askPicture = latest(
  (asked: { cycle: number; choose: boolean; wish: number }) => source.value.picture(asked.cycle, false),
  (found, asked) =>
    batch(() => {
      picture.value = found;
      if (asked.choose && asked.wish === wishes) [number.value, rowOpen] = [found.row, false];
    }),
  fail,
);
/** What only playing the run tells, who is bypassed say: for a moment at which the page stays. */
const askExactly = latest(
  (asked: number) => source.value.picture(asked, true),
  (found) => {
    if (!playing.value && found.cycle === Math.floor(cycle.value)) picture.value = found;
  },
  failDetail,
);
const askRow = latest(
  (asked: number) => source.value.row(asked),
  (found) => void (row.value = found),
  failDetail,
);
const askHops = latest(
  (asked: number) => source.value.hops(asked),
  (found) => void (hops.value = found),
  failDetail,
);
const askState = latest(
  (asked: { gpu: string; number: number }) => source.value.state(asked.gpu, asked.number),
  (found) => void (state.value = found),
  failDetail,
);
const askCard = latest(
  (asked: { name: string; number: number }) => source.value.card(asked.name, asked.number),
  (found) => void (card.value = found),
  failDetail,
);
const askMarks = latest(
  (buckets: number) => source.value.marks(buckets),
  (found) => {
    marks.value = found;
    if (found.more) setTimeout(readMarks, 100);
  },
  fail,
);

export function readMarks(): void {
  askMarks(1_000);
}

const bounded = (value: number, most: number) => Math.max(0, Math.min(most, value));

/** To a cycle: the row is the last one up to there. */
export function goCycle(wanted: number): void {
  wishes++;
  playOn(wanted);
}

/** The same, of time that goes on. */
export function playOn(wanted: number): void {
  cycle.value = bounded(wanted, lastCycle.value);
  rowOpen = true;
  askPicture({ cycle: Math.floor(cycle.value), choose: true, wish: wishes });
}

/** To a row, whose cycle is known or is asked for. */
export async function goRow(wanted: number, at?: number): Promise<void> {
  const chosen = Math.max(1, Math.min(lastRow.value, wanted));
  pause();
  const wish = ++wishes;
  rowOpen = false;
  number.value = chosen;
  try {
    const found = at ?? (await source.value.row(chosen)).cycle;
    if (wish !== wishes) return;
    cycle.value = found;
    askPicture({ cycle: found, choose: false, wish });
  } catch (error) {
    fail(error as Error);
  }
}

/** By whole messages or events. */
export function step(by: number): void {
  following.value = false;
  void goRow(places.value.number(places.value.place(number.value) + by));
}

export function toStart(): void {
  following.value = false;
  pause();
  goCycle(0);
}

export function toEnd(): void {
  pause();
  if (about.value?.live) following.value = true;
  goCycle(lastCycle.value);
}

export function play(): void {
  following.value = false;
  if (cycle.value >= lastCycle.value) cycle.value = 0;
  playing.value = true;
}

export function pause(): void {
  if (!playing.value) return;
  playing.value = false;
  cycle.value = Math.floor(cycle.value);
}

export function faster(by: number): void {
  const place = SPEEDS.indexOf(speed.value) + by;
  speed.value = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, place))]!;
}

/** The next row for which the condition holds, or the one before. */
export async function search(back: boolean, condition = searched.value): Promise<void> {
  if (!condition.trim() || searching.value) return;
  following.value = false;
  searching.value = true;
  notice.value = "";
  let found: number | null = null;
  try {
    const from = rowOpen ? (await source.value.picture(Math.floor(cycle.value), false)).row : number.value;
    found = (await source.value.find(condition, from, back)).row;
    if (found === null) notice.value = `No ${back ? "earlier" : "later"} row has ${condition}`;
  } catch (error) {
    fail(error as Error);
  }
  searching.value = false;
  if (found !== null) await goRow(found);
}

export function chooseGpu(name: string): void {
  gpu.value = name;
  tab.value = "gpu";
}

export function otherGpu(by: number): void {
  const all = gpus.value;
  if (all.length) chooseGpu(all[(Math.max(0, all.indexOf(gpu.value)) + by + all.length) % all.length]!);
}

export function chooseCard(name: string): void {
  cardName.value = name;
  tab.value = "card";
}

export function hide(kind: string): void {
  const kinds = new Set(hidden.value);
  if (!kinds.delete(kind)) kinds.add(kind);
  hidden.value = kinds;
}

/** Show how the chosen row is seen in other tools. */
export async function askElsewhere(): Promise<void> {
  if (!number.value) return;
  pause();
  try {
    elsewhere.value = await source.value.elsewhere(number.value);
  } catch (error) {
    fail(error as Error);
  }
}

/** Since when the run was to fail: asked again until it is known. */
export async function askDoom(does: Doing): Promise<void> {
  const { complete, verdict, unplayable, live } = about.value!;
  if (live || !complete || verdict === "pass" || unplayable) return;
  try {
    doom.value = await source.value.doomed(does);
  } catch (error) {
    fail(error as Error);
    return;
  }
  clearTimeout(doomAsked);
  if (doom.value.playing) doomAsked = window.setTimeout(() => void askDoom(""), DOOM);
}

let doomAsked = 0;

/** All that is known of what is shown, when it doesn't go on. */
function whole(): void {
  void source.value.about().then((found) => {
    about.value = found;
    void askDoom("");
  }, fail);
}

/** The row that the address names; 0: none. */
function named(): number {
  const found = Number(location.hash.slice(1));
  return Number.isSafeInteger(found) && found > 0 ? found : 0;
}

/** Open what there is to be shown. */
export async function open(from: Source): Promise<void> {
  source.value = from;
  about.value = await from.about(true);
  cardName.value = about.value.cards[0]?.name ?? "";
  gpu.value = gpus.value[0] ?? "";
  const first = about.value.failures.find((failure) => failure.row !== null);
  readMarks();
  if (!about.value.live) whole();
  effect(details);
  effect(settle);
  addEventListener("hashchange", () => named() && void goRow(named()));
  if (named()) {
    if (about.value.live) from.follow(grown);
    await goRow(named());
  } else if (about.value.live) {
    following.value = true;
    from.follow(grown);
    goCycle(lastCycle.value);
  } else if (first?.row) {
    await goRow(first.row);
  } else if (from.windows?.length) {
    const there = (await from.marks(1_000)).buckets.find((bucket) => bucket.row && bucket.signs.x);
    await goRow(there?.row ?? from.windows[0]!.first);
  } else {
    goCycle(0);
  }
}

let settled = 0;

/** The moment that is shown was chosen, and stays for a while. */
function settle(): void {
  clearTimeout(settled);
  const at = Math.floor(cycle.value);
  if (playing.value || following.value || !source.value.alive || about.value?.unplayable) return;
  settled = window.setTimeout(() => askExactly(at), SETTLED);
}

/** What the chosen tab shows is asked for when the row is another one. */
function details(): void {
  const at = number.value;
  if (!at) return;
  if (tab.value === "message") {
    detailNotice.value = "";
    askRow(at);
    if (!playing.value && !following.value && !about.value?.unplayable) askHops(at);
  } else if (!playing.value && (!following.value || about.value?.source === "server")) {
    detailNotice.value = "";
    if (tab.value === "gpu" && gpu.value) askState({ gpu: gpu.value, number: at });
    if (tab.value === "card" && cardName.value) askCard({ name: cardName.value, number: at });
  }
}

let marksRead = 0;
let [failed, begun]: [string | null, number | null] = [null, null];

function grown(news: m.Followed): void {
  if (!about.value) return;
  begun ??= news.begun;
  if (begun !== news.begun) location.reload(); // another card, or one that was powered up anew
  const { rows, last_cycle, live, complete, first_row } = news;
  about.value = { ...about.value, rows, last_cycle, live, complete, first_row };
  if (following.value) goCycle(news.last_cycle);
  if (failed !== news.failed) notice.value = news.failed ?? "";
  failed = news.failed;
  const now = performance.now();
  if (!news.live || now - marksRead > 1_000) {
    marksRead = now;
    readMarks();
  }
  if (!news.live) {
    following.value = false;
    whole();
  }
}
