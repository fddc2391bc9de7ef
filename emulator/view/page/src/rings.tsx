// The server as a picture: cards as rings of GPUs, the CPU, links, and the frames on them.
import { effect, signal, useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { CPU, drawing, onLink, type Drawing, type Point, type Ring } from "./geometry";
import type { CardPicture, GpuPicture } from "./messages";
import { arrived, at, FASTEST, missing, reading, want, type Moving } from "./passes";
import * as s from "./state";
import { theme } from "./theme";

const LANE = 6; // how far outside of the ring frames run clockwise, and inside counter-clockwise
const NARROW = "(max-width: 700px)"; // there, as in the style sheet, the page is as tall as need be

const tip = signal<{ x: number; y: number; text: string } | null>(null);

/** "entry, dead" of a GPU. */
export function words(of: GpuPicture): string[] {
  const found = [...of.roles, ...of.faults];
  if (of.failed && !of.faults.length) found.push("failed");
  if (of.bypassed) found.push("bypassed");
  if (of.lent) found.push("lent");
  if (of.draining) found.push("draining");
  return found;
}

/** What contexts do on it: "context 2 runs". */
export function turnOf(of: GpuPicture): string {
  if (of.turn === null) return "";
  return `context ${of.turn} ${of.switching ? "comes" : "runs"}`;
}

export function Rings() {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const about = s.about.value;

  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect;
      setSize({ width, height });
    });
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);

  const plan = useMemo(() => {
    if (!about || !size.width) return null;
    const plans = about.cards.map((card) => ({
      name: card.name,
      gpus: card.gpus,
      host: card.host,
      boundary: about.crossings.flatMap(({ one, other }): [string, string][] =>
        card.gpus.includes(one) ? [[one, other]] : card.gpus.includes(other) ? [[other, one]] : [],
      ),
    }));
    let [best, most] = [drawing(plans, 1), 0];
    if (matchMedia(NARROW).matches) return plans.length > 4 ? drawing(plans, 2) : best;
    for (let columns = 1; columns <= plans.length; columns++) {
      const one = drawing(plans, columns);
      const scale = Math.min(size.width / one.width, size.height / one.height);
      if (scale > most * 1.02) [best, most] = [one, scale];
    }
    return best;
  }, [about?.cards, about?.crossings, size]);

  useEffect(() => (plan ? animate(canvas.current!, plan, size) : undefined), [plan, size]);

  function pointed(event: MouseEvent): Moving | null {
    if (!plan) return null;
    const where = box.current!.getBoundingClientRect();
    const scale = scaleOf(plan, size);
    const x = (event.clientX - where.left - scale.left) / scale.by;
    const y = (event.clientY - where.top - scale.top) / scale.by;
    let [nearest, least] = [null as Moving | null, 9 / Math.min(1, scale.by)];
    for (const { moving, point } of drawn(plan)) {
      const distance = Math.hypot(point.x - x, point.y - y);
      if (distance < least) [nearest, least] = [moving, distance];
    }
    return nearest;
  }

  function click(event: MouseEvent): void {
    const found = pointed(event);
    if (!found) return;
    event.stopPropagation();
    s.pause();
    s.following.value = false;
    s.tab.value = "message";
    if (found.frame.row !== null) void s.goRow(found.frame.row);
    else s.notice.value = `This ${found.frame.kind} frame is no row of the recording: ${found.frame.text}`;
  }

  function move(event: MouseEvent): void {
    const found = pointed(event);
    const where = box.current!.getBoundingClientRect();
    tip.value = found && {
      x: Math.min(event.clientX - where.left + 12, size.width - 180),
      y: event.clientY - where.top + 12,
      text: `${found.frame.kind} ${found.frame.gpu} → ${found.frame.to} · ${found.frame.text}`,
    };
  }

  return (
    <div class="rings" ref={box} style={{ "--tall": plan ? plan.height / plan.width : 1 }}
      onClickCapture={click} onMouseMove={move} onMouseLeave={() => (tip.value = null)}>
      {plan && <Still plan={plan} />}
      <canvas ref={canvas} aria-hidden="true" data-testid="frames" />
      {tip.value && (
        <div class="tip" style={{ left: `${tip.value.x}px`, top: `${tip.value.y}px` }}>
          {tip.value.text}
        </div>
      )}
    </div>
  );
}

