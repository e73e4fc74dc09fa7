// The answer in a sentence for each thing that was asked.

import type { Answer, Run } from "./data";
import { counted, memoryText, number, rangeText, ratios, seconds } from "./format";
import { machineText } from "./machines";
import { baseRuns, bestOf, endsOf, isBase, isNoSureGain, speedup, type Ends } from "./runs";

const digits = 3;
const least = 1.005;  // a gain that the figures still show

const time = (s: number): string => seconds(s, digits);
const times = (x: number): string => `${x < 10 ? x.toFixed(2) : number(x, digits)} times`;
const fits = (r: Run): boolean => r.status === "ok" && r.iteration_time_s !== null;
const inWords = (names: string[]): string => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0]);

// "4.08 s an iteration (90 % interval 3.73 to 4.71 s), 128,637 tokens/s on 16 GPUs".
function figures(r: Run): string {
  const ends = r.iteration_time_interval_s?.map(time) as [string, string] | undefined;
  const speed = r.tokens_per_s ? `${number(r.tokens_per_s)} tokens/s` : `${number(r.throughput_samples_per_s)} samples/s`;
  return `${time(r.iteration_time_s!)} an iteration${ends ? ` (90 % interval ${rangeText(ends)})` : ""}, ${speed} on ${counted(r.gpus, "GPU")}`;
}

function filled(r: Run): string {
  return r.memory_bytes ? `${memoryText(r.memory_bytes.peak)} of ${memoryText(r.memory_bytes.capacity)}` : "more memory than there is";
}

// What is said of the quickest of several plans that fit.
function place(best: Run, equal: Run[], fitting: number, asked: number): string {
  const verb = equal.length > 1 ? "are" : "is", of = fitting < asked ? `${asked} plans, of which ${fitting} fit` : `${fitting} plans that fit`;
  if (equal.length === fitting) return `${inWords(equal.map((r) => r.plan))}, ${best.plan_summary}, are equally quick`;
  return `${inWords(equal.map((r) => r.plan))}, ${best.plan_summary}, ${verb} the quickest of ${of}`;
}

// "Best of 4 with 71 %.": by the errors of measured pairs of plans.
function sureness({ favourite: f }: Answer["result"]): string {
  return !f || f.plans.length === f.of ? "" : ` Best of ${f.of} with ${f.probability > 0.995 ? "over 99" : (100 * f.probability).toFixed(0)} %.`;
}

function ofPlans({ result }: Answer): string | null {
  const base = baseRuns(result), best = bestOf(base), fitting = base.filter(fits);
  if (base.length === 0) return null;
  if (best === null) return base.length === 1 ? `${base[0].plan} has no answer.` : `None of the ${base.length} plans has an answer.`;
  if (fitting.length === 0) {
    const none = base.length === 1 ? `${best.plan}, ${best.plan_summary}, does not fit` : `None of the ${base.length} plans fits; the quickest is ${best.plan}, ${best.plan_summary}`;
    return `${none}: it needs ${filled(best)}, and would take ${time(best.iteration_time_s!)} an iteration.`;
  }
  const tight = best.tight ? ` It fits tightly: ${filled(best)}.` : "";
  if (base.length === 1) return `${best.plan}, ${best.plan_summary}: ${figures(best)}.${tight}`;
  if (fitting.length === 1) return `${best.plan}, ${best.plan_summary}, is the only one of ${base.length} plans that fits: ${figures(best)}.${tight}`;
  const equal = fitting.filter((r) => Math.abs(r.iteration_time_s! / best.iteration_time_s! - 1) < 1e-6);
  return `${place(best, equal, fitting.length, base.length)}: ${figures(best)}.${sureness(result)}${tight}`;
}

interface Gain { run: Run; gain: number; ends: Ends | null }

const most = (gains: Gain[]): Gain | null => gains.reduce<Gain | null>((a, b) => (a === null || b.gain > a.gain ? b : a), null);

