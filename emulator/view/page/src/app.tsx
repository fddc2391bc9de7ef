// The page.
import { Controls } from "./controls";
import { Details } from "./detail";
import { Help, useKeys } from "./keys";
import { List } from "./list";
import { Legend, Rings } from "./rings";
import * as s from "./state";
import { nextTheme, theme } from "./theme";

export function App() {
  useKeys();
  if (!s.about.value) return s.notice.value ? <p class="notice" role="alert">{s.notice.value}</p> : null;
  return (
    <div class="app">
      <Header />
      <main>
        <section class="panel messages" aria-label="Messages and events">
          <div class="head">
            <h2>Messages and events</h2>
            <span class="muted">{s.lastRow.value.toLocaleString("en")}</span>
          </div>
          {s.notice.value && (
            <p class="notice" role="alert">
              {s.notice.value}
            </p>
          )}
          <List />
        </section>
        <section class="panel stage" aria-label="Server">
          <Rings />
          <Legend />
        </section>
        <Details />
      </main>
      <Controls />
      <Help />
    </div>
  );
}

function Header() {
  const about = s.about.value!;
  const gpus = s.gpus.value.length;
  const cards = about.cards.length;
  return (
    <header>
      <h1>{about.title || about.file}</h1>
      <Outcome />
      <span class="facts">
        {about.file} · {cards} {cards === 1 ? "card" : "cards"} · {gpus} GPUs
        {about.cut_off && " · cut off: the file is shorter than it was"}
      </span>
      <span class="space" />
      <button onClick={nextTheme} aria-label={`Colours: ${theme.value}`} title="Colours (t)">
        {theme.value === "dark" ? "Dark" : theme.value === "light" ? "Light" : "Auto"}
      </button>
      <button class="icon" aria-label="Keys (?)" title="Keys (?)" onClick={() => (s.helping.value = true)}>
        ?
      </button>
    </header>
  );
}

/** Live, or how the run ended; of one that failed each failure, as a way to it. */
function Outcome() {
  const about = s.about.value!;
  if (about.live) return <span class="pill live">live</span>;
  const failures = about.failures.filter((failure) => failure.row !== null);
  if (failures.length) {
    return (
      <select class="pill bad" aria-label="Failures" value="" onChange={(event) => {
        void s.goRow(Number(event.currentTarget.value));
        event.currentTarget.value = "";
      }}>
        <option value="">{failures.length === 1 ? "1 failure" : `${failures.length} failures`}</option>
        {failures.map((failure, place) => (
          <option key={place} value={failure.row!}>
            {failure.at !== null ? `${failure.at.toLocaleString("en")}: ` : ""}{failure.text}
          </option>
        ))}
      </select>
    );
  }
  if (!about.complete) return <span class="pill bad">not complete</span>;
  if (!about.verdict) return null;
  const good = about.verdict === "pass";
  return <span class={`pill ${good ? "good" : "bad"}`} title={about.failed.join("\n")}>{about.verdict}</span>;
}
