// Since when a run was to fail: the share of its futures that fail so, as a curve of the time line.
import type uPlot from "uplot";
import type { TurnedThere, ViewDoomed } from "./messages";
import * as s from "./state";

type Turn = [name: string, turn: TurnedThere];

export function turns(found: ViewDoomed | null | undefined): Turn[] {
  const all: [string, TurnedThere | null][] = [["likely", found?.likely ?? null], ["certain", found?.certain ?? null]];
  return all.filter((one): one is Turn => one[1] !== null);
}

export function goTurn(turn: TurnedThere): void {
  s.pause();
  s.following.value = false;
  if (turn.row) void s.goRow(turn.row);
  else s.goCycle(turn.cycle);
}

/** Draws it on the time line: from none of the futures at its bottom to all of them at its top. */
export function drawDoom(plot: uPlot, colour: string): void {
  const found = s.doom.peek()?.found;
  if (!found) return;
  const { ctx: context, bbox: box } = plot;
  const ratio = devicePixelRatio || 1;
  const points = found.curve.map(({ cycle, failed, tries }): [number, number] => [
    plot.valToPos(cycle, "x", true),
    box.top + box.height * (1 - failed / tries),
  ]);
  context.save();
  context.beginPath();
  context.rect(box.left, box.top, box.width, box.height);
  context.clip();
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5 * ratio;
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  context.stroke();
  context.lineTo(points.at(-1)![0], box.top + box.height);
  context.lineTo(points[0]![0], box.top + box.height);
  context.globalAlpha = 0.16;
  context.fill();
  context.globalAlpha = 1;
  context.font = `600 ${11 * ratio}px system-ui`;
  turns(found).forEach(([name, { cycle }], line) => {
    const x = plot.valToPos(cycle, "x", true);
    context.fillRect(x - ratio, box.top, 2 * ratio, box.height);
    const right = x + context.measureText(name).width + 6 * ratio < box.left + box.width;
    context.textAlign = right ? "left" : "right";
    context.fillText(name, x + (right ? 5 : -5) * ratio, box.top + (12 + 13 * line) * ratio);
  });
  context.restore();
}

/** The turn whose line is where the mouse is. */
export function turnAt(plot: uPlot, x: number): TurnedThere | undefined {
  return turns(s.doom.peek()?.found).find(([, turn]) => Math.abs(plot.valToPos(turn.cycle, "x") - x) < 5)?.[1];
}

/** Asks for it, shows how far that is, and what was found. */
export function Doom() {
  const answer = s.doom.value;
  if (!answer || (!answer.found && !s.source.value.alive)) return null;
  if (answer.playing) {
    return (
      <div class="doom" role="status">
        <progress aria-label="Futures that were played" max={answer.total || 1} value={answer.done} />
        <span class="muted">{answer.done.toLocaleString("en")} of up to {answer.total.toLocaleString("en")} futures</span>
        <button onClick={() => void s.askDoom("stop")}>Stop</button>
      </div>
    );
  }
  const found = answer.found;
  if (!found) {
    return (
      <div class="doom">
        <button onClick={() => void s.askDoom("begin")} title="Plays futures of many moments (d)">Since when was it lost?</button>
        {answer.refused && <span class="muted" role="alert">{answer.refused}</span>}
      </div>
    );
  }
  return (
    <div class="doom" role="group" aria-label="Since when it was lost">
      <span class="key">
        <span class="swatch doomed" /> share of {found.futures} futures that fail so
      </span>
      {(["likely", "certain"] as const).map((name) => {
        const turn = found[name];
        if (!turn) return <span key={name}><b>{name}</b> not before it was found</span>;
        const when = turn.after === null ? "from the beginning on" : `from ${turn.cycle.toLocaleString("en")} on`;
        return (
          <button key={name} onClick={() => goTurn(turn)} title={turn.text}>
            <b>{name}</b> {when}{turn.text && <span class="muted"> {turn.text}</span>}
          </button>
        );
      })}
    </div>
  );
}
