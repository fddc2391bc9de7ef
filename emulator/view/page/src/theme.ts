// Dark, light, or as the system has it.
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const NAME = "ringhil-theme";
export const theme = signal<Theme>("system");

/** What was chosen last, where the browser keeps it. */
export function readTheme(): void {
  try {
    const kept = localStorage.getItem(NAME);
    if (kept === "light" || kept === "dark") theme.value = kept;
  } catch {
    // A file that was opened from a mail keeps nothing.
  }
  theme.subscribe((chosen) => {
    document.documentElement.dataset.theme = chosen;
    try {
      localStorage.setItem(NAME, chosen);
    } catch {
      // As above.
    }
  });
}

export function nextTheme(): void {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
}
