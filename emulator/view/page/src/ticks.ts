// Round ticks, all in the one unit that fits what is seen; values of curves, and values in words.
import type { Axis, Curve } from "./messages";

export type Quantity = Axis["quantity"];
export interface Tick {
  at: number;
  text: string;
}
/** From how much on it fits, how much of the base unit it is, and its name. */
type Unit = readonly [least: number, size: number, name: string];

const UNITS: Record<Quantity, readonly Unit[]> = {
  seconds: [
    [3 * 86400, 86400, "d"], [3 * 3600, 3600, "h"], [600, 60, "min"],
    [1, 1, "s"], [1e-3, 1e-3, "ms"], [1e-6, 1e-6, "us"], [0, 1e-9, "ns"],
  ],
  bytes: [[2 ** 40, 2 ** 40, "TiB"], [2 ** 30, 2 ** 30, "GiB"], [2 ** 20, 2 ** 20, "MiB"], [2 ** 10, 2 ** 10, "KiB"], [0, 1, "B"]],
  watts: [[1e6, 1e6, "MW"], [1e3, 1e3, "kW"], [1, 1, "W"], [0, 1e-3, "mW"]],
  joules: [[3.6e6, 3.6e6, "kWh"], [1e3, 1e3, "kJ"], [1, 1, "J"], [0, 1e-3, "mJ"]],
  cycles: [[0, 1, "cycles"]],
  share: [[0, 0.01, "%"]],
  count: [[0, 1, ""]],
};
const WHOLE: readonly Quantity[] = ["cycles", "count"];
const DIGITS = 4; // of a value that stands alone
const FINEST = 1e-12; // of the largest value: two ticks must be two numbers

function unit(quantity: Quantity, from: number, to: number): Unit {
  const most = Math.max(Math.abs(from), Math.abs(to));
  const found = UNITS[quantity].find(([least]) => most >= least);
  return found ?? UNITS[quantity].at(-1)!;
}

function worded(value: number, name: string, least: number, most = least): string {
  const text = value.toLocaleString("en", { minimumFractionDigits: least, maximumFractionDigits: most });
  return name ? `${text} ${name}` : text;
}

/** At most so many ticks from one value to another: 1, 2 or 5 of the unit times a power of ten apart. */
export function ticks(quantity: Quantity, from: number, to: number, most: number): Tick[] {
  const [, size, name] = unit(quantity, from, to);
  const largest = Math.max(Math.abs(from), Math.abs(to)) / size;
  const least = Math.max((to - from) / size / most, largest * FINEST, Number.MIN_VALUE * 1e9);
  let power = Math.floor(Math.log10(least));
  let step = [1, 2, 5, 10].find((each) => each * 10 ** power >= least) ?? 10;
  if (step === 10) [step, power] = [1, power + 1];
  if (power < 0 && WHOLE.includes(quantity)) [step, power] = [1, 0];
  const [times, parts] = power < 0 ? [step, 10 ** -power] : [step * 10 ** power, 1];
  const found: Tick[] = [];
  const last = Math.floor((to / size) * (parts / times) + 1e-9);
  for (let n = Math.ceil((from / size) * (parts / times) - 1e-9); n <= last; n++) {
    const value = (n * times) / parts || 0;
    found.push({ at: value * size, text: worded(value, name, Math.min(20, Math.max(0, -power))) });
  }
  return found;
}

/** As many ticks as have room for their texts, in so many pixels. */
export function fitting(quantity: Quantity, from: number, to: number, width: number): Tick[] {
  for (let most = Math.max(1, Math.floor(width / 60)); ; most--) {
    const found = ticks(quantity, from, to, most);
    const widest = Math.max(0, ...found.map((tick) => tick.text.length)) * 6.2 + 16;
    if (most <= 1 || found.length * widest <= width) return found;
  }
}

/** Of a curve at a moment; null: there it has none. */
export function valueAt(curve: Curve, x: number): number | null {
  let [low, high] = [0, curve.xs.length]; // the first point behind x
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve.xs[middle]! <= x) low = middle + 1;
    else high = middle;
  }
  if (curve.steps) return low ? curve.ys[low - 1]! : null;
  const [before, after] = [curve.xs[low - 1] ?? -Infinity, curve.xs[low] ?? Infinity];
  return curve.ys[x - before <= after - x ? low - 1 : low] ?? null;
}

/** A value, of several between `from` and `to`, of which some thousand can be told apart. */
export function said(quantity: Quantity, value: number, from: number, to: number): string {
  const [, size, name] = unit(quantity, from, to);
  return worded(value / size, name, 0, digits(quantity, (to - from) / size));
}

/** From when to when something lasts. */
export function span(quantity: Quantity, from: number, to: number): string {
  const [, size, name] = unit(quantity, from, to);
  const most = digits(quantity, (to - from) / size);
  return `${worded(from / size, "", 0, most)} to ${worded(to / size, name, 0, most)}`;
}

function digits(quantity: Quantity, width: number): number {
  if (WHOLE.includes(quantity)) return 0;
  return width > 0 ? Math.min(12, Math.max(0, 2 - Math.floor(Math.log10(width)))) : 3;
}

/** A value in the unit that fits it, with four digits where it isn't whole, as pages/units.py has it; null: nobody knows. */
export function alone(quantity: Quantity, value: number | null): string {
  if (value === null) return "-";
  const [, size, name] = value ? unit(quantity, rounded(value), 0) : UNITS[quantity].find(([, each]) => each === 1)!;
  const shown = rounded(value / size);
  const whole = Math.trunc(Math.abs(shown)).toString().length;
  return worded(shown, name, Number.isInteger(shown) ? 0 : Math.max(0, DIGITS - whole));
}

const rounded = (value: number) => Number(value.toPrecision(DIGITS));

/** A value in the unit that fits the largest of its kind, with up to two digits. */
export function precise(quantity: Quantity, value: number, most: number): string {
  const [, size, name] = unit(quantity, 0, most);
  return worded(value / size, name, 0, 2);
}
