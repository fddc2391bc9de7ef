// The page.
import { useState } from "preact/hooks";
import { HelpButton, ThemeButton } from "./buttons";
import { Controls } from "./controls";
import { Details } from "./detail";
import { Dialog } from "./dialog";
import { Elsewhere, Help, useKeys } from "./keys";
import { List } from "./list";
import { Legend, Rings } from "./rings";
import * as s from "./state";

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
            <span class="muted">
              {s.source.value.windows && `${s.places.value.count.toLocaleString("en")} of `}
              {s.lastRow.value.toLocaleString("en")}
            </span>
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
      <Elsewhere />
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
      <ThemeButton />
      {s.source.value.alive && (
        <button onClick={() => void s.askElsewhere()} title="This moment in other tools (o)">Open in …</button>
      )}
      <HelpButton press={() => (s.helping.value = true)} />
    </header>
  );
}

/** Live, or how the run ended; of one that failed what was wrong, with ways to it. */
function Outcome() {
  const about = s.about.value!;
  const [open, setOpen] = useState(false);
  if (about.live) return <span class="pill live">live</span>;
  if (!about.complete) return <span class="pill bad">not complete</span>;
  if (!about.verdict) return null;
  if (!about.failed.length && !about.failures.length) {
    return <span class={`pill ${about.verdict === "pass" ? "good" : "bad"}`}>{about.verdict}</span>;
  }
  const found = new Set(about.failures.map((failure) => failure.text));
  return (
    <>
      <button class="pill bad" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {about.verdict} …
      </button>
      <Dialog name="What was wrong" open={open} close={() => setOpen(false)}>
        <ul class="wrong">
          {about.failures.map((failure, place) => (
            <li key={place}>
              <button disabled={failure.row === null} onClick={() => {
                setOpen(false);
                if (failure.row) void s.goRow(failure.row);
              }}>
                {failure.at !== null && <b>{failure.at.toLocaleString("en")} </b>}
                {failure.place} {failure.text}
              </button>
            </li>
          ))}
          {about.failed.filter((text) => !found.has(text)).map((text) => <li key={text}>{text}</li>)}
        </ul>
      </Dialog>
    </>
  );
}
