// Play, go, look for: everything that moves through the run.
import { computed } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Button, Icon } from "./buttons";
import { Chart, CURVES, range, SIGNS, zoom, zoomed } from "./chart";
import { Doom } from "./doom";
import * as s from "./state";

const whole = computed(() => Math.floor(s.cycle.value));

export function Controls() {
  const playing = s.playing.value;
  const live = s.about.value!.live;
  return (
    <footer>
      <div class="controls">
        <div class="group" role="group" aria-label="Move">
          <Button icon="start" name="To the start (Home)" press={s.toStart} />
          <Button icon="back" name="Message before (←)" press={() => s.step(-1)} />
          <Button icon={playing ? "pause" : "play"} name={playing ? "Pause (space)" : "Play (space)"} main
            press={playing ? s.pause : s.play} />
          <Button icon="forward" name="Next message (→)" press={() => s.step(1)} />
          <Button icon="end" name="To the end (End)" press={s.toEnd} />
        </div>
        <select aria-label="Speed" value={s.speed.value} onChange={(event) => (s.speed.value = Number(event.currentTarget.value))}>
          {s.SPEEDS.map((speed) => (
            <option key={speed} value={speed}>{speed.toLocaleString("en")} cycles/s</option>
          ))}
        </select>
        {live && (
          <button aria-pressed={s.following.value} class={s.following.value ? "main" : ""}
            onClick={() => (s.following.value ? (s.following.value = false) : s.toEnd())}>
            Follow
          </button>
        )}
        <Now />
        <Search />
        <div class="group wide">
          <Button icon="closer" name="Closer (+)" press={() => zoom(0.5)} />
          <Button icon="farther" name="Farther (-)" press={() => zoom(2)} disabled={!zoomed.value} />
        </div>
      </div>
      <Doom />
      <Chart />
      <Scrubber />
      <Signs />
    </footer>
  );
}

function Now() {
  return (
    <span class="now" data-testid="now">
      <b>{whole.value.toLocaleString("en")}</b> <span class="muted">/ {s.lastCycle.value.toLocaleString("en")}</span>
    </span>
  );
}

const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

/** What the curves and letters of the time line mean. */
function Signs() {
  const cards = s.about.value!.cards;
  return (
    <div class="legend times wide">
      <span class="key">
        GPUs counted on card
        {cards.slice(0, 8).map((card, place) => (
          <span class="key" key={card.name}>
            <svg viewBox="0 0 22 8" aria-hidden="true">
              <path d="M0 4h22" stroke={CURVES[place % 4]} stroke-width="2" stroke-dasharray={DASHES[place % 4]} />
            </svg>
            {card.name}
          </span>
        ))}
      </span>
      {SIGNS.map(([sign, colour, text]) => (
        <span class="key" key={sign}>
          <b style={{ color: `var(${colour})` }}>{sign}</b> {text}
        </span>
      ))}
    </div>
  );
}

function Scrubber() {
  const [from, to] = range();
  return (
    <input type="range" aria-label="Cycle" min={from} max={to} step={1} value={whole.value}
      aria-valuetext={`cycle ${whole.value.toLocaleString("en")}`}
      onInput={(event) => {
        s.pause();
        s.following.value = false;
        s.goCycle(Number(event.currentTarget.value));
      }} />
  );
}

export const searchBox = { focus: () => {} };

function Search() {
  const input = useRef<HTMLInputElement>(null);
  searchBox.focus = () => input.current?.select();
  const names = s.about.value!;
  const byCondition = s.source.value.alive;
  return (
    <form role="search" onSubmit={(event) => {
      event.preventDefault();
      void s.search(false);
    }}>
      <input ref={input} type="search" aria-label={byCondition ? "Condition to look for" : "Words to look for"}
        placeholder={byCondition ? "kind == Counted and count < 8" : "words of the list"} list="conditions" spellcheck={false}
        value={s.searched.value} onInput={(event) => (s.searched.value = event.currentTarget.value)} />
      <datalist id="conditions">
        {byCondition && names.kinds.map((kind) => <option key={kind} value={`kind == ${kind}`} />)}
      </datalist>
      <button type="button" class="icon" aria-label="The one before (N)" title="The one before (N)" disabled={s.searching.value}
        onClick={() => void s.search(true)}>
        <Icon of="back" />
      </button>
      <button type="submit" class="icon" aria-label="The next one (n)" title="The next one (n)" disabled={s.searching.value}>
        <Icon of="forward" />
      </button>
    </form>
  );
}
