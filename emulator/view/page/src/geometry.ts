// Where cards, GPUs, the CPU and links are drawn. Units are those of the drawing's view box.

export interface Point {
  x: number;
  y: number;
}

export interface RingPlan {
  name: string;
  gpus: readonly string[]; // in ring order, clockwise
  host: readonly string[]; // with a link to the CPU
  boundary: readonly [string, string][]; // from a GPU of this card to one of another
}

export interface Ring {
  name: string;
  centre: Point;
  radius: number;
  size: number; // half the width of a GPU
  gpus: readonly string[];
}

export interface Drawing {
  width: number;
  height: number;
  rings: Ring[];
  cpu: Point;
  at: Map<string, Point>;
}

export const CPU = { width: 68, height: 30 }; // its box
const CELL = 400;
const ABOVE = 64; // for the CPU
const BESIDE = 56; // the same, where a cell's margin is free as well

/** The CPU stands in the ring of a card that is alone; of others outside of all rings, so that no link between two
 * cards leads through it: above them, or beside a column of them. */
export function drawing(plans: readonly RingPlan[], columns: number): Drawing {
  const alone = plans.length === 1;
  const across = Math.max(1, Math.min(columns, plans.length));
  const rows = Math.ceil(plans.length / across);
  const [beside, above] = alone ? [0, 0] : across === 1 ? [BESIDE, 0] : [0, ABOVE];
  const width = across * CELL + beside;
  const height = rows * CELL + above;
  const cpu = alone
    ? { x: CELL / 2, y: CELL / 2 - 46 }
    : above
      ? { x: width / 2, y: CPU.height / 2 + 6 }
      : { x: width - CPU.width / 2 - 6, y: height / 2 };
  const centres = plans.map((_, place) => {
    const [column, row] = [place % across, Math.floor(place / across)];
    return { x: column * CELL + CELL / 2, y: row * CELL + CELL / 2 + above };
  });
  const cardOf = new Map(plans.flatMap((plan, place) => plan.gpus.map((gpu) => [gpu, place] as const)));
  const at = new Map<string, Point>();
  const rings = plans.map((plan, place): Ring => {
    const centre = centres[place]!;
    const count = plan.gpus.length;
    const radius = CELL / 2 - (alone ? 46 : 34);
    const size = Math.min(17, Math.max(4.5, (Math.PI * radius) / Math.max(count, 3) / 1.55));
    const towards = new Map<number, Point>();
    for (const gpu of plan.host) towards.set(plan.gpus.indexOf(gpu), cpu);
    for (const [from, to] of plan.boundary) {
      towards.set(plan.gpus.indexOf(from), centres[cardOf.get(to) ?? place]!);
    }
    const turn = alone ? 0 : bestTurn(count, centre, towards);
    plan.gpus.forEach((gpu, number) => {
      const angle = -Math.PI / 2 + ((number + turn) * 2 * Math.PI) / count;
      at.set(gpu, { x: centre.x + radius * Math.cos(angle), y: centre.y + radius * Math.sin(angle) });
    });
    return { name: plan.name, centre, radius, size, gpus: plan.gpus };
  });
  return { width, height, rings, cpu, at };
}

/** By how many places a ring is turned so that GPUs with links look to where these lead. */
function bestTurn(count: number, centre: Point, towards: ReadonlyMap<number, Point>): number {
  let [best, least] = [0, Infinity];
  for (let turn = 0; turn < count; turn++) {
    let sum = 0;
    for (const [number, point] of towards) {
      const angle = -Math.PI / 2 + ((number + turn) * 2 * Math.PI) / count;
      sum += (1 - Math.cos(angle - Math.atan2(point.y - centre.y, point.x - centre.x))) ** 2;
    }
    if (sum < least - 1e-9) [best, least] = [turn, sum];
  }
  return best;
}

/** A point of a link, `part` of the way (0 to 1). Links of a ring follow it; `lane` is how far outside of it. */
export function onLink(from: Point, to: Point, part: number, ring: Ring | null, lane: number): Point {
  if (!ring) return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
  const start = Math.atan2(from.y - ring.centre.y, from.x - ring.centre.x);
  let turn = Math.atan2(to.y - ring.centre.y, to.x - ring.centre.x) - start;
  if (turn > Math.PI) turn -= 2 * Math.PI;
  if (turn < -Math.PI) turn += 2 * Math.PI;
  if (ring.gpus.length === 2) turn = lane > 0 ? Math.abs(turn) : -Math.abs(turn);
  const angle = start + turn * part;
  const radius = ring.radius + lane;
  return { x: ring.centre.x + radius * Math.cos(angle), y: ring.centre.y + radius * Math.sin(angle) };
}
