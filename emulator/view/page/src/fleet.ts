// Time on the pages of clusters and loans: a moment that is shown, what happens and when, and how it plays.
import { computed, effect, signal } from "@preact/signals";

/** Something that happened. `text` is never markup. */
export interface Happening {
  readonly at: number;
  readonly sign: string;
  readonly kind: string;
  readonly name: string;
  readonly text: string;
  readonly bad?: boolean;
  /** What is chosen with it. */
  readonly choose: () => void;
}

/** How long all of it plays, in seconds of whoever looks. */
export const PLAYS = [120, 60, 30, 15, 5] as const;
const LONGEST = 100; // ms that a frame of the page counts: a page that was hidden doesn't jump

export const begin = signal(0);
export const end = signal(1);
export const now = signal(0);
export const happenings = signal<readonly Happening[]>([]);
export const place = signal(-1); // the happening that is chosen; -1: none has happened yet
export const playing = signal(false);
export const plays = signal<number>(60);
export const helping = signal(false);
/** What the time line shows; null: all. */
export const zoomed = signal<[number, number] | null>(null);

export const range = computed<[number, number]>(() => zoomed.value ?? [begin.value, end.value]);

/** The last happening up to a moment. */
function upTo(at: number): number {
  const all = happenings.peek();
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle]!.at <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function go(at: number): void {
  now.value = Math.max(begin.peek(), Math.min(end.peek(), at));
  place.value = upTo(now.peek());
}

/** To one of the list. */
export function goPlace(to: number): void {
  playing.value = false;
  const all = happenings.peek();
  if (!all.length) return;
  const wanted = Math.max(0, Math.min(all.length - 1, to));
  now.value = all[wanted]!.at;
  place.value = wanted;
  all[wanted]!.choose();
}

export function step(by: number): void {
  playing.value = false;
  if (place.peek() + by < 0) go(begin.peek());
  else goPlace(place.peek() + by);
}

export function toStart(): void {
  playing.value = false;
  go(begin.peek());
}

export function toEnd(): void {
  playing.value = false;
  go(end.peek());
}

export function playOrPause(): void {
  if (!playing.peek() && now.peek() >= end.peek()) go(begin.peek());
  playing.value = !playing.peek();
}

export function faster(by: number): void {
  const at = PLAYS.findIndex((each) => each === plays.peek()) + by;
  plays.value = PLAYS[Math.max(0, Math.min(PLAYS.length - 1, at))]!;
}

/** Closer by a factor, around the moment that is shown. */
export function zoom(by: number): void {
  const [from, to] = range.peek();
  const whole = end.peek() - begin.peek();
  const width = Math.max(whole / 10_000, (to - from) * by);
  if (width >= whole) {
    zoomed.value = null;
    return;
  }
  const start = Math.max(begin.peek(), Math.min(end.peek() - width, now.peek() - width / 2));
  zoomed.value = [start, start + width];
}

/** What happens from now on in the page; `at`: the moment that is shown first. */
export function show(from: number, to: number, all: readonly Happening[], at: number): void {
  begin.value = from;
  end.value = Math.max(to, from);
  happenings.value = all;
  go(at);
}

export function runTime(): void {
  effect(() => {
    if (!playing.value) return;
    let before = performance.now();
    let going = true;
    function tick(time: number): void {
      if (!going) return;
      const passed = Math.min(LONGEST, Math.max(0, time - before)) / 1000;
      before = time;
      go(now.peek() + (passed * (end.peek() - begin.peek())) / plays.peek());
      if (now.peek() >= end.peek()) playing.value = false;
      else requestAnimationFrame(tick);
    }
    requestAnimationFrame(tick);
    return () => void (going = false);
  });
}

/** A number for people. */
export const digits = (value: number, most = 2) => value.toLocaleString("en", { maximumFractionDigits: most });

/** The same with so many digits always. */
export const fixed = (value: number, places = 1) =>
  value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });

/** What charts know of it: see `plots.ts`. */
export const time = { now, zoomed, go: (at: number) => ((playing.value = false), go(at)) };
