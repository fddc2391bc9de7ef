// A chart of a report: curves, and lanes with bars, over one axis. Zoom, cursor and axes are uPlot's.
import { effect, type ReadonlySignal, type Signal } from "@preact/signals";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { colourOf, curveStyle, faint, forgetColours } from "./colours";
import { barAt, drawLanes, laneHeight, nameWidth } from "./lanes";
import { type Keys, legend } from "./legend";
import type { Bar, Chart, Curve } from "./messages";
import { fitting, said, span, type Tick, ticks, valueAt } from "./ticks";

const FONT = "11px system-ui, sans-serif";
const HEIGHT = 220; // of curves alone
const BELOW = 110; // of curves below lanes
const GAP = 18; // between the two
const AXIS = 40; // with its title
const LOW = 76; // of curves above a scrubber
const LEFT = 56; // of these, so that the scrubber stands below them
const CLOSEST = 1e-7; // part of the whole that can be seen at least
const UNITY = { title: "", quantity: "count", begin: 0, end: 1 } as const;

/** What is shown of x in all. */
function whole(chart: Chart): [number, number] {
  const xs = [
    ...(chart.curves ?? []).flatMap((curve) => [curve.xs[0], curve.xs.at(-1)]),
    ...(chart.lanes ?? []).flatMap((lane) => [...(lane.bars ?? []), ...ends(lane.level)].flatMap((bar) => [bar.begin, bar.end])),
    ...(chart.bounds ?? []).filter((bound) => bound.along === "x").map((bound) => bound.at),
  ].filter((x) => x !== undefined);
  const least = (values: number[]) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const begin = chart.x.begin ?? (xs.length ? least(xs) : 0);
  const end = chart.x.end ?? (xs.length ? -least(xs.map((x) => -x)) : 1);
  return [begin, end > begin ? end : begin + 1];
}

function ends(curve: Curve | null | undefined): { begin: number; end: number }[] {
  return curve?.xs.length ? [{ begin: curve.xs[0]!, end: curve.xs.at(-1)! }] : [];
}

/** All curves over all of their points, which begin and end with what is shown. */
function aligned(chart: Chart, [begin, end]: [number, number]): uPlot.AlignedData {
  const tables = (chart.curves ?? []).map((curve): uPlot.AlignedData => {
    const last = curve.xs.at(-1);
    return curve.steps && last !== undefined && last < end
      ? [[...curve.xs, end], [...curve.ys, curve.ys.at(-1)]]
      : [curve.xs, curve.ys];
  });
  return uPlot.join([[[begin, end], [null, null]], ...tables]);
}

/** Time that plays: the moment that is shown, what of it is seen (null: all), and a way to another moment. */
export interface Time {
  readonly now: ReadonlySignal<number>;
  readonly zoomed: Signal<[number, number] | null>;
  go(at: number): void;
}

/** `low`: curves alone, without a title. `time`: x is its axis. `choose`: a bar was pressed. */
export interface Options {
  low?: boolean;
  time?: Time;
  choose?: (bar: Bar) => void;
}

