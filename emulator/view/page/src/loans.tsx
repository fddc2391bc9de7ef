// The page of loans: who had which GPU when, and what GPUs and loans have used.
import { useEffect, useRef } from "preact/hooks";
import * as f from "./fleet";
import { Fields, Happened, Header, type Key, Keys, Plot, Table, Tabs, TimeBar } from "./frame";
import * as l from "./loans-state";
import type { LentGpu, LentLoan } from "./messages";
import { plot } from "./plots";
import { alone, precise } from "./ticks";

const OWN: readonly Key[] = [
  [["]"], "the next GPU", () => l.otherGpu(1)],
  [["["], "the GPU before", () => l.otherGpu(-1)],
  [["g"], "lanes of GPUs, or of guests", () => (l.byGuest.value = !l.byGuest.value)],
];

const seconds = (value: number | null) => alone("seconds", value);
const joules = (value: number | null) => alone("joules", value);
const memory = (value: number | null) => alone("bytes", value);
const unit = (at: number) => precise("seconds", at, f.end.value);
const count = (value: number) => f.fixed(value, 0);

export function LoansPage() {
  const about = l.about.value!;
  const chart = about.charts[l.figure.value];
  return (
    <div class="app fleet">
      <Header title="GPU usage and loans" facts={about.what} live={about.followed} />
      <main>
        <Happened unit={unit} />
        <Stage />
        <Details />
      </main>
      <TimeBar unit={unit} controls={chart && (
        <select aria-label="Curves of" value={l.figure.value} onChange={(event) => (l.figure.value = Number(event.currentTarget.value))}>
          {about.charts.map((each, at) => <option key={each.title} value={at}>{each.title}</option>)}
        </select>
      )}>
        {chart && <Plot of={chart} low />}
      </TimeBar>
      <Keys own={OWN} />
    </div>
  );
}

const VIEWS = [["lanes", "Loans"], ["use", "Use"], ["figures", "Figures"]] as const;

function Stage() {
  const about = l.about.value!;
  const shown = l.view.value;
  const lent = l.lent.value.size;
  return (
    <section class="panel stage" aria-label="Loans and use">
      <div class="head">
        <Tabs label="Shown of loans" id="stage" all={VIEWS} chosen={shown} choose={(name) => (l.view.value = name)} />
        <span class="space" />
        {shown === "lanes" && (
          <select aria-label="Lanes of" value={l.byGuest.value ? "guests" : "GPUs"} onChange={(event) => (l.byGuest.value = event.currentTarget.value === "guests")}>
            <option>GPUs</option>
            <option>guests</option>
          </select>
        )}
      </div>
      {l.notice.value && <p class="notice" role="alert">{l.notice.value}</p>}
      <div class="body" id="stage" role="tabpanel" tabIndex={0} aria-labelledby={`tab-${shown}`}>
        {shown === "lanes" && (about.loans.length ? <Lanes /> : <p class="detail muted">No GPU was lent yet.</p>)}
        {shown === "use" && <div class="plots">{about.charts.map((chart) => <Plot key={chart.title} of={chart} />)}</div>}
        {shown === "figures" && <Figures />}
      </div>
      <div class="legend" role="group" aria-label="GPUs by state">
        <span class="key">lent <b data-count="lent">{lent}</b></span>
        <span class="key">not lent <b data-count="free">{l.gpus.value.length - lent}</b></span>
        {about.said.map((text) => <span class="key" key={text}>{text}</span>)}
      </div>
    </section>
  );
}

function Lanes() {
  const box = useRef<HTMLElement>(null);
  const { chart, of } = l.lanes.value;
  useEffect(() => plot(box.current!, chart, {
    time: f.time,
    choose: (bar) => of.has(bar) && l.chooseLoan(of.get(bar)!),
  }), [chart]);
  return <div class="plots wide"><figure class="plot" ref={box} /></div>;
}

