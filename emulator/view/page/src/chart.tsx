// The time line: counts of each card, and marks of faults, roles and failures. A press goes there, a drag looks closer.
import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { drawDoom, goTurn, turnAt } from "./doom";
import type { MarkBucket, ViewMarks } from "./messages";
import * as s from "./state";
import { theme } from "./theme";
import { fitting, type Tick } from "./ticks";

const LEFT = 44; // pixels of the axis
const RIGHT = 14;
const STRIP = 16; // above the curves, with the marks

/** Signs of `Marks`, the strongest first: letter, colour, words. */
export const SIGNS: readonly [string, string, string][] = [
  ["F", "--bad", "a failure of the run"],
  ["x", "--bad", "a fault"],
  ["!", "--warn", "firmware or hardware lost"],
  ["o", "--good", "end of a fault"],
  ["E", "--accent", "an entry role"],
  ["B", "--result", "a boundary role"],
  ["-", "--muted", "a role lost"],
];

export const CURVES = ["var(--accent)", "var(--result)", "var(--election)", "var(--report)"];

/** The cycles that are shown; null: all. */
export const zoomed = signal<[number, number] | null>(null);

export function range(): [number, number] {
  return zoomed.value ?? [0, Math.max(1, s.lastCycle.value)];
}

/** Closer by a factor, around the moment that is shown. */
export function zoom(by: number): void {
  const [from, to] = range();
  const width = Math.max(50, (to - from) * by);
  if (width >= s.lastCycle.value) {
    zoomed.value = null;
    return;
  }
  const start = Math.max(0, Math.min(s.lastCycle.value - width, s.cycle.value - width / 2));
  zoomed.value = [Math.floor(start), Math.ceil(start + width)];
}

