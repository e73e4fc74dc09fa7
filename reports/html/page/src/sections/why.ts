// Why an iteration takes as long as it does: its critical path, and the use of the links over time.

import { axis, axisTo, chart, legendLook, line, tooltip } from "../chart";
import type { Answer, CriticalPart, Run } from "../data";
import { choice, h } from "../dom";
import { percent, seconds } from "../format";
import { nameOf } from "../runs";
import { section, together } from "../section";
import { table } from "../table";
import type { Colour } from "../theme";

const kindColours: Record<string, Colour> = { operator: "blue", collective: "red", transfer: "orange", host: "grey", wait: "yellow" };
const kindOrder = Object.keys(kindColours);
const mostLinks = 8;

function pathChart(runs: Run[]): HTMLElement {
  const shown = runs.slice(0, 20);
  const kinds = [...new Set(shown.flatMap((r) => r.critical_path!.map((p) => p.kind)))].sort((a, b) => kindOrder.indexOf(a) - kindOrder.indexOf(b));
  return chart("Bars: the critical path of each plan by what is on it", 90 + 34 * shown.length, (t, width) => {
    const order = shown.slice().reverse();
    const sum = (r: Run, kind: string): number => r.critical_path!.filter((p) => p.kind === kind).reduce((a, p) => a + p.time_s, 0);
    return {
      legend: legendLook(t),
      tooltip: tooltip(t, { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (items: { dataIndex: number }[]) => { const r = order[items[0].dataIndex]; return line(nameOf(r), true) + kinds.map((k) => line(`${k}: ${seconds(sum(r, k))}`)).join(""); } }),
      xAxis: axis(t, { type: "value", axisLabel: { formatter: (v: number) => seconds(v) } }),
      yAxis: axis(t, { type: "category", data: order.map(nameOf), splitLine: { show: false }, axisLabel: { hideOverlap: false, width: Math.min(220, width * 0.35), overflow: "truncate" } }),
      series: kinds.map((k, i) => ({ name: k, type: "bar", stack: "path", barMaxWidth: 26, itemStyle: { color: t.colours[kindColours[k]] ?? t.series[i % t.series.length], borderColor: t.paper, borderWidth: 1 }, data: order.map((r) => sum(r, k)) })),
    };
  }).element;
}

export function why({ result }: Answer): HTMLElement | null {
  const paths = result.runs.filter((r) => r.variant === "base" && r.critical_path && r.critical_path.length > 0);
  const links = result.runs.filter((r) => r.variant === "base" && r.links?.some((l) => l.over_time && l.over_time.length > 0));
  if (paths.length === 0 && links.length === 0) return null;
  const parts = h("div");
  const showPath = (i: number): void => {
    const path = paths[i].critical_path!, all = path.reduce((a, p) => a + p.time_s, 0);
    parts.replaceChildren(table("Critical path", [
      { label: "On the path", value: (p: CriticalPart) => p.name }, { label: "Kind", value: (p: CriticalPart) => p.kind }, { label: "Link", value: (p: CriticalPart) => p.link ?? "" },
      { label: "Time", value: (p: CriticalPart) => p.time_s, show: (p: CriticalPart) => seconds(p.time_s) }, { label: "Share", value: (p: CriticalPart) => p.time_s / all, show: (p: CriticalPart) => percent(p.time_s / all) },
    ], path, { sort: [3, false] }));
  };
  if (paths.length > 0) showPath(0);
  let now = 0;
  const use = links.length === 0 ? null : chart("Lines: how busy each type of link is over the iteration", 320, (t, width) => {
    const run = links[now], shown = run.links!.filter((l) => l.over_time && l.over_time.length > 0).sort((a, b) => b.busy - a.busy).slice(0, mostLinks);
    const all = run.iteration_time_s ?? 1;
    return {
      grid: { left: 12, right: 24, top: 40, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      legend: legendLook(t, { icon: undefined, type: "scroll" }),
      tooltip: tooltip(t, { trigger: "axis", formatter: (items: { seriesName: string; value: [number, number] }[]) => line(`from ${seconds(items[0].value[0])}`, true) + items.map((i) => line(`${i.seriesName}: ${percent(i.value[1])}`)).join("") }),
      xAxis: axisTo(t, all, width, seconds, { name: "time in the iteration" }),
      yAxis: axis(t, { type: "value", min: 0, max: 1, axisLabel: { formatter: (v: number) => percent(v, 0) } }),
      series: shown.map((l, i) => ({ name: `${l.type} (${l.count ?? 1} links)`, type: "line", step: "end", symbol: "none", lineStyle: { width: 1.8, color: t.series[i % t.series.length] }, itemStyle: { color: t.series[i % t.series.length] },
        data: [...l.over_time!.map((share, k) => [(k * all) / l.over_time!.length, share]), [all, l.over_time!.at(-1)]] })),
    };
  });
  return section("why", "Why it takes so long",
    "The critical path is the chain of kernels, transfers and hosts, each waiting for the one before it, that ends last: only what is on it makes the iteration shorter. Its parts add up to the iteration time.",
    paths.length > 0 ? pathChart(paths) : null,
    paths.length > 1 ? h("div", { class: "tools" }, choice("Plan", paths.map((r) => r.plan), 0, showPath)) : null, parts,
    use === null ? null : together(h("h3", {}, "Links over time"),
      h("p", { class: "says" }, "The share of each hundredth of the iteration in which links of a type are busy, as the mean over those that carry something. Links at 100 % hold back what waits for them."),
      links.length > 1 ? h("div", { class: "tools" }, choice("Plan", links.map((r) => r.plan), 0, (i) => { now = i; use.update(); })) : null, use.element));
}
