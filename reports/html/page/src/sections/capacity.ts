// What to buy: cost against time to train.

import { axis, chart, legendLook, line, tooltip } from "../chart";
import type { Answer, Capacity, CapacitySummary, Machine } from "../data";
import { h } from "../dom";
import { dollars, number, percent, timesText, words } from "../format";
import { durationsOf, machineText, range } from "../machines";
import { section } from "../section";
import { folded, table, type Column } from "../table";

const day = 86400;
const judged = (x: boolean | string | null | undefined): string => (x === undefined || x === null ? "–" : typeof x === "string" ? x : x ? "yes" : "no");
const deadline = (c: Capacity): string => judged(c.deadline_chance ?? c.meets_deadline);
const budget = (c: Capacity): string => judged(c.budget_chance ?? c.meets_budget);
const isAsked = (x: unknown): boolean => x !== undefined && x !== null;

type Show = (x: number | null | undefined) => string;
const oneLine = (text: string | undefined): HTMLElement => h("span", { class: "one-line" }, text ?? "–");
// The interval of the time, and below it how many times as quick the machine is as the one that the answer names.
const intervals = (c: Capacity, duration: Show): HTMLElement =>
  h("span", { class: "one-line" }, c.time_to_train_interval_s ? range(c.time_to_train_interval_s, duration) : "–", isAsked(c.speedup) ? h("small", {}, timesText(c.speedup, c.speedup_interval, 2)) : null);
const nameOf = (c: Capacity): string => `${c.candidate}, ${c.nodes} nodes, ${c.plan}`;
const noteTerms: Record<string, string> = { assumption: "Assumed", problem: "Problem", caution: "Caution" };

// The answers in words: which machine, how long, how much.
function summaryOf(s: CapacitySummary, all: Capacity[]): HTMLElement {
  const limited = all.some((c) => isAsked(c.meets_deadline)), bounded = all.some((c) => isAsked(c.meets_budget));
  const same = (a: Machine | null, b: Machine | null): boolean => a !== null && b !== null && a.candidate === b.candidate && a.nodes === b.nodes && a.plan === b.plan;
  const row = (term: string, m: Machine | null): [string, string] => [term, m ? machineText(m, all) : "none"];
  const rows: [string, string][] = [
    row(limited ? "Smallest that meets the deadline" : "Smallest", s.smallest),
    ...(limited && s.smallest && !same(s.smallest_surely, s.smallest) ? [row("Smallest that surely does", s.smallest_surely)] : []),
    ...(s.cheapest ? [row(limited ? "Cheapest that does" : "Cheapest", s.cheapest)] : []),
    ...(bounded ? [row("Quickest within the budget", s.quickest)] : []),
    ...s.break_even.filter((b) => b.price_usd_per_gpu_hour !== undefined && same(b.against, s.cheapest)).map((b): [string, string] => ["Break-even", `${b.candidate} x ${b.nodes} would cost what ${b.against.candidate} x ${b.against.nodes} does at ${dollars(b.price_usd_per_gpu_hour)} per GPU and hour`]),
    ...s.notes.map((n): [string, string] => [noteTerms[n.kind] ?? "Note", n.text]),
  ];
  return h("dl", { class: "answers" }, ...rows.flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]));
}

// Each sentence once, with the machines that it is about where it is not about all.
function notesOf(all: Capacity[]): HTMLElement {
  const about = new Map<string, Capacity[]>();
  for (const c of all) for (const n of new Set((c.notes ?? []).map((note) => note.text))) about.set(n, [...(about.get(n) ?? []), c]);
  return h("ul", {}, ...[...about].map(([text, of]) => h("li", {}, of.length === all.length ? text : `${of.map((c) => `${c.candidate} x ${c.nodes}`).join(", ")}: ${text}`)));
}

