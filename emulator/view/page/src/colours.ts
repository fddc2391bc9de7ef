// Colours of the style as a canvas takes them, and those of curves.
const CURVES = ["accent", "result", "election", "report", "work", "acknowledgement", "warn"];
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
const known = new Map<string, string>();

/** Of a variable of the style sheet, as it is now. */
export function colourOf(name: string): string {
  let found = known.get(name);
  if (found === undefined) {
    const probe = document.createElement("i");
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    found = getComputedStyle(probe).color;
    probe.remove();
    known.set(name, found);
  }
  return found;
}

/** The theme is another one. */
export function forgetColours(): void {
  known.clear();
}

/** The same, of an area below a curve. */
export function faint(name: string): string {
  return `rgb(from ${colourOf(name)} r g b / 0.2)`;
}

/** Of the curve at a place among all. */
export function curveStyle(place: number): { colour: string; dash: number[] } {
  const dash = DASHES[Math.floor(place / CURVES.length) % DASHES.length]!;
  return { colour: CURVES[place % CURVES.length]!, dash };
}
