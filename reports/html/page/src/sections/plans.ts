// The table that the page opens with: every run, with the figures that decide.

import { bestOf, type Answer, type Run } from "../data";
import { h } from "../dom";
import { memoryText, number, percent, seconds, signed, words } from "../format";
import { section } from "../section";
import { table, type Column } from "../table";

const share = (run: Run, part: "exposed_communication" | "bubble"): number | null =>
  run.breakdown_s && run.iteration_time_s ? run.breakdown_s[part] / run.iteration_time_s : null;

function intervalText(run: Run): string {
  const [low, high] = run.iteration_time_interval_s ?? [0, 0];
  return run.iteration_time_s && run.iteration_time_interval_s ? `${signed(low / run.iteration_time_s - 1)} ${signed(high / run.iteration_time_s - 1)}` : "–";
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

export function plans({ result }: Answer): HTMLElement | null {
  if (result.runs.length === 0) return null;
  const hasVariants = result.runs.some((r) => r.variant !== "base");
  const best = new Map<string, Run | null>();
  for (const r of result.runs) if (!best.has(r.variant)) best.set(r.variant, bestOf(result.runs.filter((x) => x.variant === r.variant)));
  const slower = (r: Run): number | null => {
    const b = best.get(r.variant);
    return b?.iteration_time_s && r.iteration_time_s ? r.iteration_time_s / b.iteration_time_s - 1 : null;
  };
  const columns: Column<Run>[] = [
    { label: "Plan", value: (r) => r.plan, show: (r) => h("span", {}, r.plan, h("small", {}, r.plan_summary)) },
    ...(hasVariants ? [
      { label: "Variant", value: (r: Run) => r.variant },
      { label: "Made", title: "Whether the plan was made for this variant, or is the base's", value: (r: Run) => (r.variant === "base" ? "" : r.replanned ? "re-planned" : "same plan") },
    ] : []),
    { label: "Status", value: (r) => r.status, show: status },
    { label: "GPUs", value: (r) => r.gpus },
    { label: "Time", title: "Seconds of one training iteration", value: (r) => r.iteration_time_s, show: (r) => seconds(r.iteration_time_s) },
    { label: "90 %, in %", title: "The interval that holds the truth nine times in ten, below and above the forecast", value: (r) => intervalText(r) },
    ...(best.size < result.runs.length ? [{ label: "vs. best, in %", title: "Slower than the quickest plan that fits on the same variant", value: slower, show: (r: Run) => (slower(r) === null ? "–" : signed(slower(r), 1)) } as Column<Run>] : []),
    { label: "Tokens/s", value: (r) => r.tokens_per_s || r.throughput_samples_per_s, title: "Samples a second for a model without a sequence", show: (r) => number(r.tokens_per_s || r.throughput_samples_per_s) },
    { label: "MFU", title: "Model FLOPs over what the GPUs could do at their dense peak", value: (r) => r.mfu, show: (r) => percent(r.mfu) },
    { label: "Exposed", title: "Share of the time in which the critical GPU waits for communication", value: (r) => share(r, "exposed_communication"), show: (r) => percent(share(r, "exposed_communication")) },
    { label: "Bubble", title: "Share of the time in which it waits for another pipeline stage", value: (r) => share(r, "bubble"), show: (r) => percent(share(r, "bubble")) },
    { label: "Memory", title: "Peak of the GPU with the least room left", value: (r) => r.memory_bytes?.peak, show: memory },
  ];
  return section("plans", "Plans side by side",
    "Each row is a plan on a variant of the question; the quickest plan of a variant that fits is marked. Click a heading to sort. Times are forecasts: the interval says how sure they are.",
    table("Plans side by side", columns, result.runs, { best: (r) => best.get(r.variant) === r }));
}
