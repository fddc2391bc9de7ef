// Messages and events, one a line. Of the recording only the lines on the screen are read, and some pages are kept.
import { effect, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RowLine } from "./messages";
import * as s from "./state";

const HEIGHT = 24; // of a line, as in the style sheet
const PAGE = 100; // rows
const KEPT = 60; // pages
const TALLEST = 12_000_000; // pixels: browsers draw no taller boxes

const pages = new Map<number, RowLine[] | null>(); // null: asked for
const grown = signal(0);

async function load(page: number): Promise<void> {
  pages.set(page, null);
  try {
    const found = await s.source.value.rows(page * PAGE + 1, PAGE);
    const partial = (page + 1) * PAGE > found.last; // the last page may grow
    pages.set(page, found.rows);
    if (partial && s.about.value?.live) setTimeout(() => pages.delete(page), 400);
  } catch (error) {
    s.notice.value = (error as Error).message;
    setTimeout(() => pages.delete(page), 2_000);
  }
  for (const old of pages.keys()) {
    if (pages.size <= KEPT) break;
    if (old !== page) pages.delete(old);
  }
  grown.value++;
}

function line(number: number): RowLine | undefined {
  const page = Math.floor((number - 1) / PAGE);
  const found = pages.get(page);
  if (found === undefined) void load(page);
  return found?.find((row) => row.number === number);
}

export function List() {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 0 });
  const places = s.places.value;
  const count = places.count;
  const chosen = s.number.value;
  const tall = Math.min(TALLEST, count * HEIGHT);
  const shown = Math.ceil(view.height / HEIGHT) + 2;
  const most = Math.max(1, tall - view.height);
  const first = 1 + Math.floor(tall < TALLEST ? view.top / HEIGHT : (view.top / most) * Math.max(0, count - shown + 2));
  grown.value;

  useEffect(() => {
    const watch = new ResizeObserver(([entry]) =>
      setView({ top: box.current!.scrollTop, height: entry!.contentRect.height }),
    );
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);

  // The chosen row stays on the screen.
  useEffect(
    () =>
      effect(() => {
        const wanted = s.places.value.place(s.number.value) - 1;
        const rows = s.places.value.count;
        const element = box.current!;
        const full = Math.min(TALLEST, rows * HEIGHT);
        const fit = Math.floor(element.clientHeight / HEIGHT);
        if (full < TALLEST) {
          if (wanted * HEIGHT < element.scrollTop) element.scrollTop = Math.max(0, (wanted - 3) * HEIGHT);
          else if ((wanted + 2) * HEIGHT > element.scrollTop + element.clientHeight)
            element.scrollTop = (wanted - fit + 5) * HEIGHT;
        } else {
          element.scrollTop = ((wanted - fit / 2) / Math.max(1, rows - fit)) * (full - element.clientHeight);
        }
      }),
    [],
  );

  const lines = [];
  for (let place = first; place < first + shown && place <= count; place++) {
    const number = places.number(place);
    lines.push({ number, row: line(number) });
  }
  const offset = tall < TALLEST ? (first - 1) * HEIGHT : view.top;
  const active = lines.some(({ number }) => number === chosen);
  return (
    <div class="list" ref={box} role="listbox" tabIndex={0} aria-label="Messages and events" data-keys="list"
      aria-activedescendant={active ? `row-${chosen}` : undefined}
      onScroll={(event) => setView({ ...view, top: event.currentTarget.scrollTop })}>
      <div role="presentation" style={{ height: `${tall}px` }} />
      {lines.map(({ number, row }, place) => (
        <div key={number} id={`row-${number}`} role="option" aria-selected={number === chosen} aria-posinset={first + place}
          aria-setsize={count} class={`row ${row?.bad ? "bad" : ""} ${row?.way === "•" ? "event" : ""}`}
          style={{ top: `${offset + place * HEIGHT}px` }}
          onClick={() => {
            s.following.value = false;
            s.tab.value = "message";
            void s.goRow(number, row?.cycle);
          }}>
          <span class="cycle">{row ? row.cycle.toLocaleString("en") : ""}</span>
          <span class="way">{row?.way}</span>
          <span>{row?.gpu}</span>
          <span class="kind">{row?.kind}</span>
          <span class="said">{row ? row.text : "…"}</span>
        </div>
      ))}
    </div>
  );
}
