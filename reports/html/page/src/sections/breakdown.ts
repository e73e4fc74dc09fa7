// Where the time goes, and what makes the difference between plans.

import { axis, chart, escaped, legendLook, line, tooltip } from "../chart";
import type { Answer, Breakdown, Run, Stage } from "../data";
import { choice, h } from "../dom";
import { percent, seconds, words } from "../format";
import { bestOf, madeText, nameOf } from "../runs";
import { section } from "../section";
import { folded, table } from "../table";
import type { Colour } from "../theme";

const parts: { key: keyof Breakdown; colour: Colour; name: string }[] = [
  { key: "compute", colour: "blue", name: "compute" },
  { key: "exposed_communication", colour: "red", name: "exposed communication" },
  { key: "bubble", colour: "orange", name: "pipeline bubble" },
  { key: "imbalance", colour: "yellow", name: "slower stages" },
  { key: "idle", colour: "grey", name: "host" },
];
const mostBars = 40;

// "exposed communication by all_reduce 3.1 ms, all_gather 1 ms"
function exposedText(run: Run): string {
  const by = (m: Record<string, number> | undefined): string => Object.entries(m ?? {}).sort((a, b) => b[1] - a[1]).map(([k, v]) => `${words(k)} ${seconds(v)}`).join(", ");
  const e = run.exposed_communication_s;
  return e ? `${by(e.by_collective)}; over ${by(e.by_link)}` : "";
}

function differences(behind: Run[]): HTMLElement[] {
  if (behind.length === 0) return [];
  return [h("h3", {}, "What makes the difference"),
    h("p", { class: "says" }, "How much longer each plan takes than the quickest one, and which part of the time that comes from; in a part below zero it is quicker."),
    table("What makes the difference", [
      { label: "Plan", value: nameOf }, { label: "behind", value: (r) => r.behind!.plan }, { label: "by", value: (r) => r.behind!.seconds, show: (r) => seconds(r.behind!.seconds) },
      ...parts.map((p) => ({ label: p.name, value: (r: Run) => r.behind!.terms[p.key], show: (r: Run) => seconds(r.behind!.terms[p.key] ?? 0) })),
    ], behind)];
}

// Of a pipeline: where the time of each stage goes.
function stagesOf(run: Run | null): HTMLElement[] {
  const stages = run?.stages ?? [];
  if (stages.length < 2) return [];
  const of = (stage: Stage, part: keyof Breakdown): number => stage[`${part}_s` as keyof Stage];
  const bars = chart(`Bars: the time of each stage of ${run!.plan}`, 120 + 22 * stages.length, (t) => ({
    tooltip: tooltip(t, { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (items: { dataIndex: number }[]) => {
      const stage = stages[items[0].dataIndex];
      return line(`stage ${stage.stage}`, true) + parts.map((p) => line(`${p.name}: ${seconds(of(stage, p.key))}`)).join("");
    } }),
    legend: legendLook(t),
    xAxis: axis(t, { type: "value", axisLabel: { formatter: (v: number) => seconds(v) } }),
    yAxis: axis(t, { type: "category", inverse: true, data: stages.map((s) => `stage ${s.stage}`), splitLine: { show: false } }),
    series: parts.map((p) => ({
      name: p.name, type: "bar", stack: "time", barMaxWidth: 18, itemStyle: { color: t.colours[p.colour], borderColor: t.paper, borderWidth: 1 },
      data: stages.map((s) => of(s, p.key)),
    })),
  }));
  bars.update();
  return [h("h3", {}, `The stages of ${run!.plan}`), bars.element];
}

export function breakdown({ rows }: Answer): HTMLElement | null {
  const timed = rows.filter((r) => r.breakdown_s && r.iteration_time_s);
  if (timed.length === 0) return null;
  const variants = ["base", ...new Set(timed.map((r) => r.variant).filter((v) => v !== "base"))].filter((v) => timed.some((r) => r.variant === v));
  const groups = variants.length > 1 ? [...variants, "all"] : variants;
  let group = groups[0];
  let asShare = false;
  const chosen = (): Run[] => timed.filter((r) => group === "all" || r.variant === group).slice(0, mostBars);
  const label = (r: Run): string => (group === "all" ? nameOf(r) : r.variant === "base" ? r.plan : `${r.plan}, ${madeText(r)}`);
  const height = (): number => 90 + 34 * chosen().length;

  const bars = chart("Bars: the parts of each plan's iteration time", height(), (t, width) => {
    const runs = chosen().slice().reverse();  // the first on top
    return {
      legend: legendLook(t),
      tooltip: tooltip(t, { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (items: { dataIndex: number }[]) => {
        const r = runs[items[0].dataIndex];
        return line(nameOf(r), true) + line(`${seconds(r.iteration_time_s)} in all`) +
          parts.map((p) => line(`${p.name}: ${seconds(r.breakdown_s![p.key])} (${percent(r.breakdown_s![p.key] / r.iteration_time_s!)})`)).join("") +
          (exposedText(r) ? `<small>waits for ${escaped(exposedText(r))}</small>` : "");
      } }),
      xAxis: axis(t, { type: "value", max: asShare ? 1 : undefined, axisLabel: { formatter: (v: number) => (asShare ? percent(v, 0) : seconds(v)) } }),
      yAxis: axis(t, { type: "category", data: runs.map(label), splitLine: { show: false }, axisLabel: { hideOverlap: false, width: Math.min(220, width * 0.35), overflow: "truncate" } }),
      series: parts.map((p) => ({
        name: p.name, type: "bar", stack: "time", barMaxWidth: 26, itemStyle: { color: t.colours[p.colour], borderColor: t.paper, borderWidth: 1 },
        data: runs.map((r) => r.breakdown_s![p.key] / (asShare ? r.iteration_time_s! : 1)),
      })),
    };
  });
  const difference = h("div");
  const stages = h("div");
  const redraw = (): void => {
    difference.replaceChildren(...differences(timed.filter((r) => r.behind && r.behind.terms && (group === "all" || r.variant === group))));
    bars.element.style.height = `${height()}px`;
    bars.update();
    stages.replaceChildren(...stagesOf(bestOf(chosen())));
  };

  redraw();
  return section("breakdown", "Where the time goes",
    "Each bar is one iteration, the mean of a pipeline's stages: kernels at work, then what GPUs wait for. A long red part asks for a faster network or more overlap, an orange one for more micro-batches, a yellow one for equal stages, a grey one for a faster host.",
    h("div", { class: "tools" },
      groups.length > 1 ? choice("Variant", groups, 0, (i) => { group = groups[i]; redraw(); }) : null,
      choice("As", ["seconds", "shares"], 0, (i) => { asShare = i === 1; redraw(); })),
    bars.element,
    folded("The figures as a table", () => table("Where the time goes", [
      { label: "Plan", value: nameOf },
      ...parts.map((p) => ({ label: p.name, value: (r: Run) => r.breakdown_s![p.key], show: (r: Run) => seconds(r.breakdown_s![p.key]) })),
      { label: "all", value: (r) => r.iteration_time_s, show: (r) => seconds(r.iteration_time_s) },
      { label: "waits for", value: exposedText },
    ], timed)),
    stages, difference);
}
