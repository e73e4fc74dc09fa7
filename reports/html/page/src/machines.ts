// Machines that capacity was asked about, in words.

import type { Capacity, Machine } from "./data";
import { dollars, number, rangeText } from "./format";

const day = 86400;

// All times in one unit, so that they can be compared at a glance.
export function durationsOf(all: Capacity[]): (x: number | null | undefined) => string {
  const longest = Math.max(0, ...all.map((c) => c.time_to_train_s ?? 0));
  const [unit, name] = longest >= 2 * day ? [day, "days"] : longest >= 7200 ? [3600, "h"] : [60, "min"];
  return (x) => (x === null || x === undefined ? "–" : `${number(x / unit, 3)} ${name}`);
}

export const range = (ends: [number, number], show: (x: number) => string): string => rangeText([show(ends[0]), show(ends[1])]);

// "dgx-h100 x 4 (32 GPUs, megatron): 40.5 days (36.5 to 50.6 days, 90 %); $77.78 k ($70.0 k to $97.2 k)".
export function machineText(m: Machine, all: Capacity[]): string {
  const c = all.find((x) => x.candidate === m.candidate && x.nodes === m.nodes && x.plan === m.plan), duration = durationsOf(all);
  const machine = `${m.candidate} x ${m.nodes} (${m.gpus} GPUs, ${m.plan})`;
  if (!c || !c.time_to_train_s) return machine;
  const cost = c.cost_usd ? `; ${dollars(c.cost_usd)}${c.cost_interval_usd ? ` (${c.cost_interval_usd.map((x) => dollars(x)).join(" to ")})` : ""}` : "";
  return `${machine}: ${duration(c.time_to_train_s)}${c.time_to_train_interval_s ? ` (${range(c.time_to_train_interval_s, duration)}, 90 %)` : ""}${cost}`;
}
