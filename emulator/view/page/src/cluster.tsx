// The page of a cluster under one scheduler, by one policy or several.
import { STATES } from "./cluster-data";
import { ClusterMap, Counts, Square } from "./cluster-map";
import * as c from "./cluster-state";
import * as f from "./fleet";
import { Fields, Happened, Header, type Key, Keys, Plot, Table, Tabs, TimeBar } from "./frame";

const OWN: readonly Key[] = [
  [["]"], "the next server", () => c.chooseServer(c.server.value + 1)],
  [["["], "the server before", () => c.chooseServer(c.server.value - 1)],
  [["p"], "the next policy", () => c.otherPolicy(1)],
  [["P"], "the policy before", () => c.otherPolicy(-1)],
];

export function ClusterPage() {
  const { about } = c.cluster.value!;
  return (
    <div class="app fleet">
      <Header title={about.title} facts={about.what}>
        <select aria-label="Policy" value={c.policy.value} onChange={(event) => (c.policy.value = Number(event.currentTarget.value))}>
          {about.runs.map((run, at) => <option key={at} value={at}>{run.policy}</option>)}
        </select>
      </Header>
      <main>
        <Happened unit={c.unit} />
        <Stage />
        <Details />
      </main>
      <TimeBar unit={c.unit} controls={<Figure />}>
        <Plot of={about.charts[c.figure.value]!} low />
      </TimeBar>
      <Keys own={OWN} />
    </div>
  );
}

const VIEWS = [["map", "Servers"], ["curves", "Curves"], ["figures", "Figures"]] as const;

function Stage() {
  const { about } = c.cluster.value!;
  const shown = c.view.value;
  return (
    <section class="panel stage" aria-label="Cluster">
      <div class="head">
        <Tabs label="Shown of the cluster" id="stage" all={VIEWS} chosen={shown} choose={(name) => (c.view.value = name)} />
      </div>
      <div class="body" id="stage" role="tabpanel" tabIndex={shown === "map" ? undefined : 0} aria-labelledby={`tab-${shown}`}>
        {shown === "map" && <><ClusterMap /><Counts /></>}
        {shown === "curves" && (
          <div class="plots">
            {about.charts.map((chart) => <Plot key={chart.title} of={chart} />)}
            {about.waits && <Plot of={about.waits} still />}
          </div>
        )}
        {shown === "figures" && (
          <div class="detail">
            {about.tables.map((table) => (
              <section key={table.name}><h3>{table.name}</h3><Table {...table} /></section>
            ))}
            {about.said.map((text) => <p key={text}>{text}</p>)}
          </div>
        )}
      </div>
    </section>
  );
}

function Figure() {
  const { charts } = c.cluster.value!.about;
  return (
    <select aria-label="Curves of" value={c.figure.value} onChange={(event) => (c.figure.value = Number(event.currentTarget.value))}>
      {charts.map((chart, at) => <option key={chart.title} value={at}>{chart.title}</option>)}
    </select>
  );
}

const TABS = [["server", "Server"], ["task", "Task"]] as const;

function Details() {
  const shown = c.tab.value;
  const { about } = c.cluster.value!;
  return (
    <section class="panel details" aria-label="Details">
      <div class="head">
        <Tabs label="Details of" id="detail" all={TABS} chosen={shown} choose={(name) => (c.tab.value = name)} />
        <span class="space" />
        {shown === "server" && (
          <select aria-label="Server" value={c.server.value} onChange={(event) => c.chooseServer(Number(event.currentTarget.value))}>
            {about.servers.map((server, at) => <option key={at} value={at}>{server.name}</option>)}
          </select>
        )}
      </div>
      <div class="body" id="detail" role="tabpanel" tabIndex={0} aria-labelledby={`tab-${shown}`}>
        <div class="detail">{shown === "server" ? <Server /> : <Task />}</div>
      </div>
    </section>
  );
}

