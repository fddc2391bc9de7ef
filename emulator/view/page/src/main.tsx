// Opens the page.
import { render } from "preact";
import { App } from "./app";
import { runClock } from "./clock";
import { opened } from "./source";
import { notice, open } from "./state";
import "./style.css";
import { readTheme } from "./theme";

readTheme();
render(<App />, document.getElementById("page")!);
runClock();
open(opened()).catch((error: Error) => (notice.value = error.message));
