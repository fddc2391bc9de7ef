// Lanes of a chart: bars from when to when, or a level, drawn on uPlot's canvas.
import type uPlot from "uplot";
import { colourOf } from "./colours";
import type { Bar, Chart, Lane } from "./messages";

const NEAR = 3; // pixels beside a bar that are still its own
const FONT = "12px system-ui, sans-serif";

/** Pixels of a lane, of so many. */
export function laneHeight(lanes: number): number {
  return Math.max(5, Math.min(24, Math.floor(2400 / Math.max(1, lanes))));
}

/** Pixels for names, up to a third of all. */
export function nameWidth(plot: uPlot, lanes: readonly Lane[]): number {
  if (!lanes.length) return 0;
  plot.ctx.save();
  plot.ctx.font = FONT;
  const widest = lanes.reduce((most, lane) => Math.max(most, plot.ctx.measureText(lane.name).width), 0);
  plot.ctx.restore();
  return Math.min(widest + 14, plot.width * 0.3);
}

/** Where a bar is in its lane: upper edge and height, of 1. */
function part(chart: Chart, bar: Bar): [number, number] {
  const half = chart.kinds![bar.kind]!.half;
  return half ? [half === "upper" ? 0.06 : 0.5, 0.42] : [0.08, 0.84];
}

export function drawLanes(plot: uPlot, chart: Chart, hidden: ReadonlySet<number>): void {
  const lanes = chart.lanes ?? [];
  if (!lanes.length) return;
  const [context, ratio] = [plot.ctx, devicePixelRatio];
  const tall = laneHeight(lanes.length) * ratio;
  const { left, top, width } = plot.bbox;
  const x = (value: number) => plot.valToPos(value, "x", true);
  const each = Math.max(1, Math.ceil((13 * ratio) / tall)); // of so many lanes one has its name
  context.save();
  context.font = FONT.replace("12px", `${12 * ratio}px`);
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = colourOf("text");
  lanes.forEach((lane, n) => {
    if (n % each) return;
    context.fillText(shortened(context, lane.name, left - 10 * ratio), left - 7 * ratio, top + (n + 0.5) * tall);
  });
  context.beginPath();
  context.rect(left, top, width, tall * lanes.length);
  context.clip();
  const [from, to] = [plot.scales.x!.min!, plot.scales.x!.max!];
  lanes.forEach((lane, n) => {
    const upper = top + n * tall;
    context.fillStyle = colourOf("border");
    context.fillRect(left, upper + tall - ratio, width, ratio);
    for (const bar of lane.bars ?? []) {
      if (bar.end < from || bar.begin > to || hidden.has(bar.kind)) continue;
      const [begin, end] = [Math.max(left - 9, x(bar.begin)), Math.min(left + width + 9, x(bar.end))];
      const [edge, height] = part(chart, bar);
      context.fillStyle = colourOf(chart.kinds![bar.kind]!.colour);
      context.fillRect(begin, upper + edge * tall, Math.max(ratio / 2, end - begin), height * tall);
      if (!bar.lost) continue;
      context.strokeStyle = colourOf("bad");
      context.lineWidth = 2 * ratio;
      context.strokeRect(begin, upper + edge * tall + ratio, Math.max(ratio / 2, end - begin), height * tall - 2 * ratio);
    }
    if (lane.level) level(context, lane, x, upper + tall - ratio, tall - 4 * ratio, left + width);
  });
  context.restore();
}

function level(
  context: CanvasRenderingContext2D, lane: Lane, x: (value: number) => number, bottom: number, tall: number, right: number,
): void {
  const { xs, ys } = lane.level!;
  context.fillStyle = colourOf(lane.colour ?? "accent");
  context.beginPath();
  xs.forEach((value, n) => {
    const share = Math.min(1, ys[n] ?? 0);
    if (share > 0) {
      const begin = x(value);
      context.rect(begin, bottom - share * tall, (n + 1 < xs.length ? x(xs[n + 1]!) : right) - begin, share * tall);
    }
  });
  context.fill();
}

function shortened(context: CanvasRenderingContext2D, text: string, width: number): string {
  let found = text;
  while (found.length > 1 && context.measureText(found).width > width) found = `${found.slice(0, -2)}…`;
  return found;
}

/** The bar at a place of the plot, in pixels of the page. */
export function barAt(plot: uPlot, chart: Chart, hidden: ReadonlySet<number>, left: number, top: number): Bar | null {
  const lanes = chart.lanes ?? [];
  const place = top / laneHeight(lanes.length);
  const lane = lanes[Math.floor(place)];
  if (!lane?.bars || place < 0) return null;
  let [found, nearest]: [Bar | null, number] = [null, NEAR];
  for (const bar of lane.bars) {
    const [edge, height] = part(chart, bar);
    if (hidden.has(bar.kind) || place % 1 < edge - 0.08 || place % 1 > edge + height + 0.08) continue;
    const far = Math.max(plot.valToPos(bar.begin, "x") - left, left - plot.valToPos(bar.end, "x"), 0);
    if (far < nearest || (far === 0 && nearest === 0)) [found, nearest] = [bar, far];
  }
  return found;
}