// The run that gains most over the base's best, and by how much: of those that surely differ, where one of them is quicker.
function quickest(runs: Run[], base: Run): Gain | null {
  const gains = runs.filter(fits).map((run) => ({ run, gain: speedup(run, base) ?? 0, ends: endsOf(run, base) }));
  return most(gains.filter((g) => g.gain > least && !isNoSureGain(g.ends))) ?? most(gains);
}

// "1.12 times as quick (1.05 to 1.20)".
const factor = (g: Gain): string => `${times(g.gain)} as quick${g.ends && g.ends[0] < g.ends[1] ? ` (${ratios(g.ends)})` : ""}`;

// "1.12 times as quick (1.05 to 1.20): 1.24 s an iteration by zero-3"; on other machines also on how many GPUs.
const gained = (g: Gain, base: Run): string =>
  `${factor(g)}: ${time(g.run.iteration_time_s!)} an iteration by ${g.run.plan}${g.run.gpus === base.gpus ? "" : ` on ${counted(g.run.gpus, "GPU")}`}`;

function ofWhatIfs({ result, rows }: Answer): string | null {
  const runs = rows.filter((r) => !isBase(r) && r.sweep === undefined), count = new Set(runs.map((r) => r.variant)).size;
  const base = bestOf(baseRuns(result));
  if (count === 0 || base === null) return null;
  const best = quickest(runs, base);
  if (best === null) return count === 1 ? `With “${runs[0].variant}” no plan fits.` : `No plan fits with any of ${count} what-ifs.`;
  if (!fits(base)) return `With “${best.run.variant}” a plan fits: ${best.run.plan}, ${time(best.run.iteration_time_s!)} an iteration.`;
  if (count === 1 && isNoSureGain(best.ends)) return `With “${best.run.variant}” there is no sure gain: ${ratios(best.ends!)} times as quick.`;
  if (count === 1) return Math.abs(best.gain - 1) < least - 1 ? `With “${best.run.variant}” it is no quicker.` : `With “${best.run.variant}” it is ${gained(best, base)}.`;
  if (isNoSureGain(best.ends)) return `None of ${count} what-ifs is a sure gain: “${best.run.variant}”, the quickest, is ${factor(best)}.`;
  return best.gain > least ? `Of ${count} what-ifs “${best.run.variant}” gains most, ${gained(best, base)}.` : `None of ${count} what-ifs is quicker.`;
}

const settingsText = (r: Run): string => Object.entries(r.settings ?? {}).map(([key, value]) => `${key.split(".").slice(-2).join(" ")} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");

function ofSweeps({ result, rows }: Answer): string | null {
  const runs = rows.filter((r) => r.sweep !== undefined), count = new Set(runs.map((r) => r.variant)).size;
  const base = bestOf(baseRuns(result));
  if (count === 0 || base === null || !fits(base)) return null;
  const best = quickest(runs, base);
  if (best !== null && isNoSureGain(best.ends)) return `None of ${counted(count, "point")} of sweeps is a sure gain: ${settingsText(best.run)}, the quickest, is ${factor(best)}.`;
  return best !== null && best.gain > least ? `Of ${counted(count, "point")} of sweeps, ${settingsText(best.run)} gains most, ${gained(best, base)}.` : `None of ${counted(count, "point")} of sweeps is quicker.`;
}

function ofCapacity({ result }: Answer): string | null {
  const all = result.capacity ?? [], found = result.capacity_summary;
  if (all.length === 0 || !found) return null;
  const limited = all.some((c) => c.meets_deadline !== undefined && c.meets_deadline !== null) ? " that meets the deadline" : "";
  const machine = found.cheapest ?? found.smallest;
  return machine ? `The ${found.cheapest ? "cheapest" : "smallest"} machine${limited} is ${machineText(machine, all)}.` : `There is no machine${limited || " that can train it"}.`;
}

export const headline = (a: Answer): string[] => [ofPlans(a), ofWhatIfs(a), ofSweeps(a), ofCapacity(a)].filter((s) => s !== null);