function colour(name: string): string {
  const probe = document.createElement("i");
  probe.style.color = name;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Counts of each card as steps: in a bucket first the lowest, then the last one. */
function curves(marks: ViewMarks, cards: readonly string[], last: number): (number | null)[][] {
  const found: (number | null)[][] = [[], ...cards.map(() => [])];
  const now: (number | null)[] = cards.map(() => null);
  const put = (at: number) => {
    found[0]!.push(at);
    now.forEach((value, place) => found[place + 1]!.push(value));
  };
  put(0);
  for (const bucket of marks.buckets) {
    const counted = cards.map((card) => bucket.counts[card]);
    if (!counted.some(Boolean)) continue;
    counted.forEach((pair, place) => pair && (now[place] = pair[0] as number));
    put(bucket.first);
    counted.forEach((pair, place) => pair && (now[place] = pair[1] as number));
    if (bucket.last > bucket.first) put(bucket.last);
  }
  put(Math.max(last, found[0]!.at(-1)! + 1));
  return found;
}

export function Chart() {
  const box = useRef<HTMLDivElement>(null);
  const cards = s.about.value!.cards;
  useEffect(() => {
    const names = cards.map((card) => card.name);
    const most = Math.max(...cards.map((card) => card.gpus.length));
    let buckets: MarkBucket[] = [];
    let least = 0; // of all counts
    const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
    let chosen = 0;
    let shown: Tick[] = [];
    function build(): uPlot {
      const [text, line] = [colour("var(--muted)"), colour("var(--border)")];
      const colours = CURVES.map(colour);
      const doomed = colour("var(--warn)");
      const signs = new Map(SIGNS.map(([sign, name]) => [sign, colour(`var(${name})`)]));
      return new uPlot(
        {
          width: box.current!.clientWidth,
          height: box.current!.clientHeight,
          padding: [STRIP, RIGHT, 0, 0],
          legend: { show: false },
          cursor: { drag: { x: true, y: false, setScale: false }, y: false, points: { show: false } },
          scales: {
            x: { time: false, range: () => range() },
            y: { range: () => [least, most + (most - least) * 0.1] },
          },
          axes: [
            { stroke: text, grid: { show: false }, ticks: { stroke: line, size: 4 }, size: 22, gap: 2, font: "11px system-ui",
              splits: (plot, _, from, to) => (shown = fitting("count", from, to, plot.bbox.width / devicePixelRatio)).map((tick) => tick.at),
              values: (plot) => shown.map(({ at, text }) => (plot.valToPos(at, "x") + text.length * 3.1 < plot.width - LEFT ? text : "")) },
            { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, size: LEFT, gap: 4, font: "11px system-ui",
              splits: () => [...new Set([least, Math.round((least + most) / 2), most])] },
          ],
          series: [
            {},
            ...names.map((name, place): uPlot.Series => ({
              label: name, stroke: colours[place % 4]!, width: 1.75, dash: dashes[place % 4]!, points: { show: false },
              paths: uPlot.paths.stepped!({ align: 1 }),
            })),
          ],
          hooks: {
            draw: [
              (plot) => drawDoom(plot, doomed),
              (plot) => {
                const context = plot.ctx;
                const ratio = devicePixelRatio || 1;
                context.save();
                context.font = `600 ${11 * ratio}px system-ui`;
                context.textAlign = "center";
                let before = -Infinity;
                for (const bucket of buckets) {
                  const sign = SIGNS.find(([one]) => bucket.signs[one])?.[0];
                  if (!sign || bucket.last < range()[0] || bucket.first > range()[1]) continue;
                  const x = plot.valToPos(bucket.first, "x", true);
                  context.strokeStyle = context.fillStyle = signs.get(sign)!;
                  context.globalAlpha = 0.5;
                  context.lineWidth = ratio;
                  context.beginPath();
                  context.moveTo(x, plot.bbox.top);
                  context.lineTo(x, plot.bbox.top + plot.bbox.height);
                  context.stroke();
                  context.globalAlpha = 1;
                  if (x - before < 9 * ratio) continue;
                  before = x;
                  context.fillText(sign, x, plot.bbox.top - 4 * ratio);
                }
                context.restore();
              },
            ],
            setSelect: [
              (plot) => {
                if (plot.select.width < 6) return;
                const from = plot.posToVal(plot.select.left, "x");
                const to = plot.posToVal(plot.select.left + plot.select.width, "x");
                chosen = performance.now();
                plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
                if (to - from > 10) zoomed.value = [Math.floor(from), Math.ceil(to)];
              },
            ],
            ready: [
              (plot) =>
                plot.over.addEventListener("click", (event) => {
                  if (performance.now() - chosen < 300) return;
                  const turn = turnAt(plot, event.offsetX);
                  if (turn) return goTurn(turn);
                  const at = plot.posToVal(event.offsetX, "x");
                  const near = buckets.find((bucket) => {
                    const x = plot.valToPos(bucket.first, "x");
                    return Object.keys(bucket.signs).length > 0 && Math.abs(x - event.offsetX) < 5;
                  });
                  s.pause();
                  s.following.value = false;
                  if (near?.row) void s.goRow(near.row);
                  else s.goCycle(Math.round(at));
                }),
            ],
          },
        },
        [[0, 1], ...names.map(() => [null, null])] as uPlot.AlignedData,
        box.current!,
      );
    }
    let plot = build();
    const needle = document.createElement("div");
    needle.className = "needle";
    plot.over.append(needle);
    const rebuilt = () => {
      plot.destroy();
      plot = build();
      plot.over.append(needle);
      fill();
      place();
    };
    const fill = () => {
      if (!s.marks.peek()) return;
      buckets = s.marks.peek()!.buckets;
      const counted = buckets.flatMap((bucket) => Object.values(bucket.counts).map((pair) => pair[0] as number));
      least = Math.max(0, Math.min(most, ...counted) - 1);
      plot.setData(curves(s.marks.peek()!, names, s.lastCycle.peek()) as uPlot.AlignedData);
    };
    const place = () => {
      const [from, to] = range();
      const part = (s.cycle.peek() - from) / (to - from);
      needle.style.left = `${100 * Math.max(0, Math.min(1, part))}%`;
      needle.hidden = part < 0 || part > 1;
    };
    const stops = [
      effect(() => {
        s.marks.value;
        s.doom.value;
        zoomed.value;
        s.lastCycle.value;
        fill();
      }),
      effect(() => {
        s.cycle.value;
        s.lastCycle.value;
        place();
      }),
      theme.subscribe(() => requestAnimationFrame(rebuilt)),
    ];
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", rebuilt);
    const watch = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect;
      plot.setSize({ width, height });
    });
    watch.observe(box.current!);
    return () => {
      stops.forEach((stop) => stop());
      dark.removeEventListener("change", rebuilt);
      watch.disconnect();
      plot.destroy();
    };
  }, []);
  return <div class="chart" ref={box} aria-hidden="true" />;
}
