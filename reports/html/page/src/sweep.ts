// A sweep: the runs of all its points, the keys that it varies, and their values in the order of an axis.

import type { Answer, ClusterData, Run, Tree } from "./data";
import { number, percent, seconds, timesText } from "./format";
import { baseRuns, isBase, type Ends } from "./runs";
import { numbersOf, quantityOf, suitsLogarithm, type Quantity } from "./values";

export interface Scale { kind: string; numbers: number[]; isLog: boolean }  // numbers: of each value, ascending
// `scale`: null where values are no numbers; then the base's value is a text. `base`: null where it is not known.
export interface Key { name: string; values: string[]; scale: Scale | null; base: Quantity | string | null }
export interface Sweep { name: string; keys: Key[]; runs: Run[]; base: Run[] }

export const valueText = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value));
export const valueOf = (r: Run, key: Key): string => valueText(r.settings?.[key.name]);
export const shortName = (key: Key): string => key.name.split(".").slice(-2).join(" ");

// Finds a path in a tree whose keys may be paths themselves ("node.domain.segment").
function find(tree: Tree | undefined, path: string[]): Tree | undefined {
  if (path.length === 0) return tree;
  if (typeof tree !== "object" || tree === null || Array.isArray(tree)) return undefined;
  for (let n = path.length; n > 0; --n) {
    const found = find(tree[path.slice(0, n).join(".")], path.slice(n));
    if (found !== undefined) return found;
  }
  return undefined;
}

// "plans.NAME.OPTION" is an option of the plan entry of that name, {megatron: {tensor: 4}, name: NAME}.
function ofPlan(question: Tree | undefined, name: string, option: string): Tree | undefined {
  const plans = find(question, ["plans"]);
  if (!Array.isArray(plans)) return undefined;
  const entries = plans.flatMap((p) => (typeof p === "object" && p !== null && !Array.isArray(p) ? Object.entries(p).map(([kind, options]) => ({ name: find(p, ["name"]) ?? kind, options })) : []));
  return entries.map((e) => (e.name === name ? find(e.options, [option]) : undefined)).find((x) => x !== undefined);
}

// What the scenario leaves to a preset, as far as the drawing of the cluster has it.
function ofCluster(cluster: ClusterData | null | undefined, path: string[]): Quantity | null {
  if (path.join(".") === "cluster.nodes" && cluster) return { kind: "number", value: cluster.nodes };
  const n = cluster?.network;
  return n && path.join(".") === `cluster.links.${n.link}.bandwidth` ? { kind: "bandwidth", value: n.bandwidth_bytes_per_s } : null;
}

// What the scenario says of a key on the base.
function asked(name: string, question: Tree | undefined): string | null {
  const path = name.split(".");
  const found = path[0] === "plans" ? ofPlan(question, path.slice(1, -1).join("."), path.at(-1)!) : find(question, path);
  return found === undefined || typeof found === "object" ? null : String(found);
}

function baseOf(name: string, scale: Scale | null, { result, details }: Answer): Quantity | string | null {
  if (scale?.kind === "multiple") return { kind: "multiple", value: 1 };
  const text = asked(name, result.question);
  if (scale === null) return text;
  const base = text === null ? ofCluster(details?.cluster, name.split(".")) : quantityOf(text);
  return base?.kind === scale.kind ? base : null;
}

function keyOf(name: string, runs: Run[], answer: Answer): Key {
  const texts = [...new Set(runs.map((r) => valueText(r.settings![name])))], found = numbersOf(texts);
  if (!found) return { name, values: texts, scale: null, base: baseOf(name, null, answer) };
  const order = texts.map((text, i) => ({ text, number: found.numbers[i] })).sort((a, b) => a.number - b.number), numbers = order.map((o) => o.number);
  const scale = { kind: found.kind, numbers, isLog: suitsLogarithm(found.kind, numbers) };
  return { name, values: order.map((o) => o.text), scale, base: baseOf(name, scale, answer) };
}

const namesOf = (runs: Run[]): string[] => {
  const all = Object.keys(runs[0].settings!), varied = all.filter((k) => new Set(runs.map((r) => valueText(r.settings![k]))).size > 1);
  return varied.length > 0 ? varied : all.slice(0, 1);
};

export function sweepsOf(answer: Answer): Sweep[] {
  const found = new Map<string, Run[]>();
  for (const r of answer.rows) if (r.sweep !== undefined && r.settings) found.set(r.sweep, [...(found.get(r.sweep) ?? []), r]);
  return [...found].map(([name, runs]) => ({ name, runs, keys: namesOf(runs).map((key) => keyOf(key, runs, answer)), base: baseRuns(answer.result) }));
}

export const plansOf = (s: Sweep): string[] => [...new Set(s.runs.map((r) => r.plan))];

// Whether a value of a key is the base's.
export function isBaseValue({ base }: Key, value: string): boolean {
  if (typeof base === "string" || base === null) return base === value;
  const q = quantityOf(value);
  return q !== null && Math.abs(q.value - base.value) <= 1e-9 * Math.abs(q.value);
}

// Whether some point of the runs was answered twice, with the base's plan and with one that was made for it.
export const isDoubled = (runs: Run[]): boolean => new Set(runs.map((r) => `${r.variant}\n${r.plan}`)).size < runs.length;
// Whether a run answers for plans that were made for their point, or for the base's: an unchanged plan answers for both.
export const answersFor = (r: Run, replanned: boolean): boolean => r.replanned === replanned || r.unchanged === true;

export interface Metric { name: string; of: (r: Run) => number | null; show: (x: number) => string; ends?: (r: Run) => Ends | null }
export const metrics: Metric[] = [
  { name: "time of an iteration", of: (r) => r.iteration_time_s, show: (x) => seconds(x) },
  { name: "tokens or samples a second", of: (r) => r.tokens_per_s || r.throughput_samples_per_s, show: (x) => number(x) },
  { name: "MFU", of: (r) => r.mfu_causal, show: (x) => percent(x) },
  { name: "speed against the base", of: (r) => r.speedup ?? (isBase(r) ? 1 : null), show: (x) => timesText(x, null, 2), ends: (r) => r.speedup_interval ?? null },
];
