// Light and dark, and the colours of data in each. They are those of Okabe and Ito ("Color Universal Design", 2008) in the dark, and on white
// paper their hues darkened, so that each has at least 3:1 against what it is drawn on and can be distinguished with any colour vision. The
// scale runs from blue to yellow with changing lightness, as viridis and cividis do, within the same bound; no step is grey, which means
// that nothing is known.

export const colourNames = ["blue", "orange", "green", "pink", "sky", "red", "yellow", "grey"] as const;
export type Colour = (typeof colourNames)[number];

export interface Theme {
  dark: boolean; ink: string; soft: string; line: string; paper: string; panel: string;
  colours: Record<Colour, string>;
  series: string[];  // the colours in the order in which they are given out
  scale: string[];   // from least to most
}

type Look = Omit<Theme, "series">;
const withSeries = (look: Look): Theme => ({ ...look, series: colourNames.map((name) => look.colours[name]) });

const light = withSeries({
  dark: false, ink: "#1b1f24", soft: "#5b6570", line: "#d8dde3", paper: "#ffffff", panel: "#f6f8fa",
  colours: { blue: "#15409a", orange: "#b98620", green: "#20816a", pink: "#5f1d4b", sky: "#338ecc", red: "#9a2404", yellow: "#816f11", grey: "#575757" },
  scale: ["#00224e", "#1d4a78", "#2a6a72", "#66772f", "#9a8500"],
});
const dark = withSeries({
  dark: true, ink: "#e6e9ed", soft: "#a3adb8", line: "#39414b", paper: "#14171b", panel: "#1d2127",
  colours: { blue: "#0077bb", orange: "#e69f00", green: "#009e73", pink: "#cc79a7", sky: "#56b4e9", red: "#d55e00", yellow: "#f0e442", grey: "#c4c4c4" },
  scale: ["#5f84c4", "#55a0b5", "#6fb487", "#b5cc52", "#fee838"],
});

// A colour of the scale for a share from 0 to 1.
export function onScale(t: Theme, share: number): string {
  const at = Math.max(0, Math.min(1, share)) * (t.scale.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, t.scale.length - 1);
  const part = (hex: string, i: number): number => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) => Math.round(part(t.scale[low], i) * (1 - at + low) + part(t.scale[high], i) * (at - low)));
  return `rgb(${mixed.join(",")})`;
}

// A colour for the i-th of `count` things in an order: one each of the series where that has enough, else of the scale.
export const ofOrder = (t: Theme, i: number, count: number): string => (count < t.series.length ? t.series[i] : onScale(t, count > 1 ? i / (count - 1) : 0));

// The better of black and white for text on a colour.
export function inkOn(colour: string): string {
  const rgb = colour.startsWith("#") ? [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)) : (colour.match(/\d+/g) ?? []).map(Number);
  return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] < 120 ? "#fff" : "#000";
}

const listeners = new Set<() => void>();
let chosen: "light" | "dark" | null = null;
let printing = false;
const system = matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  if (printing) return light;
  return (chosen ?? (system.matches ? "dark" : "light")) === "dark" ? dark : light;
}

function tell(): void {
  const t = theme(), root = document.documentElement;
  root.dataset.theme = t.dark ? "dark" : "light";
  for (const name of colourNames) root.style.setProperty(`--${name}`, t.colours[name]);
  root.style.setProperty("--scale", `linear-gradient(90deg, ${t.scale.join(", ")})`);
  for (const listener of listeners) listener();
}

export function onTheme(listener: () => void): void {
  listeners.add(listener);
}

// Forgets who listens: another scenario is shown.
export function forgetListeners(): void {
  listeners.clear();
}

export function switchTheme(): void {
  chosen = theme().dark ? "light" : "dark";
  try {
    localStorage.setItem("foreshard-theme", chosen);
  } catch {
    // Pages from files may have no storage: the choice then lasts as long as the page.
  }
  tell();
}

export function startTheme(): void {
  try {
    const kept = localStorage.getItem("foreshard-theme");
    if (kept === "light" || kept === "dark") chosen = kept;
  } catch {
    // As above.
  }
  system.addEventListener("change", tell);
  // Paper is light.
  addEventListener("beforeprint", () => { printing = true; tell(); });
  addEventListener("afterprint", () => { printing = false; tell(); });
  tell();
}

export const paperWidth = 760;  // pixels: of A4 between its margins, so that words keep their size there
export const isPrinting = (): boolean => printing;
