// What-ifs: what each change buys, with the same plan and with a plan made for it.

import { axis, chart, legendLook, line, tooltip } from "../chart";
import type { Answer, Run } from "../data";
import { seconds } from "../format";
import { section } from "../section";
import { table } from "../table";
import { colours } from "../theme";

interface Row { variant: string; plan: string; base: number | null; same?: Run; again?: Run }
const mostBars = 30;
const times = (x: number | null): string => (x === null ? "–" : `${x.toFixed(3)} ×`);

export function whatIfs({ result }: Answer): HTMLElement | null {
  const rows = new Map<string, Row>();
  for (const r of result.runs) {
    if (r.variant === "base" || r.sweep !== undefined) continue;
    const key = `${r.variant}\n${r.plan}`;
    const row = rows.get(key) ?? { variant: r.variant, plan: r.plan, base: result.runs.find((b) => b.variant === "base" && b.plan === r.plan)?.iteration_time_s ?? null };
    if (r.replanned) row.again = r;
    else row.same = r;
    rows.set(key, row);
  }
  if (rows.size === 0) return null;
  const all = [...rows.values()];
  // Samples a second, not times: what-ifs may change the batch.
  const speed = (row: Row, r: Run | undefined): number | null => {
    const base = result.runs.find((b) => b.variant === "base" && b.plan === row.plan);
    return r?.throughput_samples_per_s && base?.throughput_samples_per_s ? r.throughput_samples_per_s / base.throughput_samples_per_s : null;
  };
  const drawn = all.filter((r) => speed(r, r.same) !== null || speed(r, r.again) !== null).slice(0, mostBars);
  const bars = drawn.length === 0 ? null : chart("Bars: speed of each what-if against the base", 100 + 42 * drawn.length, (t) => {
    const shown = drawn.slice().reverse();
    return {
      legend: legendLook(t),
      tooltip: tooltip(t, { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (items: { dataIndex: number }[]) => {
        const r = shown[items[0].dataIndex];
        return line(`${r.plan}, ${r.variant}`, true) + line(`base: ${seconds(r.base)}`) + (r.same ? line(`same plan: ${seconds(r.same.iteration_time_s)}, ${times(speed(r, r.same))}`) : "") + (r.again ? line(`re-planned: ${seconds(r.again.iteration_time_s)}, ${times(speed(r, r.again))}`) : "");
      } }),
      grid: { left: 12, right: 24, top: 40, bottom: 30, outerBoundsMode: "same", outerBoundsContain: "all" },
      xAxis: axis(t, { type: "value", min: 0, name: "samples per second, as a multiple of the base" }),
      yAxis: axis(t, { type: "category", data: shown.map((r) => `${r.variant}: ${r.plan}`), splitLine: { show: false }, axisLabel: { hideOverlap: false, width: 260, overflow: "truncate" } }),
      series: [
        { name: "same plan", type: "bar", barMaxWidth: 14, itemStyle: { color: colours.blue }, data: shown.map((r) => speed(r, r.same)),
          markLine: { symbol: "none", silent: true, label: { show: false }, lineStyle: { color: t.ink, type: "dashed" }, data: [{ xAxis: 1 }] } },
        { name: "re-planned", type: "bar", barMaxWidth: 14, itemStyle: { color: colours.orange }, data: shown.map((r) => speed(r, r.again)) },
      ],
    };
  });
  return section("what-ifs", "What if",
    "How many samples a second each change brings against the base (1, the dashed line), with the base's plan and with a plan made for it. Where the two differ, a new plan is part of the gain.",
    bars?.element ?? null, table("What if", [
      { label: "Variant", value: (r) => r.variant }, { label: "Plan", value: (r) => r.plan }, { label: "Base", value: (r) => r.base, show: (r) => seconds(r.base) },
      { label: "Same plan", value: (r) => r.same?.iteration_time_s, show: (r) => seconds(r.same?.iteration_time_s) },
      { label: "speed", title: "Samples a second against the base", value: (r) => speed(r, r.same), show: (r) => times(speed(r, r.same)) },
      { label: "Re-planned", value: (r) => r.again?.iteration_time_s, show: (r) => seconds(r.again?.iteration_time_s) },
      { label: "speed ", title: "Samples a second against the base", value: (r) => speed(r, r.again), show: (r) => times(speed(r, r.again)) },
      { label: "New plan", value: (r) => r.again?.plan_summary ?? "" },
    ], all));
}
