// Play, go, look for: everything that moves through the run.
import { computed } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Chart, CURVES, range, SIGNS, zoom, zoomed } from "./chart";
import { Doom } from "./doom";
import * as s from "./state";

const ICONS = {
  start: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8z",
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M5 3v10l7-5z",
  end: "M11 3h2v10h-2zM3 3v10l7-5z",
  closer: "M7 2a5 5 0 1 0 3 9l3.3 3.3 1-1L11 10a5 5 0 0 0-4-8zm0 1.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM6.3 5v1.3H5v1.4h1.3V9h1.4V7.7H9V6.3H7.7V5z",
  farther: "M7 2a5 5 0 1 0 3 9l3.3 3.3 1-1L11 10a5 5 0 0 0-4-8zm0 1.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM5 6.3v1.4h4V6.3z",
};

export function Icon({ of }: { of: keyof typeof ICONS }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path fill-rule="evenodd" d={ICONS[of]} />
    </svg>
  );
}

interface ButtonProps {
  icon: keyof typeof ICONS;
  name: string;
  press: () => void;
  main?: boolean;
  disabled?: boolean;
}

function Button({ icon, name, press, main, disabled }: ButtonProps) {
  return (
    <button class={`icon ${main ? "main" : ""}`} aria-label={name} title={name} onClick={press} disabled={disabled}>
      <Icon of={icon} />
    </button>
  );
}

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
