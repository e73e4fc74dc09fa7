// Light and dark. Colours of data are those of Okabe and Ito ("Color Universal Design", 2008), which people with any colour vision tell apart;
// scales are cividis (Nunez, Anderton, Renslow, PLOS ONE 2018).

export const colours = {
  orange: "#E69F00", sky: "#56B4E9", green: "#009E73", yellow: "#F0E442", blue: "#0072B2", red: "#D55E00", pink: "#CC79A7", grey: "#999999",
};

export const series = [colours.blue, colours.orange, colours.green, colours.pink, colours.sky, colours.red, colours.yellow, colours.grey];

const cividis = ["#00224E", "#123570", "#3B496C", "#575D6D", "#707173", "#8A8678", "#A59C74", "#C3B369", "#E1CC55", "#FEE838"];
export const scale = cividis;

export function onScale(share: number): string {
  const at = Math.max(0, Math.min(1, share)) * (cividis.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, cividis.length - 1);
  const part = (hex: string, i: number): number => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) => Math.round(part(cividis[low], i) * (1 - at + low) + part(cividis[high], i) * (at - low)));
  return `rgb(${mixed.join(",")})`;
}

export interface Theme { dark: boolean; ink: string; soft: string; line: string; paper: string; panel: string }

const light: Theme = { dark: false, ink: "#1b1f24", soft: "#5b6570", line: "#d8dde3", paper: "#ffffff", panel: "#f6f8fa" };
const dark: Theme = { dark: true, ink: "#e6e9ed", soft: "#a3adb8", line: "#39414b", paper: "#14171b", panel: "#1d2127" };

const listeners = new Set<() => void>();
let chosen: "light" | "dark" | null = null;
let printing = false;
const system = matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  if (printing) return light;
  return (chosen ?? (system.matches ? "dark" : "light")) === "dark" ? dark : light;
}

function tell(): void {
  document.documentElement.dataset.theme = theme().dark ? "dark" : "light";
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

export const isPrinting = (): boolean => printing;
