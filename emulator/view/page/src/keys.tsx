// The keyboard: the keys of `ringhil step`, and the page that lists them.
import { useEffect } from "preact/hooks";
import { zoom } from "./chart";
import { searchBox } from "./controls";
import { Dialog } from "./dialog";
import * as s from "./state";
import { nextTheme } from "./theme";

const sameKind = (back: boolean) => {
  if (s.row.value && s.source.value.alive) void s.search(back, `kind == ${s.row.value.kind}`);
};

const KEYS: readonly [keys: string[], text: string, does: () => void][] = [
  [[" "], "play, pause", () => (s.playing.value ? s.pause() : s.play())],
  [["ArrowRight", "l", "ArrowDown", "j"], "the next message or event", () => s.step(1)],
  [["ArrowLeft", "h", "ArrowUp", "k"], "the one before", () => s.step(-1)],
  [["PageDown"], "twenty further", () => s.step(20)],
  [["PageUp"], "twenty back", () => s.step(-20)],
  [["Home"], "to the start", s.toStart],
  [["End", "G"], "to the end; of a run that goes on: follow it", s.toEnd],
  [["."], "the next of this kind", () => sameKind(false)],
  [[","], "the one of this kind before", () => sameKind(true)],
  [["/"], "look for a condition", () => searchBox.focus()],
  [["n"], "the next one found", () => void s.search(false)],
  [["N"], "the one found before", () => void s.search(true)],
  [["]"], "state of the next GPU", () => s.otherGpu(1)],
  [["["], "state of the GPU before", () => s.otherGpu(-1)],
  [["f"], "faster", () => s.faster(1)],
  [["s"], "slower", () => s.faster(-1)],
  [["o"], "this moment in other tools", () => void s.askElsewhere()],
  [["d"], "of a run that failed: since when was it lost?", () => void s.askDoom("begin")],
  [["+", "="], "the time line closer", () => zoom(0.5)],
  [["-"], "the time line farther", () => zoom(2)],
  [["t"], "dark, light, or as the system has it", nextTheme],
  [["?"], "these keys", () => (s.helping.value = true)],
];

const NAMES: Record<string, string> = {
  " ": "space", ArrowRight: "→", ArrowLeft: "←", ArrowDown: "↓", ArrowUp: "↑", PageDown: "PgDn", PageUp: "PgUp",
};

/** Keys mean this wherever no control takes them itself. */
function pressed(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const at = event.target as HTMLElement;
  if (event.key === "Escape") {
    s.notice.value = "";
    if (at.matches("input")) at.blur();
    return;
  }
  if (at.matches("input, select, textarea")) return;
  if (at.matches("button, [role=tab]") && [" ", "Enter"].includes(event.key)) return;
  if (at.matches("[role=tabpanel]") && /^(Arrow|Page|Home|End| )/.test(event.key)) return; // it scrolls
  const found = KEYS.find(([keys]) => keys.includes(event.key));
  if (!found) return;
  event.preventDefault();
  found[2]();
}

export function useKeys(): void {
  useEffect(() => {
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
}

/** What to type, or to press, for the chosen row in other tools. */
export function Elsewhere() {
  const found = s.elsewhere.value;
  return (
    <Dialog name="This moment in other tools" open={found !== null} close={() => (s.elsewhere.value = null)}>
      {found?.tools.map(({ tool, command }) => (
        <section key={tool} class="elsewhere">
          <h3>{tool}</h3>
          {command.startsWith("vscode:") ? <a href={command}>open in VS Code</a> : <code>{command}</code>}
        </section>
      ))}
    </Dialog>
  );
}

export function Help() {
  return (
    <Dialog name="Keys" open={s.helping.value} close={() => (s.helping.value = false)}>
      <table class="fields">
        <tbody>
          {KEYS.map(([keys, text]) => (
            <tr key={text}>
              <th scope="row">
                {keys.map((key) => (
                  <span key={key}><kbd>{NAMES[key] ?? key}</kbd> </span>
                ))}
              </th>
              <td class="plain">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="muted">In the list arrows move, too. On the time line a press goes there, and a drag looks closer.</p>
    </Dialog>
  );
}
