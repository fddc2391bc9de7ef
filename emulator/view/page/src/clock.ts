// Time goes on while it plays: `speed` cycles of the server a second. Where frames are shown it waits for them.
import { effect } from "@preact/signals";
import { FASTEST, ready } from "./passes";
import { cycle, goCycle, lastCycle, pause, playing, playOn, speed } from "./state";

const ASKED = 80; // ms between two questions for the picture
const LONGEST = 100; // ms that a frame of the page counts: a page that was hidden doesn't jump

export function runClock(): void {
  effect(() => {
    if (!playing.value) return;
    let before = performance.now();
    let asked = 0;
    let going = true;
    function tick(now: number): void {
      if (!going) return;
      const next = cycle.peek() + (Math.min(LONGEST, Math.max(0, now - before)) / 1000) * speed.peek();
      before = now;
      if (speed.peek() <= FASTEST && !ready(next)) {
        requestAnimationFrame(tick);
        return;
      }
      if (next >= lastCycle.peek()) {
        goCycle(lastCycle.peek());
        pause();
        return;
      }
      cycle.value = next;
      if (now - asked > ASKED) {
        asked = now;
        playOn(next);
      }
      requestAnimationFrame(tick);
    }
    requestAnimationFrame(tick);
    return () => void (going = false);
  });
}