// What decides comes first; what no machine has is left out.
function columnsOf(all: Capacity[], duration: Show): Column<Capacity>[] {
  const columns: (Column<Capacity> & { if?: keyof Capacity })[] = [
    { label: "Candidate", value: (c) => c.candidate, show: (c) => h("span", {}, `${c.candidate} x ${c.nodes}`, h("small", {}, `${c.plan}${c.plan_summary ? `: ${c.plan_summary}` : ""}`)) },
    { label: "Nodes", value: (c) => c.nodes, only: "copied" },
    { label: "Plan", value: (c) => c.plan, only: "copied" },
    { label: "Summary", value: (c) => c.plan_summary, only: "copied" },
    { label: "Time", title: "Time to train", value: (c) => c.time_to_train_s, show: (c) => duration(c.time_to_train_s) },
    { label: "90 % interval", value: (c) => c.time_to_train_interval_s?.[0], show: (c) => intervals(c, duration), only: "shown", title: "Of the time; below it the speed against the cheapest machine, else the smallest, else the first" },
    { label: "90 % low", value: (c) => c.time_to_train_interval_s?.[0], only: "copied" }, { label: "90 % high", value: (c) => c.time_to_train_interval_s?.[1], only: "copied" },
    { label: "Speed", value: (c) => c.speedup, if: "speedup", only: "copied" },
    { label: "Speed low", value: (c) => c.speedup_interval?.[0], if: "speedup", only: "copied" }, { label: "Speed high", value: (c) => c.speedup_interval?.[1], if: "speedup", only: "copied" },
    { label: "Cost", value: (c) => c.cost_usd, show: (c) => dollars(c.cost_usd), if: "cost_usd" },
    { label: "90 % of cost", title: "The interval that holds the true cost nine times in ten", value: (c) => c.cost_interval_usd?.[0], show: (c) => oneLine(c.cost_interval_usd?.map((x) => dollars(x, 3)).join(" to ")), if: "cost_interval_usd", only: "shown" },
    { label: "Cost low", value: (c) => c.cost_interval_usd?.[0], if: "cost_interval_usd", only: "copied" }, { label: "Cost high", value: (c) => c.cost_interval_usd?.[1], if: "cost_interval_usd", only: "copied" },
    { label: "Deadline", value: deadline, if: "meets_deadline" }, { label: "Budget", value: budget, if: "meets_budget" },
    { label: "Frontier", value: (c) => judged(c.on_frontier), if: "on_frontier" },
    { label: "MFU", value: (c) => c.mfu_causal, show: (c) => percent(c.mfu_causal) },
    { label: "Goodput", title: "Share of the time that is not lost to failures and checkpoints", value: (c) => c.goodput, show: (c) => percent(c.goodput) },
    { label: "Energy", value: (c) => c.energy_j, show: (c) => (c.energy_j ? `${number(c.energy_j / 3.6e9, 3)} MWh` : "–"), if: "energy_j" },
    { label: "Status", value: (c) => words(c.status) },
    { label: "GPUs", value: (c) => c.gpus },
  ];
  return columns.filter((column) => column.if === undefined || all.some((c) => isAsked(c[column.if!])));
}

