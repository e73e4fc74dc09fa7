// Sweeps: curves over one key, heat maps over two.

import { axis, chart, legendLook, line, tooltip } from "../chart";
import type { Answer, Run } from "../data";
import { choice, h } from "../dom";
import { number, percent, seconds } from "../format";
import { section } from "../section";
import { folded, table } from "../table";
import { scale, series } from "../theme";

const metrics: { name: string; of: (r: Run) => number | null; show: (x: number) => string }[] = [
  { name: "time of an iteration", of: (r) => r.iteration_time_s, show: seconds },
  { name: "tokens or samples a second", of: (r) => r.tokens_per_s || r.throughput_samples_per_s, show: (x) => number(x) },
  { name: "MFU", of: (r) => r.mfu, show: (x) => percent(x) },
];

const text = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value));
const lastPart = (key: string): string => key.split(".").slice(-2).join(" ");

interface Sweep { name: string; keys: string[]; runs: Run[] }

function sweepsOf(runs: Run[]): Sweep[] {
  const found = new Map<string, Run[]>();
  for (const r of runs) if (r.sweep !== undefined && r.settings) found.set(r.sweep, [...(found.get(r.sweep) ?? []), r]);
  return [...found].map(([name, of]) => {
    const keys = Object.keys(of[0].settings!).filter((k) => new Set(of.map((r) => text(r.settings![k]))).size > 1);
    return { name, keys: keys.length > 0 ? keys : Object.keys(of[0].settings!).slice(0, 1), runs: of };
  });
}

const valuesOf = (s: Sweep, key: string): string[] => [...new Set(s.runs.map((r) => text(r.settings![key])))];  // in the order of the sweep
const plansOf = (s: Sweep): string[] => [...new Set(s.runs.map((r) => r.plan))];

