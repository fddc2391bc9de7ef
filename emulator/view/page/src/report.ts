// A report: draws the charts that stand in its file as JSON, and has the keys and colours of the page.
import "./report.css";
import type { Chart } from "./messages";
import { plot } from "./plots";
import { nextTheme, readTheme, theme } from "./theme";

readTheme();
const charts = JSON.parse(document.getElementById("charts")!.textContent!) as Chart[];
for (const box of document.querySelectorAll<HTMLElement>("[data-chart]")) {
  const draw = () => plot(box, charts[Number(box.dataset.chart)]!);
  const folded = box.closest("details:not([open])");
  if (folded) folded.addEventListener("toggle", draw, { once: true }); // a closed one has no size
  else draw();
}
document.getElementById("unscripted")?.remove();
const button = document.getElementById("theme")!;
button.hidden = false;
theme.subscribe((chosen) => (button.textContent = { system: "auto", light: "light", dark: "dark" }[chosen]));
button.addEventListener("click", nextTheme);
document.addEventListener("keydown", (event) => {
  const typed = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
  if (event.key === "t" && !typed && !event.ctrlKey && !event.metaKey && !event.altKey) nextTheme();
});