function scaleOf(plan: Drawing, size: { width: number; height: number }) {
  const by = Math.min(size.width / plan.width, size.height / plan.height);
  return { by, left: (size.width - by * plan.width) / 2, top: (size.height - by * plan.height) / 2 };
}

/** Rings, GPUs and links. */
function Still({ plan }: { plan: Drawing }) {
  const about = s.about.value!;
  const picture = s.picture.value;
  const gpus = new Map(picture?.gpus.map((one) => [one.gpu, one]));
  const cards = new Map(picture?.cards.map((one) => [one.card, one]));
  const faults = new Map(picture?.links.map((one) => [one.link, one.faults]));
  const here = useComputed(() => s.row.value?.gpu).value;
  const alone = plan.rings.length === 1;
  const holders = new Set(picture?.gpus.filter((one) => one.roles.includes("boundary")).map((one) => one.gpu));
  return (
    <svg viewBox={`0 0 ${plan.width} ${plan.height}`} role="group" aria-label="Cards, GPUs and links"
      data-exact={picture?.exact ? picture.cycle : undefined}>
      {about.crossings.map(({ one, other }) => {
        const broken = faults.get(`${one}-${other}`)?.length || faults.get(`${other}-${one}`)?.length;
        const held = holders.has(one) || holders.has(other);
        const style = broken ? "broken" : held ? "held" : "";
        return <Line key={`${one}-${other}`} from={plan.at.get(one)!} to={plan.at.get(other)!} style={`side ${style}`} />;
      })}
      {about.cards.flatMap((card) =>
        card.host.map((gpu) => {
          const held = gpus.get(gpu)?.roles.includes("entry");
          return <Line key={gpu} from={plan.at.get(gpu)!} to={plan.cpu} style={`side ${held ? "held" : ""}`} />;
        }),
      )}
      <g class="cpu">
        <rect x={plan.cpu.x - CPU.width / 2} y={plan.cpu.y - CPU.height / 2} {...CPU} rx="8" />
        <text x={plan.cpu.x} y={plan.cpu.y + 5} font-size="14" text-anchor="middle">
          CPU
        </text>
      </g>
      {plan.rings.map((ring) => (
        <g key={ring.name}>
          <circle class="wire" cx={ring.centre.x} cy={ring.centre.y} r={ring.radius} />
          {ring.gpus.map((gpu, place) => {
            const next = ring.gpus[(place + 1) % ring.gpus.length]!;
            const broken = faults.get(`${gpu}-${next}`) ?? faults.get(`${next}-${gpu}`);
            if (!broken?.length) return null;
            const middle = onLink(plan.at.get(gpu)!, plan.at.get(next)!, 0.5, ring, 0);
            return <Cross key={`x${gpu}`} at={middle} size={6} title={`${gpu}-${next}: ${broken.join(", ")}`} />;
          })}
          <Middle ring={ring} card={cards.get(ring.name)} down={alone ? 28 : 0} font={alone ? 0.8 : 1} />
          {ring.gpus.map((gpu, place) => (
            <Gpu key={gpu} gpu={gpu} place={place} ring={ring} at={plan.at.get(gpu)!} picture={gpus.get(gpu)}
              here={here === gpu} outside={alone} />
          ))}
        </g>
      ))}
    </svg>
  );
}

function Line({ from, to, style }: { from: Point; to: Point; style: string }) {
  return <line class={`wire ${style}`} x1={from.x} y1={from.y} x2={to.x} y2={to.y} />;
}

function Cross({ at, size, title }: { at: Point; size: number; title?: string }) {
  const path = `M${at.x - size} ${at.y - size}l${2 * size} ${2 * size}m0 ${-2 * size}l${-2 * size} ${2 * size}`;
  return (
    <path class="cross" d={path} stroke="var(--bad)" stroke-width="2.5">
      {title && <title>{title}</title>}
    </path>
  );
}

/** What is known of a card, in the middle of its ring. */
interface MiddleProps {
  ring: Ring;
  card: CardPicture | undefined;
  down: number;
  font: number; // alone on the page it is drawn larger
}

