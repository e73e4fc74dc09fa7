// Numbers in the texts of a sweep's values, such as "0.5x", "+10%", "50 GB/s" and "4", so that they have places on an axis.

// `kind`: what is counted; numbers of one kind can be compared.
export interface Quantity { kind: string; value: number }

// Value of one unit, by kind.
const units: Record<string, Record<string, number>> = {
  number: { "": 1 },
  multiple: { x: 1, X: 1 },
  bandwidth: { "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "bit/s": 0.125, "kbit/s": 125, "Mbit/s": 125e3, "Gbit/s": 125e6, "Tbit/s": 125e9 },
  time: { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, day: 86400, days: 86400 },
  memory: { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
};

// Returns null for a text that does not begin with a number. A unit that is not known is a kind of its own.
export function quantityOf(text: string): Quantity | null {
  const [, digits, unit] = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(.*)$/i.exec(text.trim()) ?? [];
  if (digits === undefined) return null;
  const value = Number(digits);
  if (unit === "%") return { kind: "multiple", value: 1 + value / 100 };  // "+10%": by a tenth more
  const kind = Object.keys(units).find((k) => unit in units[k]);
  return kind ? { kind, value: value * units[kind][unit] } : { kind: unit, value };
}

// Returns the numbers of all texts; null where one has none or is of another kind.
export function numbersOf(texts: string[]): { kind: string; numbers: number[] } | null {
  const all = texts.map(quantityOf);
  const kind = all[0]?.kind;
  return kind !== undefined && all.every((q) => q?.kind === kind) ? { kind, numbers: all.map((q) => q!.value) } : null;
}

const widestRatio = (steps: number[]): number => Math.max(...steps) / Math.min(...steps);
const between = (numbers: number[], step: (a: number, b: number) => number): number[] => numbers.slice(1).map((n, i) => step(numbers[i], n));

// Whether a logarithmic axis suits ascending numbers: multiples that span more than a factor of four, and others that grow rather by a factor
// than by a step.
export function suitsLogarithm(kind: string, numbers: number[]): boolean {
  if (!(numbers[0] > 0) || numbers.at(-1)! <= 4 * numbers[0]) return false;
  return kind === "multiple" || widestRatio(between(numbers, (a, b) => Math.log(b / a))) <= widestRatio(between(numbers, (a, b) => b - a));
}