export function capacity({ result }: Answer): HTMLElement | null {
  const all = result.capacity ?? [];
  if (all.length === 0) return null;
  const duration = durationsOf(all), summary = result.capacity_summary;
  const priced = all.filter((c) => c.time_to_train_s && c.cost_usd);
  const candidates = [...new Set(priced.map((c) => c.candidate))];
  const symbols = ["circle", "rect", "triangle", "diamond", "pin", "arrow", "roundRect"];
  const drawn = priced.length === 0 ? null : chart("Scatter: cost against time to train of each candidate, with intervals and the frontier", 420, (t) => {
    const frontier = priced.filter((c) => c.on_frontier).sort((a, b) => a.time_to_train_s! - b.time_to_train_s!);
    // An interval that goes far beyond all forecasts is cut off: the marks are what is compared.
    const most = (of: (c: Capacity) => number, end: (c: Capacity) => number | undefined): number => {
      const forecasts = 2.5 * Math.max(...priced.map(of));
      return Math.max(...priced.map((c) => end(c) ?? 0)) > forecasts ? Number(forecasts.toPrecision(2)) : NaN;
    };
    const longest = most((c) => c.time_to_train_s! / day, (c) => (c.time_to_train_interval_s?.[1] ?? 0) / day), dearest = most((c) => c.cost_usd!, (c) => c.cost_interval_usd?.[1]);
    const bars = priced.filter((c) => c.time_to_train_interval_s && c.cost_interval_usd);
    return {
      grid: { left: 16, right: 24, top: 40, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      legend: legendLook(t, { icon: undefined, type: "scroll", data: [...candidates, "frontier"] }),
      tooltip: tooltip(t, { trigger: "item", formatter: (i: { data: { of?: Capacity } }) => {
        const c = i.data.of;
        if (!c) return "";
        const [a, b] = c.time_to_train_interval_s ?? [null, null], [d, e] = c.cost_interval_usd ?? [null, null];
        return line(nameOf(c), true) + line(`${c.gpus} GPUs`) + line(`${duration(c.time_to_train_s)} (${duration(a)} to ${duration(b)})`) + (isAsked(c.speedup) ? line(`${timesText(c.speedup, c.speedup_interval, 2)} as quick as the machine that the answer names`) : "") + line(`${dollars(c.cost_usd)} (${dollars(d)} to ${dollars(e)})`) + line(`deadline: ${deadline(c)}, budget: ${budget(c)}`) + line(c.plan_summary ?? "");
      } }),
      xAxis: axis(t, { type: "value", min: 0, max: longest || undefined, name: "days to train", axisLabel: { formatter: (v: number) => number(v, 3) } }),
      yAxis: axis(t, { type: "value", min: 0, max: dearest || undefined, axisLabel: { formatter: (v: number) => dollars(v) } }),
      series: [
        { type: "custom", silent: true, z: 1, clip: true, data: bars.map((c) => [c.time_to_train_s! / day, c.cost_usd!, ...c.time_to_train_interval_s!.map((s) => s / day), ...c.cost_interval_usd!]), encode: { x: [0, 2, 3], y: [1, 4, 5] },
          renderItem: (_: unknown, api: { value: (i: number) => number; coord: (p: number[]) => number[] }) => {
            const [x, y, x1, x2, y1, y2] = [0, 1, 2, 3, 4, 5].map((i) => api.value(i));
            const [a, b, c, d] = [api.coord([x1, y]), api.coord([x2, y]), api.coord([x, y1]), api.coord([x, y2])];
            const stroke = { stroke: t.soft, lineWidth: 1.2, fill: "none" };
            return { type: "group", children: [{ type: "line", shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] }, style: stroke }, { type: "line", shape: { x1: c[0], y1: c[1], x2: d[0], y2: d[1] }, style: stroke }] };
          } },
        { name: "frontier", type: "line", symbol: "none", z: 2, silent: true, lineStyle: { color: t.ink, width: 1.5, type: "dashed" }, itemStyle: { color: t.ink }, data: frontier.map((c) => [c.time_to_train_s! / day, c.cost_usd!]) },
        ...candidates.map((name, i) => ({
          name, type: "scatter", z: 3, symbol: symbols[i % symbols.length], itemStyle: { color: t.series[i % t.series.length], opacity: 1 },
          data: priced.filter((c) => c.candidate === name).map((c) => ({ value: [c.time_to_train_s! / day, c.cost_usd!], of: c, symbolSize: c.on_frontier ? 16 : 10, itemStyle: { borderColor: c.on_frontier ? t.ink : t.paper, borderWidth: c.on_frontier ? 2 : 1 } })),
        })),
      ],
    };
  });
  return section("capacity", "What to buy",
    "Each mark is a cluster with its best plan: further left is sooner, further down is cheaper, and the lines are 90 % intervals. Marks with a border lie on the frontier: nothing else is both sooner and cheaper.",
    summary ? summaryOf(summary, all) : null, drawn?.element ?? null,
    table("What to buy", columnsOf(all, duration), all, { best: (c) => c.on_frontier === true }),
    all.some((c) => c.notes?.length) ? folded("What the figures of these machines are based on", () => notesOf(all)) : null);
}
