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

export function seconds(x: Maybe): string {
  if (missing(x)) return none;
  const size = Math.abs(x);
  if (size === 0) return "0 s";
  if (size >= 172800) return `${digits(x / 86400)} days`;
  if (size >= 7200) return `${digits(x / 3600)} h`;
  if (size >= 1) return `${digits(x)} s`;
  if (size >= 1e-3) return `${digits(x * 1e3)} ms`;
  if (size >= 1e-6) return `${digits(x * 1e6)} µs`;
  return `${digits(x * 1e9, 3)} ns`;
}

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
export const dollars = (x: Maybe): string => (missing(x) ? none : `$${x >= 1e6 ? `${digits(x / 1e6, 4)} M` : x >= 1e4 ? `${digits(x / 1e3, 4)} k` : digits(x, 4)}`);
export const words = (key: string): string => key.replaceAll("_", " ");
