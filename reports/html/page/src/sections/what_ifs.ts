// What-ifs: what each change gains, with the same plan and with a plan made for it.

import { axis, chart, legendLook, line, tooltip } from "../chart";
import type { Answer, Run } from "../data";
import { h } from "../dom";
import { seconds, timesText, words } from "../format";
import { endsOf, isBase, isNoSureGain, madeText, speedup, type Ends } from "../runs";
import { section } from "../section";
import { table, type Column } from "../table";
import { inkOn, type Colour } from "../theme";
import { intervalLines } from "../interval_lines";

// The answers of one plan entry to one what-if. `again`: where planning for it gave another plan.
interface Row { variant: string; plan: string; base?: Run; same?: Run; again?: Run }
const mostBars = 40;
const barColours: Record<string, Colour> = { "same plan": "blue", "re-planned": "orange", unchanged: "sky" };
const fits = (r: Run): boolean => r.status === "ok";
const timeOf = (r: Run | undefined): HTMLElement | string => (r && !fits(r) ? h("span", {}, seconds(r.iteration_time_s), h("small", {}, words(r.status))) : seconds(r?.iteration_time_s));
const interval = "90 % interval";

function rowsOf(runs: Run[], base: Run[]): Row[] {
  const rows = new Map<string, Row>();
  for (const r of runs) {
    const key = `${r.variant}\n${r.plan}`;
    const row = rows.get(key) ?? { variant: r.variant, plan: r.plan, base: base.find((b) => b.plan === r.plan) };
    rows.set(key, r.replanned ? { ...row, again: r } : { ...row, same: r });
  }
  return [...rows.values()];
}

// A bar for each run, so that an unchanged plan has one.
function bars(rows: Row[]): HTMLElement | null {
  const all = rows.flatMap((row) => [row.same, row.again].flatMap((run) => (run && speedup(run, row.base) !== null ? [{ row, run, speed: speedup(run, row.base)!, ends: endsOf(run, row.base) }] : []))).slice(0, mostBars);
  if (all.length === 0) return null;
  const shown = all.slice().reverse();  // the first on top
  const sorts = Object.keys(barColours).filter((made) => all.some((b) => madeText(b.run) === made));
  return chart("Bars: speed of each what-if against the base", 100 + 26 * all.length, (t, width) => ({
    legend: legendLook(t),
    tooltip: tooltip(t, { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (items: { dataIndex: number }[]) => {
      const { row, run, speed, ends } = shown[items[0].dataIndex];
      return line(`${row.plan}, ${row.variant}`, true) + line(`base: ${seconds(row.base?.iteration_time_s)}`) + line(`${madeText(run)}: ${seconds(run.iteration_time_s)}, ${timesText(speed, ends)}${isNoSureGain(ends) ? ", no sure gain" : ""}`) + line(run.plan_summary);
    } }),
    grid: { left: 12, right: 24, top: 40, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
    xAxis: axis(t, { type: "value", min: 0, name: "speed as a multiple of the base's" }),
    yAxis: axis(t, { type: "category", data: shown.map((b) => `${b.row.variant}: ${b.row.plan}`), splitLine: { show: false }, axisLabel: { hideOverlap: false, width: Math.min(280, width * 0.42), overflow: "truncate" } }),
    series: [...sorts.map((made, i) => ({ name: made, type: "bar", stack: "speed", barMaxWidth: 16, itemStyle: { color: t.colours[barColours[made]] }, data: shown.map((b) => (madeText(b.run) === made ? b.speed : null)),
      label: { show: true, position: "insideLeft", color: inkOn(t.colours[barColours[made]]), formatter: (b: { dataIndex: number }) => (fits(shown[b.dataIndex].run) ? "" : "does not fit") },
      markLine: i > 0 ? undefined : { symbol: "none", silent: true, label: { show: false }, lineStyle: { color: t.ink, type: "dashed" }, data: [{ xAxis: 1 }] } })),
      intervalLines(interval, shown.flatMap((b, i) => (b.ends && b.ends[0] < b.ends[1] ? [{ at: i, ends: b.ends }] : [])), t.ink, "across")],
  })).element;
}

// A speed, shown with its interval; copied tables have the ends in columns of their own.
function speedColumns(label: string, plan: string, of: (r: Row) => Run | undefined): Column<Row>[] {
  const ends = (r: Row): Ends | null => endsOf(of(r), r.base);
  return [
    { label, title: "Tokens or samples a second against the base, with the 90 % interval of the comparison", value: (r) => speedup(of(r), r.base), show: (r) => timesText(speedup(of(r), r.base), ends(r)) },
    { label: `Low of ${plan}`, value: (r) => ends(r)?.[0], only: "copied" }, { label: `High of ${plan}`, value: (r) => ends(r)?.[1], only: "copied" },
  ];
}

export function whatIfs({ rows: runs }: Answer): HTMLElement | null {
  const rows = rowsOf(runs.filter((r) => !isBase(r) && r.sweep === undefined), runs.filter(isBase));
  if (rows.length === 0) return null;
  const isUnchanged = (r: Row): boolean => r.same?.unchanged === true;
  return section("what-ifs", "What if",
    "How many tokens or samples a second each change brings against the base (1, the dashed line), with the base's plan and with a plan made for it. Where the two differ, a new plan is part of the gain; a plan that stays the best is unchanged. A line on a bar is the 90 % interval of the comparison: where it meets the dashed line, the gain is not sure.",
    bars(rows), table("What if", [
      { label: "Variant", value: (r) => r.variant }, { label: "Plan", value: (r) => r.plan }, { label: "Base", value: (r) => r.base?.iteration_time_s, show: (r) => seconds(r.base?.iteration_time_s) },
      { label: "Same plan", value: (r) => r.same?.iteration_time_s, show: (r) => timeOf(r.same) },
      ...speedColumns("Speed", "same plan", (r) => r.same),
      { label: "Re-planned", value: (r) => r.again?.iteration_time_s, show: (r) => (isUnchanged(r) ? "unchanged" : timeOf(r.again)) },
      ...(rows.some((r) => r.again) ? [
        ...speedColumns("Speed ", "new plan", (r) => r.again),
        { label: "New plan", value: (r: Row) => r.again?.plan_summary },
      ] : []),
    ], rows));
}
