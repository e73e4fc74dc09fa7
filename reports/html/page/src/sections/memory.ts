// Memory: what fills it, and how it changes over an iteration.

import { axis, axisTo, chart, legendLook, line, tooltip } from "../chart";
import { rangesText, type Answer, type Memory, type MemoryData, type Run } from "../data";
import { choice, h } from "../dom";
import { memoryText, number, percent, seconds } from "../format";
import { isBase, nameOf } from "../runs";
import { leftOut, section, together } from "../section";
import { folded, table } from "../table";
import type { Colour } from "../theme";

const parts: { key: Exclude<keyof Memory, "peak" | "capacity">; colour: Colour; name: string }[] = [
  { key: "weights", colour: "blue", name: "weights" },
  { key: "gradients", colour: "sky", name: "gradients" },
  { key: "optimizer", colour: "green", name: "optimizer state" },
  { key: "activations", colour: "orange", name: "activations" },
  { key: "workspace", colour: "pink", name: "workspace" },
];
const gib = 2 ** 30;
const inGib = (v: number): string => number(v, 3);
const beyond = 0.04;  // so that the line of the capacity is inside
const mostBars = 30;
const mostCurves = 8;

export function memory({ result, details, rows }: Answer): HTMLElement | null {
  const base = rows.filter((r) => r.memory_bytes && isBase(r));
  if (base.length === 0) return null;
  const shown = base.slice(0, mostBars);
  const bars = chart("Bars: what fills the memory of each plan's fullest GPU", 120 + 34 * shown.length, (t, width) => {
    const runs = shown.slice().reverse();
    const capacity = Math.max(...runs.map((r) => r.memory_bytes!.capacity));
    return {
      grid: { left: 12, right: 24, top: width < 520 ? 74 : 54, bottom: 12, outerBoundsMode: "same", outerBoundsContain: "all" },
      legend: legendLook(t),
      tooltip: tooltip(t, { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (items: { dataIndex: number }[]) => {
        const r = runs[items[0].dataIndex], m = r.memory_bytes!;
        return line(r.plan, true) + line(`${memoryText(m.peak)} of ${memoryText(m.capacity)} (${percent(m.peak / m.capacity, 0)})`) + parts.map((p) => line(`${p.name}: ${memoryText(m[p.key])}`)).join("");
      } }),
      xAxis: axisTo(t, Math.max(capacity, ...runs.map((r) => r.memory_bytes!.peak)) / gib, width, inGib, { name: "GiB" }, beyond),
      yAxis: axis(t, { type: "category", data: runs.map((r) => r.plan), splitLine: { show: false }, axisLabel: { hideOverlap: false, width: Math.min(220, width * 0.35), overflow: "truncate" } }),
      series: parts.map((p, i) => ({
        name: p.name, type: "bar", stack: "memory", barMaxWidth: 26, itemStyle: { color: t.colours[p.colour], borderColor: t.paper, borderWidth: 1 },
        data: runs.map((r) => r.memory_bytes![p.key] / gib),
        markLine: i > 0 ? undefined : { symbol: "none", silent: true, lineStyle: { color: t.ink, type: "dashed", width: 1.5 }, label: { formatter: `capacity ${memoryText(capacity)}`, color: t.ink, position: "end", align: "right" }, data: [{ xAxis: capacity / gib }] },
      })),
    };
  });

  const kept = (details?.runs ?? []).filter((d) => d.memory && d.memory.devices.length > 0);
  return section("memory", "Memory",
    "What fills the memory of the GPU that has least room left, at its peak, and how that changes while an iteration runs. The dashed line is what the GPU has; a plan that crosses it does not fit.",
    bars.element,
    folded("The figures as a table", () => table("Memory", [
      { label: "Plan", value: nameOf },
      ...parts.map((p) => ({ label: p.name, value: (r: Run) => r.memory_bytes![p.key], show: (r: Run) => memoryText(r.memory_bytes![p.key]) })),
      { label: "peak", value: (r) => r.memory_bytes!.peak, show: (r) => memoryText(r.memory_bytes!.peak) },
      { label: "capacity", value: (r) => r.memory_bytes!.capacity, show: (r) => memoryText(r.memory_bytes!.capacity) },
    ], rows.filter((r) => r.memory_bytes))),
    kept.length > 0 ? overTime(kept.map((d) => ({ run: result.runs[d.run], data: d.memory! }))) : null);
}

function overTime(kept: { run: Run; data: MemoryData }[]): HTMLElement {
  const high = 320;
  let now = 0;
  const note = h("div");
  const curves = chart("Lines: memory of the simulated GPUs over an iteration", high, (t, width) => {
    const { run, data } = kept[now];
    const capacity = run.memory_bytes?.capacity ?? 0;
    const devices = data.devices.slice(0, mostCurves);
    return {
      grid: { left: 12, right: 24, top: 40, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      legend: legendLook(t, { icon: undefined, type: "scroll" }),
      tooltip: tooltip(t, { trigger: "axis", formatter: (items: { seriesName: string; value: [number, number] }[]) =>
        line(`at ${seconds(items[0].value[0])}`, true) + items.map((i) => line(`${i.seriesName}: ${memoryText(i.value[1] * gib)}`)).join("") }),
      xAxis: axisTo(t, data.end_s, width, seconds, { name: "time in the iteration" }),
      yAxis: axisTo(t, Math.max(capacity, ...devices.flatMap((d) => d.bytes)) / gib, 2 * high, inGib, { name: "GiB", nameGap: 40 }, beyond),
      series: devices.map((d, i) => ({
        name: `GPU ${rangesText(d.stands_for)}`, type: "line", step: "end", symbol: "none", lineStyle: { width: 1.8, color: t.series[i % t.series.length] }, itemStyle: { color: t.series[i % t.series.length] },
        data: [...d.time_s.map((time, k) => [time, d.bytes[k] / gib]), [data.end_s, (d.bytes.at(-1) ?? 0) / gib]],
        markLine: i > 0 || !capacity ? undefined : { symbol: "none", silent: true, lineStyle: { color: t.ink, type: "dashed", width: 1.5 }, label: { formatter: `capacity ${memoryText(capacity)}`, color: t.ink, position: "insideEndBottom" }, data: [{ yAxis: capacity / gib }] },
      })),
    };
  });
  const say = (): void => {
    const { data } = kept[now];
    note.replaceChildren(...[leftOut(data.left_out), data.devices.length > mostCurves ? leftOut(`The curves of the first ${mostCurves} of ${data.devices.length} sorts of GPUs are drawn.`) : null].filter((x) => x !== null));
  };
  say();
  return together(h("h3", {}, "Over an iteration"),
    h("div", { class: "tools" }, kept.length > 1 ? choice("Plan", kept.map((k) => k.run.plan), 0, (i) => { now = i; say(); curves.update(); }) : h("span", {}, kept[0].run.plan)),
    curves.element, note);
}
