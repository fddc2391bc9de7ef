// The map: servers with their GPUs at the moment that is shown, on a canvas. Shapes say what colours say.
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { STATES, type State } from "./cluster-data";
import * as c from "./cluster-state";
import { colourOf, forgetColours } from "./colours";
import { theme } from "./theme";

const PER_ROW = 8;
const SIZES = [44, 36, 30, 26, 22, 18, 15, 12, 10, 8, 7]; // of a GPU, the largest with which all fits

interface Box { x: number; y: number; wide: number; tall: number; head: number }
interface Layout { size: number; tall: number; boxes: Box[] }

/** Where servers are in so much room; with names where there are few. */
function laidOut(wide: number, tall: number, measure: (text: string) => number): Layout {
  const { servers } = c.cluster.value!.about;
  const named = servers.length <= 100;
  let found: Layout = { size: 7, tall: 0, boxes: [] };
  for (const size of SIZES) {
    const gap = Math.max(4, size / 2);
    const head = named ? 15 : 0;
    const boxes: Box[] = [];
    let [x, y, high] = [6, 6, 0];
    for (const server of servers) {
      const across = Math.min(PER_ROW, Math.max(1, server.types.length));
      const down = Math.max(1, Math.ceil(server.types.length / PER_ROW));
      const box = { x, y, wide: Math.max(across * size, named ? measure(server.name) + 4 : 0), tall: down * size + head, head };
      if (x > 6 && x + box.wide > wide - 6) {
        [box.x, box.y] = [6, y + high + gap];
        [y, high] = [box.y, 0];
      }
      boxes.push(box);
      x = box.x + box.wide + gap;
      high = Math.max(high, box.tall);
    }
    found = { size, tall: y + high + 6, boxes };
    if (found.tall <= tall) break;
  }
  return found;
}

/** Squares of one state, all in one go. */
export function squares(pen: CanvasRenderingContext2D, state: State, size: number, at: readonly (readonly [number, number])[]): void {
  if (!at.length) return;
  const inner = size - 2;
  pen.lineWidth = 1;
  pen.beginPath();
  if (state === "used" || state === "taken") {
    pen.fillStyle = state === "used" ? colourOf("good") : colourOf("border");
    for (const [x, y] of at) pen.rect(x, y, size - 1, size - 1);
    pen.fill();
    if (state === "used") return;
  }
  if (state === "shared") {
    pen.fillStyle = colourOf("warn");
    for (const [x, y] of at) pen.rect(x, y + size / 2, size - 1, size / 2 - 1);
    pen.fill();
  }
  pen.beginPath();
  if (state === "sleeping") {
    pen.fillStyle = colourOf("muted");
    for (const [x, y] of at) pen.rect(x + size / 2 - 2, y + size / 2 - 2, 3, 3);
    pen.fill();
    return;
  }
  pen.strokeStyle = state === "shared" ? colourOf("warn") : state === "failed" ? colourOf("bad") : colourOf("muted");
  if (state === "failed") pen.lineWidth = 2;
  for (const [x, y] of at) {
    if (state !== "failed") pen.rect(x + 0.5, y + 0.5, inner, inner);
    if (state === "idle" || state === "shared") continue;
    pen.moveTo(x, y);
    pen.lineTo(x + inner, y + inner);
    if (state !== "failed") continue;
    pen.moveTo(x + inner, y);
    pen.lineTo(x, y + inner);
  }
  pen.stroke();
}