const named = (count: number, name: string) => `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;

function Server() {
  const { about, first } = c.cluster.value!;
  const row = c.server.value;
  const server = about.servers[row];
  if (!server) return <p class="muted">There are no servers.</p>;
  const on = c.cluster.value!.on(c.run.value, row, f.now.value);
  const { gpus } = c.moment.value;
  const { run } = c.run.value;
  const names = server.types.map(() => [] as number[]);
  for (const each of on) for (const gpu of each.gpus) names[gpu]!.push(each.line);
  const kinds = about.types.map((kind, at) => [kind, server.types.filter((type) => type === at).length] as const);
  const without = on.filter((each) => !each.gpus.length);
  return (
    <>
      <p class="title">{server.name}</p>
      <Fields of={[
        ["GPUs", kinds.filter(([, count]) => count).map(([kind, count]) => `${count} ${kind}`).join(", ")],
        ["runs", named(on.length, "task")],
        ["without a GPU", without.length ? <>{without.map(({ line }) => <TaskButton key={line} line={line} />)}</> : null],
      ]} />
      <table class="gpus" aria-label="GPUs of the server">
        <thead><tr><th scope="col">GPU</th><th scope="col">type</th><th scope="col">state</th><th scope="col">tasks</th></tr></thead>
        <tbody>
          {server.types.map((type, gpu) => {
            const state = STATES[gpus[first[row]! + gpu]!]!;
            return (
              <tr key={gpu}>
                <th scope="row">a.{gpu}</th>
                <td>{about.types[type]}</td>
                <td><Square of={state} /> <span data-state>{state}</span></td>
                <td>{names[gpu]!.map((line) => <TaskButton key={line} line={line} share={about.tasks.share[run.task[line]!]!} />)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

function TaskButton({ line, share }: { line: number; share?: number }) {
  const { about } = c.cluster.value!;
  const part = share !== undefined && share < about.whole ? ` ${f.digits((100 * share) / about.whole, 1)} %` : "";
  return <button class="link" onClick={() => c.chooseTask(line)}>{about.tasks.name[c.run.value.run.task[line]!]}{part}</button>;
}

function Task() {
  const { about } = c.cluster.value!;
  const line = c.task.value;
  const { run } = c.run.value;
  const task = run.task[line];
  if (task === undefined) return <p class="muted">Press a task: in the list, or beside the GPU that it has.</p>;
  const { tasks } = about;
  const [came, began, ended] = [run.came[line]!, run.began[line]!, run.ended[line]!];
  const share = tasks.share[task]!;
  const lost = run.lost.includes(line);
  const tries = about.filled ? [] : [...run.task.keys()].filter((each) => run.task[each] === task);
  const moments = (at: number | null) => at === null ? "-" : <button class="link" onClick={() => f.go(at)}>{c.unit(at)}</button>;
  const seconds = (at: number) => `${f.digits(at)} s`;
  return (
    <>
      <p class="title">{tasks.name[task]}</p>
      <Fields of={[
        ["needs", tasks.gpus[task] ? `${named(tasks.gpus[task]!, "GPU")}${share < about.whole ? `, ${f.digits((100 * share) / about.whole, 1)} % of each` : ""}` : "no GPU"],
        ["processors", f.digits(tasks.cpus[task]! / 1000, 3)],
        ["memory", tasks.memory[task] ? `${f.digits(tasks.memory[task]!)} MiB` : null],
        ["try", tries.length > 1 ? <>{tries.map((each) => each === line
          ? <b key={each}>{run.number[each]} </b>
          : <button key={each} class="link" onClick={() => c.chooseTask(each)}>{run.number[each]}</button>)}</> : null],
        [about.filled ? "asked for at" : run.number[line]! > 1 ? "waited again from" : "came", moments(came)],
        ["began", moments(began)],
        [lost ? "lost" : "ended", about.filled ? null : moments(ended)],
        ["waited", about.filled ? null : began === null ? "to the end" : seconds(began - came)],
        ["ran for", began === null || ended === null ? null : seconds(ended - began)],
      ]} />
      {run.where[line]!.length > 0 && (
        <>
          <h3>Where</h3>
          <ul class="plain">
            {run.where[line]!.map(([server, ...gpus], at) => (
              <li key={at}>
                <button class="link" onClick={() => c.chooseServer(server!)}>{about.servers[server!]!.name}</button> {gpus.map((gpu) => `a.${gpu}`).join(", ")}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