function Middle({ ring, card, down, font }: MiddleProps) {
  const y = ring.centre.y + down;
  const count = card?.cpu?.count || card?.count || null; // of a card that is out of reach the CPU's is 0
  const away = count !== null && card?.cpu?.reachable === false;
  const facts = card
    ? [
        count === null ? "not counted yet" : `${count} of ${ring.gpus.length} GPUs counted`,
        ...(away ? ["unreachable"] : card.entry === null ? ["no entry GPU"] : [`entry ${card.entry}, epoch ${card.epoch}`]),
        ...(card.share === null ? [] : [`${card.share.toLocaleString("en")} units of work`]),
      ]
    : [];
  return (
    <g class="card" onClick={() => s.chooseCard(ring.name)}>
      <text class="name" x={ring.centre.x} y={y - 12} font-size={17 * font}>
        card {ring.name}
      </text>
      {facts.map((fact, line) => (
        <text key={line} class="sub" x={ring.centre.x} y={y + 8 + line * 17 * font} font-size={12.5 * font}>
          {fact}
        </text>
      ))}
    </g>
  );
}

interface GpuProps {
  gpu: string;
  place: number;
  ring: Ring;
  at: Point;
  picture: GpuPicture | undefined;
  here: boolean;
  outside: boolean;
}

function Gpu({ gpu, place, ring, at, picture, here, outside }: GpuProps) {
  const chosen = s.gpu.value === gpu;
  const r = ring.size;
  const said = picture ? words(picture) : [];
  const turn = picture ? turnOf(picture) : "";
  const short = gpu.slice(ring.name.length + 1);
  const styles = [
    "gpu",
    ...(picture?.roles ?? []),
    picture?.bypassed && "bypassed",
    (picture?.faults.length || picture?.failed) && "fault",
    picture?.lent && "lent",
    chosen && "chosen",
    here && "here",
  ];
  const small = r < 9;
  const every = Math.ceil(ring.gpus.length / 16);
  const away = { x: (at.x - ring.centre.x) / ring.radius, y: (at.y - ring.centre.y) / ring.radius };
  const side = outside ? 1 : -1;
  const label = { x: at.x + away.x * side * (r + 12), y: at.y + away.y * side * (r + 10) };
  const anchor = Math.abs(away.x) < 0.3 ? "middle" : away.x * side > 0 ? "start" : "end";
  const tag = [...(small && (said.length || place % every === 0) ? [short] : []), ...said, ...(turn ? [turn] : [])];
  return (
    <g class={styles.filter(Boolean).join(" ")} role="button" tabindex={chosen ? 0 : -1} data-gpu={gpu}
      aria-label={[`GPU ${gpu}`, ...said, turn].filter(Boolean).join(" ")} aria-pressed={chosen}
      onClick={() => s.chooseGpu(gpu)}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          event.stopPropagation();
          s.chooseGpu(gpu);
        }
      }}>
      <circle class="halo" cx={at.x} cy={at.y} r={r * 1.75} />
      <rect class="ringed" x={at.x - r - 3} y={at.y - r - 3} width={2 * r + 6} height={2 * r + 6} rx={r * 0.55} />
      <rect class="box" x={at.x - r} y={at.y - r} width={2 * r} height={2 * r} rx={r * 0.4} />
      {!small && (
        <text aria-hidden="true" x={at.x} y={at.y + r * 0.32} font-size={Math.min(14, r * 0.9)} text-anchor="middle">
          {short}
        </text>
      )}{" "}
      {(picture?.faults.length || picture?.failed) && (
        <>
          <circle class="badge" cx={at.x + r} cy={at.y - r} r={r * 0.55} />
          <Cross at={{ x: at.x + r, y: at.y - r }} size={r * 0.26} />
        </>
      )}
      {tag.length > 0 && (
        <text class="tag" aria-hidden="true" x={label.x} y={label.y + 4} font-size={outside ? 9 : 11} text-anchor={anchor}>
          {tag.join(" ")}
        </text>
      )}
    </g>
  );
}

