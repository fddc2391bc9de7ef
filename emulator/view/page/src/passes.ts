// Frames on links around a moment. Windows of the run are asked for as they are needed, and a few are kept.
import { signal } from "@preact/signals";
import type { PassedFrame } from "./messages";
import { about, source } from "./state";

export const FASTEST = 1_000; // cycles a second at which frames can still be followed, and played in time
const WINDOW = 2_500; // cycles
const KEPT = 8; // windows
const LONGEST = 300; // cycles that a frame is drawn on a link
const USUAL = 16; // where the next link is not known

export interface Moving {
  frame: PassedFrame;
  start: number;
  end: number; // when it is on the next link
}

const windows = new Map<number, Moving[] | null>(); // null: asked for
export const arrived = signal(0); // grows with each window
export const reading = signal(false); // some are asked for
export const missing = signal(""); // why there are none

/** When each frame is on the next link: its message says so. */
function moving(frames: readonly PassedFrame[]): Moving[] {
  const next = new Map<string, number>(); // by message and GPU: when it leaves there
  const found: Moving[] = [];
  for (let place = frames.length - 1; place >= 0; place--) {
    const frame = frames[place]!;
    const onward = next.get(`${frame.message} ${frame.to}`);
    const end = onward !== undefined && onward > frame.cycle ? onward : frame.cycle + USUAL;
    found.push({ frame, start: frame.cycle, end: Math.min(end, frame.cycle + LONGEST) });
    next.set(`${frame.message} ${frame.gpu}`, frame.cycle);
  }
  return found.reverse();
}

async function load(place: number): Promise<void> {
  windows.set(place, null);
  reading.value = true;
  try {
    const found = await source.value.passes(place * WINDOW, place * WINDOW + WINDOW - 1);
    windows.set(place, moving(found.frames));
    missing.value = "";
    reading.value = [...windows.values()].includes(null);
  } catch (error) {
    missing.value = (error as Error).message;
    reading.value = false;
    setTimeout(() => windows.delete(place), 2_000);
    return;
  }
  for (const old of windows.keys()) {
    if (windows.size <= KEPT) break;
    if (Math.abs(old - place) > 1) windows.delete(old);
  }
  arrived.value++;
}

/** Whether frames of this cycle are there, or can't be had. */
export function ready(cycle: number): boolean {
  if (about.value?.unplayable || about.value?.live || missing.peek()) return true;
  return Boolean(windows.get(Math.floor(cycle / WINDOW)));
}

/** Windows that are needed now or soon are asked for. */
export function want(cycle: number, ahead: boolean): void {
  if (about.value?.unplayable || about.value?.live) return;
  const place = Math.floor(cycle / WINDOW);
  const wanted = ahead ? [place, place + 1, place + 2] : [place];
  if (cycle % WINDOW < LONGEST && place > 0) wanted.push(place - 1);
  if ([...windows.values()].filter((found) => found === null).length > 1) return;
  const last = (about.value?.last_cycle ?? 0) / WINDOW;
  for (const one of wanted) if (!windows.has(one) && one <= last) void load(one);
}

/** Frames that are on a link in this cycle. */
export function* at(cycle: number): Generator<Moving> {
  const place = Math.floor(cycle / WINDOW);
  for (const one of [place - 1, place]) {
    const found = windows.get(one);
    if (!found) continue;
    let [low, high] = [0, found.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (found[middle]!.start < cycle - LONGEST) low = middle + 1;
      else high = middle;
    }
    for (; low < found.length && found[low]!.start <= cycle; low++) if (found[low]!.end > cycle) yield found[low]!;
  }
}
