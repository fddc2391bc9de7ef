// Buttons of every page.
import { nextTheme, theme } from "./theme";

const ICONS = {
  start: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8z",
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M5 3v10l7-5z",
  end: "M11 3h2v10h-2zM3 3v10l7-5z",
  closer: "M7 2a5 5 0 1 0 3 9l3.3 3.3 1-1L11 10a5 5 0 0 0-4-8zm0 1.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM6.3 5v1.3H5v1.4h1.3V9h1.4V7.7H9V6.3H7.7V5z",
  farther: "M7 2a5 5 0 1 0 3 9l3.3 3.3 1-1L11 10a5 5 0 0 0-4-8zm0 1.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM5 6.3v1.4h4V6.3z",
};

export function Icon({ of }: { of: keyof typeof ICONS }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path fill-rule="evenodd" d={ICONS[of]} />
    </svg>
  );
}

interface ButtonProps {
  icon: keyof typeof ICONS;
  name: string;
  press: () => void;
  main?: boolean;
  disabled?: boolean;
}

export function Button({ icon, name, press, main, disabled }: ButtonProps) {
  return (
    <button class={`icon ${main ? "main" : ""}`} aria-label={name} title={name} onClick={press} disabled={disabled}>
      <Icon of={icon} />
    </button>
  );
}

const THEMES = { system: "Auto", light: "Light", dark: "Dark" };

export function ThemeButton() {
  return (
    <button onClick={nextTheme} aria-label={`${THEMES[theme.value]} colours`} title="Colours (t)">
      {THEMES[theme.value]}
    </button>
  );
}

export function HelpButton({ press }: { press: () => void }) {
  return (
    <button class="icon" aria-label="Keys (?)" title="Keys (?)" onClick={press}>
      ?
    </button>
  );
}