/** Frames that are on links now, and where. */
function* drawn(plan: Drawing): Generator<{ moving: Moving; point: Point; tail: Point }> {
  const now = s.cycle.peek();
  const ringOf = (gpu: string) => plan.rings.find((ring) => gpu.startsWith(`${ring.name}.`)) ?? null;
  for (const moving of at(now)) {
    const { frame, start, end } = moving;
    if (s.hidden.peek().has(frame.kind)) continue;
    const from = frame.gpu === "cpu" ? plan.cpu : plan.at.get(frame.gpu);
    const to = frame.to === "cpu" ? plan.cpu : plan.at.get(frame.to);
    if (!from || !to) continue;
    const ring = frame.link === "p1" || frame.link === "p2" ? ringOf(frame.gpu) : null;
    const lane = frame.link === "p2" ? LANE : -LANE;
    const part = (now - start) / (end - start);
    const behind = Math.max(0, part - Math.max(0.12, frame.flits / (end - start)));
    yield { moving, point: onLink(from, to, part, ring, lane), tail: onLink(from, to, behind, ring, lane) };
  }
}

/** Draws frames on the canvas whenever something that they depend on is otherwise. */
function animate(canvas: HTMLCanvasElement, plan: Drawing, size: { width: number; height: number }): () => void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(size.width * ratio);
  canvas.height = Math.round(size.height * ratio);
  const context = canvas.getContext("2d")!;
  const scale = scaleOf(plan, size);
  let colours = new Map<string, string>();
  const readColours = () => (colours = new Map());
  const colour = (kind: string): string => {
    let found = colours.get(kind);
    if (!found) {
      const probe = document.createElement("i");
      probe.style.color = `var(--${kind}, var(--text))`;
      canvas.parentElement!.append(probe);
      found = getComputedStyle(probe).color;
      probe.remove();
      colours.set(kind, found);
    }
    return found;
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", readColours);
  const stop = effect(() => {
    s.hidden.value;
    arrived.value;
    theme.value;
    const now = s.cycle.value;
    const followed = !s.playing.value || s.speed.value <= FASTEST;
    if (followed) want(now, s.playing.value);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!followed) return;
    context.setTransform(ratio * scale.by, 0, 0, ratio * scale.by, ratio * scale.left, ratio * scale.top);
    const radius = Math.max(3.2, 4 / Math.max(1, scale.by));
    context.lineCap = "round";
    let count = 0;
    for (const { moving, point, tail } of drawn(plan)) {
      count++;
      const { kind, bad } = moving.frame;
      context.strokeStyle = context.fillStyle = colour(bad ? "bad" : kind);
      context.globalAlpha = 0.35;
      context.lineWidth = radius;
      context.beginPath();
      context.moveTo(tail.x, tail.y);
      context.lineTo(point.x, point.y);
      context.stroke();
      context.globalAlpha = 1;
      context.beginPath();
      context.arc(point.x, point.y, radius, 0, 2 * Math.PI);
      context.fill();
    }
    canvas.dataset.frames = String(count);
    canvas.dataset.drawn = String(now);
  });
  const changed = theme.subscribe(readColours);
  return () => {
    stop();
    changed();
    dark.removeEventListener("change", readColours);
  };
}

const KINDS = ["statistics", "keepalive", "election", "work", "result", "acknowledgement", "report"];
const PLACES = ["entry", "boundary", "bypassed", "fault", "lent"];

/** What colours mean; a press of a kind hides its frames. */
export function Legend() {
  const why = s.about.value!.unplayable ?? missing.value;
  const quick = s.playing.value && s.speed.value > FASTEST;
  return (
    <div class="legend" role="group" aria-label="Frames that are shown">
      {KINDS.map((kind) => (
        <button key={kind} aria-pressed={!s.hidden.value.has(kind)} onClick={() => s.hide(kind)}>
          <span class="dot" style={{ color: `var(--${kind})` }} />
          {kind}
        </button>
      ))}
      {PLACES.map((place) => (
        <span class="key" key={place}>
          <span class={`swatch ${place}`} />
          {place}
        </span>
      ))}
      {quick && <span class="key">frames are shown up to {FASTEST.toLocaleString("en")} cycles a second</span>}
      {reading.value && <span class="key" role="status">frames are read …</span>}
      {why && <span class="key">no frames here: {why}</span>}
    </div>
  );
}
