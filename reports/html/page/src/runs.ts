// Runs as the page compares and names them.

import type { Result, Run } from "./data";

// Planning for a variant gave the plan of the base again: one row says what both say, as in the terminal's table.
const isRepeated = (r: Run, same: Run): boolean =>
  r.replanned && !same.replanned && r.plan_summary === same.plan_summary && r.iteration_time_s === same.iteration_time_s && r.status === same.status;

// Runs of one plan entry on one variant.
const entryOf = (r: Run): string => `${r.variant}\n${r.plan}`;

// Returns the runs without repeated ones; a run that stands for both is marked as unchanged.
export function rowsOf(result: Result): Run[] {
  const same = new Map(result.runs.filter((r) => !r.replanned).map((r) => [entryOf(r), r]));
  return result.runs.filter((r) => {
    const first = same.get(entryOf(r));
    const repeated = first !== undefined && isRepeated(r, first);
    if (repeated) first.unchanged = true;
    return !repeated;
  });
}

export const isBase = (r: Run): boolean => r.variant === "base";
export const baseRuns = (result: Result): Run[] => result.runs.filter(isBase);

// The quickest of those that fit, else the quickest of all.
export function bestOf(runs: Run[]): Run | null {
  const timed = runs.filter((r) => r.iteration_time_s !== null && r.iteration_time_s !== undefined);
  const fits = timed.filter((r) => r.status === "ok");
  return (fits.length > 0 ? fits : timed).reduce<Run | null>((a, b) => (a === null || b.iteration_time_s! < a.iteration_time_s! ? b : a), null);
}

// Tokens or samples a second as a multiple of another run's, not times: a variant may have another batch, or sequences of another length.
export function speedup(r: Run | null | undefined, base: Run | null | undefined): number | null {
  if (!r || !base) return null;
  if (r.tokens_per_s && base.tokens_per_s) return r.tokens_per_s / base.tokens_per_s;
  return r.throughput_samples_per_s && base.throughput_samples_per_s ? r.throughput_samples_per_s / base.throughput_samples_per_s : null;
}

export type Ends = [number, number];

// The 90 % interval of that speedup, which the program has over the same plan entry and over the best plan of the base.
export function endsOf(r: Run | null | undefined, base: Run | null | undefined): Ends | null {
  if (!r || !base || isBase(r)) return null;
  return (r.plan === base.plan ? r.speedup_interval : r.best_speedup_interval) ?? null;
}

// The interval holds 1, so that the gain may be a loss; not where nothing that counts has changed, and both ends are 1.
export const isNoSureGain = (ends: Ends | null | undefined): boolean => !!ends && ends[0] < ends[1] && ends[0] <= 1 && ends[1] >= 1;

// Whether a plan was made for its variant; empty on the base.
export const madeText = (r: Run): string => (isBase(r) ? "" : r.unchanged ? "unchanged" : r.replanned ? "re-planned" : "same plan");

// "plan (variant, same plan)": unique among the rows of a result.
export const nameOf = (r: Run): string => (isBase(r) ? r.plan : `${r.plan} (${r.variant}, ${madeText(r)})`);