export function ClusterMap() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const room = useRef<HTMLDivElement>(null);
  const layout = useRef<Layout>({ size: 7, tall: 0, boxes: [] });
  useEffect(() => {
    const element = canvas.current!;
    const box = room.current!;
    const pen = element.getContext("2d")!;
    let [wide, tall] = [0, 0];
    function fit(): void {
      wide = box.clientWidth;
      pen.font = "11px system-ui";
      layout.current = laidOut(wide, box.clientHeight, (text) => pen.measureText(text).width);
      tall = Math.max(layout.current.tall, 20);
      element.style.height = `${tall}px`;
      element.width = Math.round(wide * devicePixelRatio);
      element.height = Math.round(tall * devicePixelRatio);
    }
    function draw(): void {
      const { size, boxes } = layout.current;
      const { about, first } = c.cluster.value!;
      const { gpus } = c.moment.value;
      pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      pen.clearRect(0, 0, wide, tall);
      const at: [number, number][][] = STATES.map(() => []);
      boxes.forEach((box, row) => {
        for (let gpu = first[row]!, place = 0; gpu < first[row + 1]!; gpu++, place++) {
          at[gpus[gpu]!]!.push([box.x + (place % PER_ROW) * size, box.y + box.head + Math.floor(place / PER_ROW) * size]);
        }
      });
      STATES.forEach((state, place) => squares(pen, state, size, at[place]!));
      pen.fillStyle = colourOf("text");
      pen.font = "11px system-ui";
      boxes.forEach((box, row) => box.head && pen.fillText(about.servers[row]!.name, box.x, box.y + 11));
      const chosen = boxes[c.server.value];
      if (chosen) {
        pen.strokeStyle = colourOf("accent");
        pen.lineWidth = 2;
        pen.strokeRect(chosen.x - 3, chosen.y - 2, chosen.wide + 5, chosen.tall + 4);
      }
      element.dataset.drawn = String(Number(element.dataset.drawn ?? 0) + 1);
    }
    const recolour = () => requestAnimationFrame(() => {
      forgetColours();
      draw();
    });
    const watch = new ResizeObserver(() => {
      fit();
      draw();
    });
    watch.observe(box);
    fit();
    const stops = [effect(draw), theme.subscribe(recolour)];
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", recolour);
    return () => {
      stops.forEach((stop) => stop());
      dark.removeEventListener("change", recolour);
      watch.disconnect();
    };
  }, []);

  const under = (event: MouseEvent) => layout.current.boxes.findIndex((box) =>
    event.offsetX >= box.x - 2 && event.offsetX < box.x + box.wide + 2 && event.offsetY >= box.y - 2 && event.offsetY < box.y + box.tall + 2);

  function moved(event: KeyboardEvent): void {
    const { boxes } = layout.current;
    const here = c.server.value;
    const nearest = (y: number) => boxes.reduce((best, box, at) => (box.y !== y ? best
      : best < 0 || Math.abs(box.x - boxes[here]!.x) < Math.abs(boxes[best]!.x - boxes[here]!.x) ? at : best), -1);
    const rows = boxes.map((box) => box.y);
    const to: Record<string, () => number> = {
      ArrowLeft: () => here - 1, ArrowRight: () => here + 1, Home: () => 0, End: () => boxes.length - 1,
      ArrowUp: () => nearest(rows.reduce((y, each) => (each < boxes[here]!.y ? Math.max(y, each) : y), -1)),
      ArrowDown: () => nearest(rows.reduce((y, each) => (each > boxes[here]!.y ? Math.min(y, each) : y), Infinity)),
    };
    const found = to[event.key]?.();
    if (found === undefined) return;
    event.preventDefault();
    if (boxes[found]) c.chooseServer(found);
  }

  const { about } = c.cluster.value!;
  return (
    <div class="map" ref={room}>
      <canvas ref={canvas} tabIndex={0} role="img" data-own-keys
        aria-label={`Map of ${about.servers.length} servers; arrow keys go from server to server`} onKeyDown={moved}
        onMouseMove={(event) => {
          const row = under(event);
          event.currentTarget.title = row < 0 ? "" : about.servers[row]!.name;
          event.currentTarget.style.cursor = row < 0 ? "" : "pointer";
        }}
        onClick={(event) => {
          const row = under(event);
          if (row >= 0) c.chooseServer(row);
        }} />
    </div>
  );
}

/** What the squares mean, and how many there are of each. */
export function Counts() {
  const { about } = c.cluster.value!;
  const there = STATES.filter((state) => ({ sleeping: about.sleeps, failed: about.faults.length > 0 } as Record<string, boolean>)[state] ?? true);
  const { counts } = c.moment.value;
  return (
    <div class="legend" role="group" aria-label="GPUs by state">
      {there.map((state) => (
        <span class="key" key={state}>
          <Square of={state} /> {state} <b data-count={state}>{counts[STATES.indexOf(state)]!.toLocaleString("en")}</b>
        </span>
      ))}
    </div>
  );
}

const SHAPES: Record<State, [string, string]> = {
  idle: ["M1.5 1.5h11v11h-11z", "none"],
  used: ["M1 1h12v12H1z", "fill"],
  shared: ["M1.5 1.5h11v11h-11zM2 7h10v5H2z", "part"],
  sleeping: ["M5.5 5.5h3v3h-3z", "rest"],
  taken: ["M1.5 1.5h11v11h-11zM1.5 1.5l11 11", "taken"],
  failed: ["M1.5 1.5l11 11M12.5 1.5l-11 11", "failed"],
};

export function Square({ of }: { of: State }) {
  const [shape, look] = SHAPES[of];
  return <svg class={`square ${look}`} viewBox="0 0 14 14" aria-hidden="true"><path d={shape} /></svg>;
}
