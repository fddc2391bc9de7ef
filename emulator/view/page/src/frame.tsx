// The frame that pages of clusters and loans share: header, list of what happened, tabs, time line, keys.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, HelpButton, ThemeButton } from "./buttons";
import { Dialog } from "./dialog";
import * as f from "./fleet";
import type { Chart } from "./messages";
import { plot } from "./plots";
import { nextTheme } from "./theme";

const HEIGHT = 24; // of a line, as in the style sheet
const TALLEST = 12_000_000; // pixels: browsers draw no taller boxes

export function Header(props: { title: string; facts: string; live?: boolean; children?: ComponentChildren }) {
  return (
    <header>
      <h1>{props.title}</h1>
      {props.live && <span class="pill live">live</span>}
      <span class="facts" title={props.facts}>{props.facts}</span>
      <span class="space" />
      {props.children}
      <ThemeButton />
      <HelpButton press={() => (f.helping.value = true)} />
    </header>
  );
}

/** Tabs above what they show. `all`: by the name that is kept what people read. */
export function Tabs(props: { label: string; id: string; all: readonly (readonly [string, string])[]; chosen: string; choose: (name: string) => void }) {
  const { all, chosen, choose, id } = props;
  return (
    <div class="tabs" role="tablist" aria-label={props.label}
      onKeyDown={(event) => {
        const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (!by) return;
        event.stopPropagation();
        const at = (all.findIndex(([name]) => name === chosen) + by + all.length) % all.length;
        choose(all[at]![0]);
        (event.currentTarget.children[at] as HTMLElement).focus();
      }}>
      {all.map(([name, text]) => (
        <button key={name} role="tab" id={`tab-${name}`} aria-selected={chosen === name} aria-controls={id}
          tabIndex={chosen === name ? 0 : -1} onClick={() => choose(name)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** What happened, a line each; only lines on the screen are drawn. `unit`: a time as people read it. */
export function Happened({ unit }: { unit: (at: number) => string }) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 0 });
  const all = f.happenings.value;
  const chosen = f.place.value;
  const tall = Math.min(TALLEST, all.length * HEIGHT);
  const shown = Math.ceil(view.height / HEIGHT) + 2;
  const most = Math.max(1, tall - view.height);
  const first = Math.floor(tall < TALLEST ? view.top / HEIGHT : (view.top / most) * Math.max(0, all.length - shown + 2));

  useEffect(() => {
    const watch = new ResizeObserver(([entry]) =>
      setView({ top: box.current!.scrollTop, height: entry!.contentRect.height }));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);

  // The chosen line stays on the screen.
  useEffect(() => {
    const element = box.current!;
    const fit = Math.floor(element.clientHeight / HEIGHT);
    if (tall === TALLEST) {
      element.scrollTop = ((chosen - fit / 2) / Math.max(1, all.length - fit)) * (tall - element.clientHeight);
    } else if (chosen * HEIGHT < element.scrollTop) element.scrollTop = Math.max(0, (chosen - 3) * HEIGHT);
    else if ((chosen + 2) * HEIGHT > element.scrollTop + element.clientHeight) element.scrollTop = (chosen - fit + 5) * HEIGHT;
  }, [chosen, all, view.height]);

  const offset = tall < TALLEST ? first * HEIGHT : view.top;
  const lines = all.slice(first, first + shown);
  const active = chosen >= first && chosen < first + lines.length;
  return (
    <section class="panel messages" aria-label="What happened">
      <div class="head">
        <h2>What happened</h2>
        <span class="muted">{all.length.toLocaleString("en")}</span>
      </div>
      <div class="list" ref={box} role="listbox" tabIndex={0} aria-label="What happened"
        aria-activedescendant={active ? `row-${chosen}` : undefined}
        onScroll={(event) => setView({ ...view, top: event.currentTarget.scrollTop })}>
        <div role="presentation" style={{ height: `${tall}px` }} />
        {lines.map((line, at) => (
          <div key={first + at} id={`row-${first + at}`} role="option" aria-selected={first + at === chosen}
            aria-posinset={first + at + 1} aria-setsize={all.length} class={`row happened ${line.bad ? "bad" : ""}`}
            style={{ top: `${offset + at * HEIGHT}px` }} onClick={() => f.goPlace(first + at)}>
            <span class="cycle">{unit(line.at)}</span>
            <span class="way">{line.sign}</span>
            <span class="kind">{line.kind}</span>
            <span title={line.name}>{line.name}</span>
            <span class="said">{line.text}</span>
          </div>
        ))}
      </div>
    </section>
  );
}

/** Play, go, look closer. `unit`: a time as people read it; `children`: curves over the same time. */
export function TimeBar({ unit, controls, children }: { unit: (at: number) => string; controls?: ComponentChildren; children?: ComponentChildren }) {
  const playing = f.playing.value;
  const [from, to] = f.range.value;
  const now = f.now.value;
  return (
    <footer>
      <div class="controls">
        <div class="group" role="group" aria-label="Move">
          <Button icon="start" name="To the start (Home)" press={f.toStart} />
          <Button icon="back" name="What happened before (←)" press={() => f.step(-1)} />
          <Button icon={playing ? "pause" : "play"} name={playing ? "Pause (space)" : "Play (space)"} main press={f.playOrPause} />
          <Button icon="forward" name="What happens next (→)" press={() => f.step(1)} />
          <Button icon="end" name="To the end (End)" press={f.toEnd} />
        </div>
        <select aria-label="Speed" value={f.plays.value} onChange={(event) => (f.plays.value = Number(event.currentTarget.value))}>
          {f.PLAYS.map((seconds) => <option key={seconds} value={seconds}>all in {seconds} s</option>)}
        </select>
        <span class="now" data-testid="now"><b>{unit(now)}</b> <span class="muted">/ {unit(f.end.value)}</span></span>
        {controls}
        <div class="group wide">
          <Button icon="closer" name="Closer (+)" press={() => f.zoom(0.5)} />
          <Button icon="farther" name="Farther (-)" press={() => f.zoom(2)} disabled={!f.zoomed.value} />
        </div>
      </div>
      {children}
      <input type="range" aria-label="Moment" min={from} max={to} step="any" value={now} aria-valuetext={unit(now)}
        onInput={(event) => {
          f.playing.value = false;
          f.go(Number(event.currentTarget.value));
        }} />
    </footer>
  );
}

export type Key = readonly [keys: string[], text: string, does: () => void];

const KEYS: readonly Key[] = [
  [[" "], "play, pause", f.playOrPause],
  [["ArrowRight", "l", "ArrowDown", "j"], "what happens next", () => f.step(1)],
  [["ArrowLeft", "h", "ArrowUp", "k"], "what happened before", () => f.step(-1)],
  [["PageDown"], "twenty further", () => f.step(20)],
  [["PageUp"], "twenty back", () => f.step(-20)],
  [["Home"], "to the start", f.toStart],
  [["End", "G"], "to the end", f.toEnd],
  [["f"], "faster", () => f.faster(1)],
  [["s"], "slower", () => f.faster(-1)],
  [["+", "="], "the time line closer", () => f.zoom(0.5)],
  [["-"], "the time line farther", () => f.zoom(2)],
  [["t"], "dark, light, or as the system has it", nextTheme],
  [["?"], "these keys", () => (f.helping.value = true)],
];

const NAMES: Record<string, string> = {
  " ": "space", ArrowRight: "→", ArrowLeft: "←", ArrowDown: "↓", ArrowUp: "↑", PageDown: "PgDn", PageUp: "PgUp",
};

/** Keys of both pages and `own` ones, wherever no control takes them itself; and the box that lists them. */
export function Keys({ own }: { own: readonly Key[] }) {
  const all = [...KEYS.slice(0, 7), ...own, ...KEYS.slice(7)];
  useEffect(() => {
    function pressed(event: KeyboardEvent): void {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const at = event.target as HTMLElement;
      if (at.matches("input, select, textarea")) return;
      if (at.matches("button, [role=tab]") && [" ", "Enter"].includes(event.key)) return;
      if (at.matches("[role=tabpanel], [data-own-keys]") && /^(Arrow|Page|Home|End| )/.test(event.key)) return;
      const found = all.find(([keys]) => keys.includes(event.key));
      if (!found) return;
      event.preventDefault();
      found[2]();
    }
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [own]);
  return (
    <Dialog name="Keys" open={f.helping.value} close={() => (f.helping.value = false)}>
      <table class="fields">
        <tbody>
          {all.map(([keys, text]) => (
            <tr key={text}>
              <th scope="row">{keys.map((key) => <span key={key}><kbd>{NAMES[key] ?? key}</kbd> </span>)}</th>
              <td class="plain">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}

/** A table as it was made elsewhere. */
export function Table({ heads, rows, name, left = 1 }: { heads: readonly string[]; rows: readonly (readonly string[])[]; name: string; left?: number }) {
  return (
    <div class="figures" tabIndex={0} role="region" aria-label={name}>
      <table>
        <thead><tr>{heads.map((head, at) => <th key={head} scope="col" class={at < left ? "" : "n"}>{head}</th>)}</tr></thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>{row.map((cell, column) => column ? <td key={column} class={column < left ? "" : "n"}>{cell}</td> : <th key={0} scope="row">{cell}</th>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Names and values, what has none left out. */
export function Fields({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <table class="fields">
      <tbody>
        {of.filter(([, value]) => value !== null).map(([name, value]) => (
          <tr key={name}><th scope="row">{name}</th><td class="plain">{value}</td></tr>
        ))}
      </tbody>
    </table>
  );
}

/** A chart. `low`: above the scrubber; `still`: its axis isn't the time line. */
export function Plot({ of, low, still }: { of: Chart; low?: boolean; still?: boolean }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => plot(box.current!, of, { low, time: still ? undefined : f.time }), [of]);
  return <figure class={low ? "plot low" : "plot"} ref={box} />;
}