/** Draws it in a box, which it fills; the answer takes it away. */
export function plot(box: HTMLElement, chart: Chart, { low, time, choose }: Options = {}): () => void {
  const [begin, end] = whole(chart);
  const curves = chart.curves ?? [];
  const lanes = chart.lanes ?? [];
  const y = chart.y ?? UNITY;
  const highest = [
    ...curves.map((curve) => curve.ys.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)),
    ...(chart.bounds ?? []).filter((bound) => bound.along !== "x").map((bound) => bound.at),
  ].reduce((a, b) => Math.max(a, b), 0);
  const lowest = y.begin ?? 0;
  const top = Math.max(y.end ?? highest * 1.04, lowest + (highest > lowest ? 0 : 1));
  const curved = chart.y != null;
  const above = lanes.length * laneHeight(lanes.length) + (lanes.length && curved ? GAP : 0);
  const below = curved ? (low ? LOW : lanes.length ? BELOW : HEIGHT) : 0;

  const picture = document.createElement("div");
  picture.className = "picture";
  picture.tabIndex = 0;
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", inWords(chart));
  const head = document.createElement("figcaption");
  const title = document.createElement("b");
  title.textContent = chart.title;
  const note = document.createElement("span");
  note.className = "muted";
  note.textContent = chart.note ?? "";
  const all = document.createElement("button");
  all.textContent = "all of it";
  all.className = "all";
  all.hidden = true;
  head.append(title, note, all);
  head.hidden = low ?? false;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  box.append(head, picture, tip);

  let shownX: Tick[] = [];
  let shownY: Tick[] = [];
  const text = () => colourOf("muted");
  const line = () => colourOf("border");
  const hidden = new Set<number>(); // kinds of bars

  const over = new uPlot(
    {
      width: Math.max(1, box.clientWidth),
      height: above + below + (low ? AXIS - 16 : AXIS) + 16,
      padding: [lanes.length ? 2 : 14, 28, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, dist: 5 },
        ...(chart.group ? { sync: { key: chart.group, scales: ["x", null] as [string, null], match: [same, () => false, byName] } } : {}),
      },
      scales: {
        x: {
          time: false,
          range: (_, from, to) => {
            const [first, last, least] = [Math.max(begin, from), Math.min(end, to), (end - begin) * CLOSEST];
            return last - first >= least ? [first, last] : [(first + last - least) / 2, (first + last + least) / 2];
          },
        },
        y: { range: () => [lowest, below ? lowest + ((top - lowest) * (above + below)) / below : top] },
      },
      axes: [
        {
          stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, size: 4 }, font: FONT, size: 24, gap: 3,
          ...(low ? {} : { label: chart.x.title }), labelFont: FONT, labelSize: 16, labelGap: 0,
          splits: (plot, _, from, to) => (shownX = fitting(chart.x.quantity, from, to, plot.bbox.width / devicePixelRatio)).map((tick) => tick.at),
          values: () => shownX.map((tick) => tick.text),
        },
        {
          stroke: text, grid: { show: curved, stroke: line, width: 1 }, ticks: { show: false }, font: FONT, gap: 5,
          size: (plot, values) => {
            if (low) return LEFT;
            plot.ctx.save();
            plot.ctx.font = FONT;
            const widest = Math.max(0, ...(values ?? []).map((value) => plot.ctx.measureText(value ?? "").width));
            plot.ctx.restore();
            return Math.ceil(Math.max(curved ? widest + 12 : 0, nameWidth(plot, lanes), 8));
          },
          splits: () => (shownY = curved ? ticks(y.quantity, lowest, top, lanes.length ? 3 : 5) : []).map((tick) => tick.at),
          values: () => shownY.map((tick) => tick.text),
        },
      ],
      series: [
        {},
        { show: false },
        ...curves.map((curve, place): uPlot.Series => {
          const { colour, dash } = curveStyle(place);
          return {
            label: curve.name, stroke: () => colourOf(colour), width: 1.75, dash, points: { show: curve.xs.length === 1 && !curve.steps },
            ...(curve.area ? { fill: () => faint(colour) } : {}),
            ...(curve.steps ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
          };
        }),
      ],
      hooks: {
        draw: [(plot) => drawLanes(plot, chart, hidden), (plot) => drawBounds(plot, chart, above)],
        setCursor: [(plot) => point(plot)],
        setScale: [(plot, key) => key === "x" && scaled(plot.scales.x!.min!, plot.scales.x!.max!)],
        setSeries: [(plot, place) => place !== null && keys.shows(place - 2, plot.series[place]!.show!)],
        ready: [(plot) => plot.over.addEventListener("click", () => follow(plot))],
      },
    },
    aligned(chart, [begin, end]),
    picture,
  );
  const keys: Keys = legend(box, chart, {
    curve: (place, show) => over.setSeries(place + 2, { show }, true),
    kind: (place, show) => {
      if (show) hidden.delete(place);
      else hidden.add(place);
      over.redraw(false);
    },
  });

  /** Says what is at the cursor. */
  function point(plot: uPlot): void {
    const { left = -1, top: height = -1 } = plot.cursor;
    const [from, to] = [plot.scales.x!.min!, plot.scales.x!.max!];
    const x = plot.posToVal(left, "x");
    keys.values(curves.map((curve) => {
      const value = left < 0 ? null : valueAt(curve, x);
      return value === null ? "" : said(y.quantity, value, lowest, top);
    }));
    const bar = left < 0 ? null : barAt(plot, chart, hidden, left, height);
    tip.hidden = left < 0;
    plot.over.style.cursor = bar?.link ? "pointer" : "";
    if (left < 0) return;
    tip.textContent = bar
      ? `${bar.title}: ${span(chart.x.quantity, bar.begin, bar.end)}${bar.link ? "; press to see it" : ""}`
      : said(chart.x.quantity, x, from, to);
    const inside = picture.offsetLeft + plot.over.offsetLeft + left;
    const right = inside > box.clientWidth / 2;
    tip.style.left = right ? "auto" : `${inside + 10}px`;
    tip.style.right = right ? `${box.clientWidth - inside + 10}px` : "auto";
    tip.style.top = `${picture.offsetTop + plot.over.offsetTop + Math.max(0, height) + 12}px`;
  }

  function follow(plot: uPlot): void {
    const { left = -1, top: height = -1 } = plot.cursor;
    if (left < 0) return;
    const bar = barAt(plot, chart, hidden, left, height);
    if (bar?.link) location.href = bar.link;
    time?.go(plot.posToVal(left, "x"));
    if (bar) choose?.(bar);
  }

  /** Other moments are shown. */
  function scaled(from: number, to: number): void {
    all.hidden = from <= begin && to >= end;
    if (!time) return;
    time.zoomed.value = all.hidden ? null : [from, to];
    place();
  }

  /** The line at the moment that is shown. */
  function place(): void {
    const [from, to] = [over.scales.x!.min!, over.scales.x!.max!];
    const part = (time!.now.peek() - from) / (to - from);
    needle.style.left = `${100 * part}%`;
    needle.hidden = !(part >= 0 && part <= 1);
  }

  /** Shows other moments, in all charts of the group. */
  function show(from: number, to: number): void {
    const plots = chart.group ? uPlot.sync(chart.group).plots : [over];
    plots.forEach((each) => each.setScale("x", { min: from, max: to }));
  }

  function zoom(by: number): void {
    const [from, to] = [over.scales.x!.min!, over.scales.x!.max!];
    const left = over.cursor.left ?? -1;
    const around = left < 0 ? (from + to) / 2 : over.posToVal(left, "x");
    show(Math.max(begin, around - (around - from) * by), Math.min(end, around + (to - around) * by));
  }

  function move(right: number, down: number): void {
    const { left = -1, top: height = -1 } = over.cursor;
    const [width, tall] = [over.over.clientWidth, over.over.clientHeight];
    over.setCursor({
      left: left < 0 ? width / 2 : Math.max(0, Math.min(width - 1, left + right)),
      top: left < 0 ? 8 : Math.max(0, Math.min(tall - 1, height + down)),
    });
  }

  all.onclick = () => show(begin, end);
  picture.onkeydown = (event) => {
    const far = event.shiftKey ? 40 : 5;
    const does: Record<string, () => void> = {
      ArrowLeft: () => move(-far, 0), ArrowRight: () => move(far, 0),
      ArrowUp: () => move(0, -11), ArrowDown: () => move(0, 11),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => show(begin, end),
      Enter: () => follow(over),
    };
    const found = does[event.key];
    if (!found || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    found();
  };
  picture.onblur = () => over.setCursor({ left: -10, top: -10 });

  const needle = document.createElement("div");
  needle.className = "needle";
  const stops = !time ? [] : [
    effect(() => {
      const [from, to] = time.zoomed.value ?? [begin, end];
      if (over.scales.x!.min !== from || over.scales.x!.max !== to) over.setScale("x", { min: from, max: to });
    }),
    effect(() => {
      time.now.value;
      place();
    }),
  ];
  if (time) over.over.append(needle);

  const recolour = () => {
    forgetColours();
    over.redraw(false);
  };
  const themes = new MutationObserver(recolour);
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", recolour);
  const watch = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry!.contentRect.width);
    if (width > 0 && width !== over.width) over.setSize({ width, height: over.height });
  });
  watch.observe(box);
  return () => {
    stops.forEach((stop) => stop());
    themes.disconnect();
    dark.removeEventListener("change", recolour);
    watch.disconnect();
    over.destroy();
    box.replaceChildren();
  };
}