function sweepElement(s: Sweep): HTMLElement {
  let metric = 0;
  let plan = 0;
  const fixed = new Map(s.keys.slice(2).map((k) => [k, valuesOf(s, k)[0]]));  // of further keys one value each
  const here = (): Run[] => s.runs.filter((r) => [...fixed].every(([k, v]) => text(r.settings![k]) === v));
  const [x, y] = s.keys;
  const hasSame = s.runs.some((r) => !r.replanned), hasAgain = s.runs.some((r) => r.replanned);
  let again = hasAgain;

  const curves = (): ReturnType<typeof chart> => chart(`Curves: the sweep ${s.name}`, 340, (t) => {
    const values = valuesOf(s, x);
    const lines = plansOf(s).flatMap((p, i) => [true, false].filter((r) => (r ? hasAgain : hasSame)).map((replanned) => ({ p, i, replanned })));
    return {
      grid: { left: 12, right: 24, top: 44, bottom: 34, outerBoundsMode: "same", outerBoundsContain: "all" },
      legend: legendLook(t, { icon: undefined, itemWidth: 26, type: "scroll" }),
      tooltip: tooltip(t, { trigger: "axis", formatter: (items: { seriesName: string; dataIndex: number; value: number | null }[]) =>
        line(`${lastPart(x)} = ${values[items[0].dataIndex]}`, true) + items.map((i) => line(`${i.seriesName}: ${i.value === null ? "no answer" : metrics[metric].show(i.value)}`)).join("") }),
      xAxis: axis(t, { type: "category", data: values, name: lastPart(x), boundaryGap: false }),
      yAxis: axis(t, { type: "value", min: 0, axisLabel: { formatter: metrics[metric].show } }),
      series: lines.map(({ p, i, replanned }) => ({
        name: replanned ? `${p}${hasSame ? ", re-planned" : ""}` : `${p}, same plan`, type: "line", symbol: replanned ? "circle" : "emptyCircle", symbolSize: 7, connectNulls: false,
        lineStyle: { width: 2, type: replanned ? "solid" : "dashed", color: series[i % series.length] }, itemStyle: { color: series[i % series.length] },
        data: values.map((v) => { const r = here().find((q) => q.plan === p && q.replanned === replanned && text(q.settings![x]) === v); return r ? metrics[metric].of(r) : null; }),
      })),
    };
  });

  const heat = (): ReturnType<typeof chart> => chart(`Heat map: the sweep ${s.name}`, 150 + 38 * valuesOf(s, y).length, (t) => {
    const xs = valuesOf(s, x), ys = valuesOf(s, y), name = plansOf(s)[plan];
    const cells = here().filter((r) => r.plan === name && r.replanned === again).map((r) => ({ r, value: metrics[metric].of(r) })).filter((c) => c.value !== null);
    const numbers = cells.map((c) => c.value!);
    const low = numbers.length > 0 ? Math.min(...numbers) : 0, high = Math.max(low, ...numbers);
    return {
      grid: { left: 12, right: 24, top: 10, bottom: 80, outerBoundsMode: "same", outerBoundsContain: "all" },
      tooltip: tooltip(t, { formatter: (i: { dataIndex: number }) => { const c = cells[i.dataIndex]; return line(c.r.variant, true) + line(`${metrics[metric].name}: ${metrics[metric].show(c.value!)}`) + line(c.r.plan_summary); } }),
      xAxis: axis(t, { type: "category", data: xs, name: lastPart(x), splitArea: { show: false }, splitLine: { show: false } }),
      yAxis: axis(t, { type: "category", data: ys, name: lastPart(y), nameGap: 50, splitLine: { show: false } }),
      visualMap: { show: cells.length > 0, min: low, max: high > low ? high : low + 1e-9, calculable: false, orient: "horizontal", left: "center", bottom: 0, inRange: { color: scale }, textStyle: { color: t.ink }, text: [metrics[metric].show(high), metrics[metric].show(low)], itemHeight: 160 },
      series: [{ type: "heatmap", itemStyle: { borderColor: t.paper, borderWidth: 2 },
        label: { show: true, fontSize: 12, color: "#fff", textBorderColor: "#000", textBorderWidth: 2, formatter: (i: { dataIndex: number }) => metrics[metric].show(cells[i.dataIndex].value!) },
        data: cells.map((c) => [xs.indexOf(text(c.r.settings![x])), ys.indexOf(text(c.r.settings![y])), c.value]) }],
    };
  });

  const drawn = s.keys.length >= 2 ? heat() : curves();
  return h("div", { class: "sweep" }, h("h3", {}, `${s.name}: ${s.keys.map(lastPart).join(" and ")}`),
    h("div", { class: "tools" },
      choice("Show", metrics.map((m) => m.name), 0, (i) => { metric = i; drawn.update(); }),
      s.keys.length >= 2 && plansOf(s).length > 1 ? choice("Plan", plansOf(s), 0, (i) => { plan = i; drawn.update(); }) : null,
      s.keys.length >= 2 && hasSame && hasAgain ? choice("Made", ["re-planned", "same plan"], 0, (i) => { again = i === 0; drawn.update(); }) : null,
      ...s.keys.slice(2).map((k) => choice(lastPart(k), valuesOf(s, k), 0, (i) => { fixed.set(k, valuesOf(s, k)[i]); drawn.update(); }))),
    drawn.element,
    folded("The points as a table", () => table(`Sweep ${s.name}`, [
      ...s.keys.map((k) => ({ label: k, value: (r: Run) => text(r.settings![k]) })),
      { label: "Plan", value: (r) => r.plan }, { label: "Made", value: (r) => (r.replanned ? "re-planned" : "same plan") }, { label: "Status", value: (r) => r.status },
      { label: "Time", value: (r) => r.iteration_time_s, show: (r) => seconds(r.iteration_time_s) },
      { label: "Tokens/s", value: (r) => metrics[1].of(r), show: (r) => number(metrics[1].of(r)) }, { label: "MFU", value: (r) => r.mfu, show: (r) => percent(r.mfu) },
      { label: "Summary", value: (r) => r.plan_summary },
    ], s.runs)));
}

export function sweeps({ result }: Answer): HTMLElement | null {
  const all = sweepsOf(result.runs);
  if (all.length === 0) return null;
  return section("sweeps", "Sweeps",
    "How the answer changes over the values of a key. A flat curve means that the key buys nothing there; where the dashed curve (the base's plan) leaves the solid one, another plan is better.",
    ...all.map(sweepElement));
}
