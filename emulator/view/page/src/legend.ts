// The legend of a chart: names each curve, line and kind of bar; hides and shows what is pressed.
import { curveStyle } from "./colours";
import type { Chart } from "./messages";

export interface Keys {
  /** Of each curve, at the cursor. */
  values(texts: string[]): void;
  /** Whether a curve is shown now. */
  shows(curve: number, show: boolean): void;
}

function drawn(tag: string, attributes: Record<string, string | number>): SVGElement {
  const found = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, String(value));
  return found;
}

/** A line or a box in a colour of the style. */
function mark(colour: string, dash: number[] | null): SVGElement {
  const picture = drawn("svg", { viewBox: "0 0 22 10", width: 22, height: 10, "aria-hidden": "true" });
  const inside = dash
    ? drawn("line", { x1: 0, x2: 22, y1: 5, y2: 5, "stroke-width": 2.5, "stroke-dasharray": dash.join(" ") || "none" })
    : drawn("rect", { x: 5, y: 0, width: 12, height: 10 });
  (inside as SVGElement).style.setProperty(dash ? "stroke" : "fill", `var(--${colour})`);
  picture.append(inside);
  return picture;
}

export function legend(
  box: HTMLElement, chart: Chart, toggle: { curve(place: number, show: boolean): void; kind(place: number, show: boolean): void },
): Keys {
  const list = document.createElement("div");
  list.className = "legend";
  const button = (name: string, picture: SVGElement, press: (show: boolean) => void) => {
    const made = document.createElement("button");
    made.type = "button";
    made.setAttribute("aria-pressed", "true");
    const words = document.createElement("span");
    words.textContent = name;
    made.append(picture, words);
    made.onclick = () => {
      const show = made.getAttribute("aria-pressed") !== "true";
      made.setAttribute("aria-pressed", String(show));
      press(show);
    };
    list.append(made);
    return made;
  };
  (chart.kinds ?? []).forEach((kind, place) => button(kind.name, mark(kind.colour, null), (show) => toggle.kind(place, show)));
  const curves = (chart.curves ?? []).map((curve, place) => {
    const { colour, dash } = curveStyle(place);
    const made = button(curve.name, mark(colour, dash), (show) => toggle.curve(place, show));
    const value = document.createElement("b");
    made.append(value);
    return { made, value };
  });
  for (const bound of chart.bounds ?? []) {
    const key = document.createElement("span");
    key.className = "key";
    key.append(mark("bad", [5, 4]), bound.name);
    list.append(key);
  }
  if (list.childElementCount) box.append(list);
  return {
    values: (texts) => texts.forEach((text, place) => curves[place]!.value.textContent !== text && (curves[place]!.value.textContent = text)),
    shows: (place, show) => curves[place]?.made.setAttribute("aria-pressed", String(show)),
  };
}