/** For those who don't see it. */
function inWords(chart: Chart): string {
  const parts: [string, readonly { name: string }[] | undefined][] = [
    ["lanes", chart.lanes], ["bars", chart.kinds], ["curves", chart.curves], ["lines", chart.bounds],
  ];
  const named = parts.flatMap(([what, of]) => (of?.length ? [`${what}: ${of.map((each) => each.name).join(", ")}`] : []));
  return [`${chart.title}, by ${chart.x.title}`, ...named].join(". ");
}

function same(one: string | null, other: string | null): boolean {
  return one === other;
}

/** In another chart of a group, the curve of the same name. */
function byName(sub: uPlot, pub: uPlot, place: number): number | null {
  const found = sub.series.findIndex((each, n) => n > 1 && each.label === pub.series[place]?.label);
  return found < 0 ? null : found;
}

function drawBounds(plot: uPlot, chart: Chart, above: number): void {
  const context = plot.ctx;
  const { left, top, width, height } = plot.bbox;
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  context.lineWidth = 1.5 * devicePixelRatio;
  context.strokeStyle = colourOf("bad");
  for (const bound of chart.bounds ?? []) {
    const at = plot.valToPos(bound.at, bound.along ?? "y", true);
    context.beginPath();
    context.moveTo(bound.along === "x" ? at : left, bound.along === "x" ? top + above : at);
    context.lineTo(bound.along === "x" ? at : left + width, bound.along === "x" ? top + height : at);
    context.stroke();
  }
  context.restore();
  if (!chart.y?.title) return;
  context.save();
  context.font = FONT.replace("11px", `${11 * devicePixelRatio}px`);
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillStyle = colourOf("muted");
  context.fillText(chart.y.title, left + 4 * devicePixelRatio, top + (above - 4) * devicePixelRatio);
  context.restore();
}