const USED = ["energy", "busy", "most memory", "launches"];
const cells = (of: LentGpu | LentLoan) => [joules(of.energy_j), seconds(of.busy_s), memory(of.memory), count(of.launches)];

function Figures() {
  const { gpus, loans } = l.about.value!;
  return (
    <div class="detail">
      <h3>GPUs</h3>
      <Table name="GPUs" heads={["GPU", "loans", "seen", "lent", ...USED]}
        rows={gpus.map((each) => [each.gpu, count(each.loans), seconds(each.seen_s), seconds(each.lent_s), ...cells(each)])} />
      <h3>Loans</h3>
      <Table name="Loans" heads={["loan", "guest", "kind", "size", "GPU", "began", "ended", ...USED]} left={3}
        rows={loans.toReversed().map((each) => [
          each.loan, each.node, each.kind, memory(each.size), each.gpu, seconds(each.began_s), seconds(each.ended_s), ...cells(each),
        ])} />
    </div>
  );
}

const TABS = [["loan", "Loan"], ["gpu", "GPU"]] as const;

function Details() {
  const shown = l.tab.value;
  return (
    <section class="panel details" aria-label="Details">
      <div class="head">
        <Tabs label="Details of" id="detail" all={TABS} chosen={shown} choose={(name) => (l.tab.value = name)} />
        <span class="space" />
        {shown === "gpu" && (
          <select aria-label="GPU" value={l.gpu.value} onChange={(event) => l.chooseGpu(event.currentTarget.value)}>
            {l.gpus.value.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        )}
      </div>
      <div class="body" id="detail" role="tabpanel" tabIndex={0} aria-labelledby={`tab-${shown}`}>
        <div class="detail">{shown === "loan" ? <Loan /> : <Gpu />}</div>
      </div>
    </section>
  );
}

const usedFields = (of: LentGpu | LentLoan) => cells(of).map((cell, at) => [USED[at]!, cell] as const);

function Loan() {
  const loan = l.loan.value;
  if (!loan) return <p class="muted">Press a loan: its bar, or its line in the list.</p>;
  const moment = (at: number | null) => at === null ? "it goes on" : <button class="link" onClick={() => f.go(at)}>{unit(at)}</button>;
  return (
    <>
      <p class="title">Loan {loan.loan}</p>
      <Fields of={[
        ["guest", loan.node],
        ["kind", loan.kind],
        ["size", memory(loan.size)],
        ["GPU", <button class="link" onClick={() => l.chooseGpu(loan.gpu)}>{loan.gpu}</button>],
        ["could have had", loan.among.join(", ") || "-"],
        ["began", moment(loan.began_s)],
        ["ended", moment(loan.ended_s)],
        ["lent for", loan.ended_s === null ? null : seconds(loan.ended_s - loan.began_s)],
        ["why it went back", loan.reason || null],
        ["fails", loan.error || null],
        ...usedFields(loan),
      ]} />
    </>
  );
}

function Gpu() {
  const used = l.used(l.gpu.value);
  return (
    <>
      <p class="title">{l.gpu.value}</p>
      <Fields of={used ? [["loans", count(used.loans)], ["seen", seconds(used.seen_s)], ["lent", seconds(used.lent_s)], ...usedFields(used)] : [["samples", "none"]]} />
      <table class="gpus" aria-label="GPUs at this moment">
        <thead><tr><th scope="col">GPU</th><th scope="col">guest</th><th scope="col">loan</th></tr></thead>
        <tbody>
          {l.gpus.value.map((name) => {
            const loan = l.lent.value.get(name);
            return (
              <tr key={name} class={name === l.gpu.value ? "chosen" : ""}>
                <th scope="row"><button class="link" onClick={() => l.chooseGpu(name)}>{name}</button></th>
                <td>{loan?.node ?? "-"}</td>
                <td>{loan ? <button class="link" onClick={() => l.chooseLoan(loan)}>{loan.loan}</button> : "-"}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}
