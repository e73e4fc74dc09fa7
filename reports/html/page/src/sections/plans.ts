// The table of plans: every plan on the base and on each what-if, with the figures that decide first. Points of sweeps have tables of their own.

import type { Answer, Breakdown, Run } from "../data";
import { h } from "../dom";
import { memoryText, number, percent, rangeText, seconds, signed, words } from "../format";
import { bestOf, isBase, madeText } from "../runs";
import { section } from "../section";
import { table, type Column } from "../table";

const share = (run: Run, part: keyof Breakdown): number | null => (run.breakdown_s && run.iteration_time_s ? run.breakdown_s[part] / run.iteration_time_s : null);
const shareColumn = (label: string, part: keyof Breakdown, title: string): Column<Run> => ({ label, title, value: (r) => share(r, part), show: (r) => percent(share(r, part)) });

// "3.73 to 4.71 s"; by how much below and above the forecast when the pointer is over it.
function interval(run: Run): Node | string {
  const ends = run.iteration_time_interval_s, t = run.iteration_time_s;
  if (!ends || !t) return "–";
  return h("span", { class: "one-line", title: `${signed(ends[0] / t - 1)} % to ${signed(ends[1] / t - 1)} %` }, rangeText(ends.map((s) => seconds(s)) as [string, string]));
}

function status(run: Run): HTMLElement {
  const good = run.status === "ok" && !run.tight;
  return h("span", { class: `status ${good ? "good" : run.status === "ok" ? "warn" : "bad"}` }, run.tight ? "ok, tight" : words(run.status));
}

function memory(run: Run): Node | string {
  const m = run.memory_bytes;
  if (!m) return "–";
  const filled = m.peak / m.capacity;
  return h("span", { class: "meter", title: `${memoryText(m.peak)} of ${memoryText(m.capacity)}` },
    h("span", { class: `fill${filled > 1 ? " over" : ""}`, style: `width:${Math.min(100, 100 * filled).toFixed(0)}%` }), h("span", {}, `${memoryText(m.peak)} (${percent(filled, 0)})`));
}

// The plan's name, on which variant it is and whether it was made for that, and what it does.
const described = (r: Run): HTMLElement =>
  h("span", {}, r.plan, isBase(r) ? null : h("small", { class: "variant" }, `${r.variant}, ${madeText(r)}`), h("small", {}, r.plan_summary));

export function plans({ rows }: Answer): HTMLElement | null {
  const runs = rows.filter((r) => r.sweep === undefined);
  if (runs.length === 0) return null;
  const hasVariants = runs.some((r) => !isBase(r));
  const best = new Map<string, Run | null>();
  for (const r of runs) if (!best.has(r.variant)) best.set(r.variant, bestOf(runs.filter((x) => x.variant === r.variant)));
  const slower = (r: Run): number | null => {
    const b = best.get(r.variant);
    return b?.iteration_time_s && r.iteration_time_s ? r.iteration_time_s / b.iteration_time_s - 1 : null;
  };
  const columns: Column<Run>[] = [
    { label: "Plan", value: (r) => r.plan, show: described },
    { label: "Summary", value: (r) => r.plan_summary, only: "copied" },
    ...(hasVariants ? [
      { label: "Variant", value: (r: Run) => r.variant, only: "copied" } as Column<Run>,
      { label: "Made", value: madeText, only: "copied" } as Column<Run>,
    ] : []),
    { label: "Time", title: "Of one training iteration", value: (r) => r.iteration_time_s, show: (r) => seconds(r.iteration_time_s) },
    { label: "90 % interval", title: "It holds the true time nine times in ten", value: (r) => r.iteration_time_interval_s?.[0], show: interval, only: "shown" },
    { label: "90 % low", value: (r) => r.iteration_time_interval_s?.[0], only: "copied" },
    { label: "90 % high", value: (r) => r.iteration_time_interval_s?.[1], only: "copied" },
    { label: "Memory", title: "Peak of the GPU with the least room left", value: (r) => r.memory_bytes?.peak, show: memory },
    { label: "Tokens/s", value: (r) => r.tokens_per_s || r.throughput_samples_per_s, title: "Samples a second for a model without a sequence", show: (r) => number(r.tokens_per_s || r.throughput_samples_per_s) },
    { label: "MFU", title: "Model FLOPs, without masked attention, over what the GPUs could do at their dense peak", value: (r) => r.mfu_causal, show: (r) => percent(r.mfu_causal) },
    shareColumn("Exposed", "exposed_communication", "Share of the time in which the critical GPU waits for communication"),
    shareColumn("Bubble", "bubble", "Share of the time in which pipeline stages have nothing to run, even if all are equal"),
    shareColumn("Imbalance", "imbalance", "Share of the time in which pipeline stages wait for slower ones"),
    shareColumn("Host", "idle", "Share of the time in which it waits for its host, above all to launch kernels"),
    { label: "Status", value: (r) => r.status, show: status },
    ...(best.size < runs.length ? [{ label: "vs. best", title: "Slower than the quickest plan that fits on the same variant", value: slower, show: (r: Run) => (slower(r) === null ? "–" : `${signed(slower(r), 1)} %`) } as Column<Run>] : []),
    { label: "GPUs", value: (r) => r.gpus },
  ];
  return section("plans", "Plans side by side",
    "Each row is a plan on a variant of the question; the quickest plan of a variant that fits is marked. Click a heading to sort. Times are forecasts: the interval says how sure they are.",
    table("Plans side by side", columns, runs, { best: (r) => best.get(r.variant) === r }));
}
