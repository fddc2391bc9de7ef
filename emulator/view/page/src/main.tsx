// Opens the page: of a recording, of a cluster, or of loans.
import { render } from "preact";
import { App } from "./app";
import { runClock } from "./clock";
import { ClusterPage } from "./cluster";
import { open as openCluster } from "./cluster-state";
import { LoansPage } from "./loans";
import { open as openLoans } from "./loans-state";
import type { ClusterAbout, LoansAbout } from "./messages";
import { opened } from "./source";
import { notice, open } from "./state";
import "./style.css";
import { readTheme } from "./theme";

readTheme();
const page = document.getElementById("page")!;

/** What stands in the page itself. */
function held<Held>(name: string): Held | null {
  const found = document.getElementById(`ringhil-${name}`);
  return found && (JSON.parse(found.textContent ?? "") as Held);
}

const cluster = held<ClusterAbout>("cluster");
const loans = held<LoansAbout>("loans");
if (cluster) {
  openCluster(cluster);
  render(<ClusterPage />, page);
} else if (loans) {
  openLoans(loans);
  render(<LoansPage />, page);
} else {
  render(<App />, page);
  runClock();
  open(opened()).catch((error: Error) => (notice.value = error.message));
}
