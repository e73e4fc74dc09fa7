// Numbers as text, with the units of the program's own tables.

function digits(value: number, significant = 4): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  const decimals = Math.max(0, Math.min(significant, significant - 1 - Math.floor(Math.log10(size))));
  const text = value.toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: decimals });
  return text === "-0" ? "0" : text;
}

const none = "–";
type Maybe = number | null | undefined;
const missing = (x: Maybe): x is null | undefined => x === null || x === undefined || !Number.isFinite(x);

export const number = (x: Maybe, significant = 4): string => (missing(x) ? none : digits(x, significant));

const timeUnits: [number, string][] = [[172800, "days"], [7200, "h"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"], [0, "ns"]];  // from so many seconds on
const secondsOf: Record<string, number> = { days: 86400, h: 3600, s: 1, ms: 1e-3, µs: 1e-6, ns: 1e-9 };

export function seconds(x: Maybe, significant = 4): string {
  if (missing(x)) return none;
  if (Math.abs(x) < 5e-13) return "0 s";
  const unit = timeUnits.find(([from]) => Math.abs(x) >= from)![1];
  return `${digits(x / secondsOf[unit], significant)} ${unit}`;
}

// "3.73 to 4.71 s": the unit once where both have it.
export function rangeText(ends: [string, string]): string {
  const unit = ends[1].slice(ends[1].indexOf(" "));
  return `${ends[1].includes(" ") && ends[0].endsWith(unit) ? ends[0].slice(0, -unit.length) : ends[0]} to ${ends[1]}`;
}

// "1.22 to 1.38".
export const ratios = (ends: [number, number]): string => `${ends[0].toFixed(2)} to ${ends[1].toFixed(2)}`;
// "1.31 × (1.22 to 1.38)".
export const timesText = (x: Maybe, ends: [number, number] | null | undefined, decimals = 3): string =>
  missing(x) ? none : `${x.toFixed(decimals)} ×${ends && ends[0] < ends[1] ? ` (${ratios(ends)})` : ""}`;

function scaled(x: Maybe, step: number, units: string[]): string {
  if (missing(x)) return none;
  let unit = 0;
  let value = x;
  while (Math.abs(value) >= step && unit + 1 < units.length) {
    value /= step;
    ++unit;
  }
  return `${digits(value, 3)} ${units[unit]}`;
}

// Memory is in powers of 1024, as drivers show it; what is sent in powers of 1000, as bandwidths are.
export const memoryText = (x: Maybe): string => scaled(x, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
export const trafficText = (x: Maybe): string => scaled(x, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]);

export function bandwidth(x: number): string {
  return x >= 1e12 ? `${digits(x / 1e12, 3)} TB/s` : x >= 1e9 ? `${digits(x / 1e9, 3)} GB/s` : `${digits(x / 1e6, 3)} MB/s`;
}

export const percent = (x: Maybe, decimals = 1): string => (missing(x) ? none : `${(100 * x).toFixed(decimals)} %`);
export const signed = (x: Maybe, decimals = 0): string => (missing(x) ? none : `${x >= 0 ? "+" : "−"}${Math.abs(100 * x).toFixed(decimals)}`);
export const dollars = (x: Maybe, significant = 4): string => (missing(x) ? none : `$${x >= 1e6 ? `${digits(x / 1e6, significant)} M` : x >= 1e4 ? `${digits(x / 1e3, significant)} k` : digits(x, significant)}`);
export const counted = (n: number, one: string, several = `${one}s`): string => `${number(n, 7)} ${n === 1 ? one : several}`;
export const words = (key: string): string => key.replaceAll("_", " ");
