// What is known of the row, the GPU or the card that is chosen.
import type { ComponentChildren } from "preact";
import { turnOf, words } from "./rings";
import * as s from "./state";

const TABS: readonly [s.Tab, string][] = [
  ["message", "Message"],
  ["gpu", "GPU"],
  ["card", "Card"],
];

export function Details() {
  const tab = s.tab.value;
  return (
    <section class="panel details" aria-label="Details">
      <div class="head">
        <div class="tabs" role="tablist" aria-label="Details of"
          onKeyDown={(event) => {
            const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
            if (!by) return;
            event.stopPropagation();
            const place = (TABS.findIndex(([name]) => name === tab) + by + TABS.length) % TABS.length;
            s.tab.value = TABS[place]![0];
            (event.currentTarget.children[place] as HTMLElement).focus();
          }}>
          {TABS.map(([name, text]) => (
            <button key={name} role="tab" id={`tab-${name}`} aria-selected={tab === name} aria-controls="detail"
              tabIndex={tab === name ? 0 : -1} onClick={() => (s.tab.value = name)}>
              {text}
            </button>
          ))}
        </div>
        <span class="space" />
        {tab === "gpu" && <Choice label="GPU" value={s.gpu.value} all={s.gpus.value} choose={s.chooseGpu} />}
        {tab === "card" && (
          <Choice label="Card" value={s.cardName.value} all={s.about.value!.cards.map((card) => card.name)}
            choose={s.chooseCard} />
        )}
      </div>
      <div class="body" id="detail" role="tabpanel" tabIndex={0} aria-labelledby={`tab-${tab}`}>
        {s.detailNotice.value && <p class="notice" role="alert">{s.detailNotice.value}</p>}
        <div class="detail">{tab === "message" ? <Message /> : tab === "gpu" ? <GpuState /> : <CardState />}</div>
      </div>
    </section>
  );
}

function Choice(props: { label: string; value: string; all: string[]; choose: (name: string) => void }) {
  return (
    <select aria-label={props.label} value={props.value} onChange={(event) => props.choose(event.currentTarget.value)}>
      {props.all.map((name) => (
        <option key={name} value={name}>{name}</option>
      ))}
    </select>
  );
}

/** A value as text: what is inside of it in lines of its own. */
export function text(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number" || typeof value === "bigint") return value.toLocaleString("en");
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  if (Array.isArray(value) && value.every((one) => typeof one !== "object" || one === null)) return value.join(", ") || "–";
  return JSON.stringify(value, null, 1).replace(/[{}"]/g, "").replace(/,\n/g, "\n").trim();
}

export function Fields({ of }: { of: Record<string, unknown> }) {
  return (
    <table class="fields">
      <tbody>
        {Object.entries(of).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td><Value of={value} name={name} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function Value({ of, name }: { of: unknown; name: string }) {
  if (isObject(of)) return Object.keys(of).length ? <Fields of={of} /> : <>–</>;
  if (Array.isArray(of) && of.length && of.every(isObject)) return <Records of={of} name={name} />;
  return <>{text(of)}</>;
}

/** Records of the same kind: a row for each. */
function Records({ of, name }: { of: Record<string, unknown>[]; name: string }) {
  const columns = [...new Set(of.flatMap((record) => Object.keys(record)))];
  return (
    <div class="records" role="region" aria-label={name} tabIndex={0}>
      <table>
        <thead>
          <tr>{columns.map((column) => <th key={column} scope="col">{column}</th>)}</tr>
        </thead>
        <tbody>
          {of.map((record, place) => (
            <tr key={place}>{columns.map((column) => <td key={column}>{text(record[column])}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Message() {
  const row = s.row.value;
  if (!row) return <p class="muted">Choose a line of the list, or a frame on its way.</p>;
  const hops = s.hops.value?.number === row.number ? s.hops.value.hops : null;
  return (
    <>
      <div>
        <p class="title">{row.kind}</p>
        <p class="muted">
          row {row.number.toLocaleString("en")} · cycle {row.cycle.toLocaleString("en")}
          {row.gpu && ` · ${row.gpu}`}
          {row.way !== "•" && ` · ${row.way}`}
          {row.bad && " · came damaged"}
        </p>
      </div>
      <Fields of={row.fields} />
      {hops && hops.length > 0 && (
        <Part title={`Links that it passed (${hops.length})`}>
          <table class="fields hops">
            <tbody>
              {hops.map((hop, place) => (
                <tr key={place}>
                  <th scope="row">{hop.cycle.toLocaleString("en")}</th>
                  <td>
                    {hop.gpu} → {hop.to}{" "}
                    {hop.changed.map((change) => (
                      <div key={change.name}>
                        {change.name} <span class="changed">{change.before} → {change.after}</span>
                      </div>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Part>
      )}
      {row.bytes && (
        <Part title={`Bytes (${row.bytes.length / 2})`}>
          <pre class="bytes">{row.bytes.replace(/(.{16})/g, "$1 ").trim()}</pre>
        </Part>
      )}
    </>
  );
}

function Unplayable() {
  const why = s.about.value?.unplayable;
  return why ? <p class="muted">{why}</p> : null;
}

function GpuState() {
  const name = s.gpu.value;
  const picture = s.picture.value?.gpus.find((one) => one.gpu === name);
  const found = s.state.value?.gpu === name ? s.state.value : null;
  const said = picture ? words(picture) : [];
  const registers = found && Object.fromEntries(
    Object.entries(found.registers).map(([register, value]) => {
      const bits = found.words[register];
      return [register, bits ? `${text(value)} (${bits.join(", ") || "none"})` : value];
    }),
  );
  return (
    <>
      <div>
        <p class="title">GPU {name}</p>
        <p class="muted">{said.join(" · ") || "takes part, without a role"}</p>
        {picture && turnOf(picture) && <p class="muted">{turnOf(picture)}</p>}
        {picture?.pages != null && <p class="muted">{picture.pages.toLocaleString("en")} pages of memory are held</p>}
      </div>
      <Unplayable />
      {registers && <Part title="Registers"><Fields of={registers} /></Part>}
      {found && <Part title="Memory of the firmware">
        {typeof found.firmware === "object" && found.firmware ? (
          <Fields of={found.firmware as Record<string, unknown>} />
        ) : (
          <p class="muted">{found.firmware === null ? "none" : text(found.firmware)}</p>
        )}
      </Part>}
    </>
  );
}

function CardState() {
  const name = s.cardName.value;
  const picture = s.picture.value?.cards.find((one) => one.card === name);
  const found = s.card.value?.card === name ? s.card.value : null;
  return (
    <>
      <p class="title">Card {name}</p>
      {picture && (
        <Part title="As its events tell">
          <Fields of={{ count: picture.count, members: picture.members, "counted in cycle": picture.counted,
            entry: picture.entry, epoch: picture.epoch, "units of work": picture.share }} />
        </Part>
      )}
      <Unplayable />
      {found && <Part title={s.about.value?.source === "server" ? "What it says now" : "What the CPU knows"}><Fields of={found.knows} /></Part>}
    </>
  );
}
