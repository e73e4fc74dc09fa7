// Forecasts held against measurements.

import { axis, chart, escaped, legendLook, line, tooltip } from "../chart";
import type { Validation, ValidationGroup, ValidationPoint } from "../data";
import { h } from "../dom";
import { number, percent, seconds } from "../format";
import { section } from "../section";
import { table } from "../table";

const symbols = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle", "emptyDiamond"];
const plural = (subject: string): string => (subject === "memory" ? subject : `${subject}s`);
const errorOfMemory = (p: ValidationPoint): number | undefined => { const b = p.peak_bytes ?? p.reserved_bytes; return b && b.predicted / b.measured - 1; };
const errorOf = (p: ValidationPoint): number | undefined => (p.subject === "memory" ? errorOfMemory(p) : p.error);

// Round numbers on a logarithmic axis, whose own marks are powers of ten alone: more of them within a decade than over many.
function marksBetween(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 1.2 ? [1, 2, 5] : decades > 0.5 ? [1, 1.5, 2, 3, 4, 5, 7] : [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 7, 8, 9];
  const marks: number[] = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e) for (const s of steps) marks.push(Number((s * 10 ** e).toPrecision(3)));
  return marks.filter((m) => m >= low && m <= high);
}

function scatter(points: ValidationPoint[], groups: string[], asRatio: boolean): HTMLElement {
  const known = points.filter((p) => p.predicted_s !== undefined && p.predicted_s > 0 && p.measured_s !== undefined && p.measured_s > 0);
  const all = known.flatMap((p) => [p.predicted_s!, p.measured_s!]);
  const low = Math.min(...all) / 1.3, high = Math.max(...all) * 1.3;
  const y = (p: ValidationPoint, s: number): number => (asRatio ? s / p.measured_s! : s);
  const label = asRatio ? "Scatter: predicted over measured time against the measured one" : "Scatter: predicted against measured times";
  return chart(label, 440, (t) => {
    const bars = known.filter((p) => p.interval_s);
    const straight = (f: number): number[][] => (asRatio ? [[low, f], [high, f]] : [[low, low * f], [high, high * f]]);
    const marks = marksBetween(low, high), ratios = [0.25, 0.5, 1, 2, 4];
    const times = { axisTick: { customValues: marks }, axisLabel: { customValues: marks, formatter: (v: number) => seconds(Number(v.toPrecision(2))), hideOverlap: true } };
    const rule = (name: string, f: number, type: string): object => ({ name, type: "line", symbol: "none", silent: true, z: 1, lineStyle: { color: t.soft, width: 1.2, type }, data: straight(f) });
    return {
      grid: { left: 16, right: 24, top: 60, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      legend: legendLook(t, { icon: undefined, type: "scroll", data: groups }),
      tooltip: tooltip(t, { trigger: "item", formatter: (i: { data: { of?: ValidationPoint } }) => {
        const p = i.data.of;
        return p ? line(p.id, true) + line(p.group) + `<small>${escaped(p.where)}</small><br>` + line(`measured ${seconds(p.measured_s)}, predicted ${seconds(p.predicted_s)}`) + line(`error ${percent(p.error)}`) : "";
      } }),
      xAxis: axis(t, { type: "log", min: low, max: high, name: "measured", ...times }),
      yAxis: asRatio ? axis(t, { type: "log", name: "predicted / measured", nameGap: 44, min: 0.25, max: 4, axisTick: { customValues: ratios }, axisLabel: { customValues: ratios, formatter: (v: number) => number(v, 2) } })
        : axis(t, { type: "log", min: low, max: high, name: "predicted", nameGap: 60, ...times }),
      series: [
        rule("right", 1, "solid"), rule("10 % more", 1.1, "dashed"), rule("10 % less", 1 / 1.1, "dashed"),
        { type: "custom", silent: true, z: 1, clip: true, data: bars.map((p) => [p.measured_s!, y(p, p.interval_s![0]), y(p, p.interval_s![1])]), encode: { x: 0, y: [1, 2] },
          renderItem: (_: unknown, api: { value: (i: number) => number; coord: (p: number[]) => number[] }) => {
            const a = api.coord([api.value(0), api.value(1)]), b = api.coord([api.value(0), api.value(2)]);
            return { type: "line", shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] }, style: { stroke: t.soft, lineWidth: 1, opacity: 0.5 } };
          } },
        ...groups.map((name, i) => ({ name, type: "scatter", z: 3, symbolSize: 8, symbol: symbols[Math.floor(i / 7) % symbols.length], clip: true, itemStyle: { color: t.series[i % 7], opacity: 0.85 },
          data: known.filter((p) => p.group === name).map((p) => ({ value: [p.measured_s!, y(p, p.predicted_s!)], of: p })) })),
      ],
    };
  }).element;
}

function figures(groups: ValidationGroup[], name: string): HTMLElement {
  return table(name, [
    { label: "Group", value: (g) => g.group }, { label: "Points", value: (g) => g.points }, { label: "Failed", title: "Points without a forecast", value: (g) => g.failed },
    { label: "Mean error", value: (g) => g.time?.mean_error, show: (g) => percent(g.time?.mean_error) }, { label: "Median", value: (g) => g.time?.median_error, show: (g) => percent(g.time?.median_error) },
    { label: "Bias", value: (g) => g.time?.bias, show: (g) => percent(g.time?.bias) }, { label: "Kendall τ", title: "Agreement of the ranks: 1 is all, 0 none", value: (g) => g.time?.kendall_tau, show: (g) => number(g.time?.kendall_tau, 3) },
    { label: "Coverage", title: "Share of the truth that the intervals hold", value: (g) => g.coverage, show: (g) => percent(g.coverage, 0) },
    { label: "Memory error", value: (g) => g.peak_memory?.mean_error, show: (g) => percent(g.peak_memory?.mean_error) },
    { label: "Reserved error", title: "Of what the framework's allocator held", value: (g) => g.reserved_memory?.mean_error, show: (g) => percent(g.reserved_memory?.mean_error) },
  ], groups);
}

export function validationParts(v: Validation): HTMLElement[] {
  const subjects = [...new Set(v.groups.map((g) => g.subject))];
  const parts = subjects.map((subject) => {
    const points = v.points.filter((p) => p.subject === subject), groups = v.groups.filter((g) => g.subject === subject), names = groups.map((g) => g.group);
    const known = points.some((p) => p.predicted_s);
    return section(`validation-${subject}`, `Predicted against measured: ${plural(subject)}`,
      "On the solid line a forecast is right, the dashed lines are 10 % off, and whiskers are the intervals that forecasts carry. A cloud that lies along the line but above it has a bias; one that is wide is noisy.",
      known ? h("div", { class: "pair" }, scatter(points, names, false), scatter(points, names, true)) : null, figures(groups, plural(subject)));
  });
  const worst = v.points.slice().sort((a, b) => (b.failure ? Infinity : Math.abs(errorOf(b) ?? 0)) - (a.failure ? Infinity : Math.abs(errorOf(a) ?? 0)) || 0);
  parts.push(section("points", "Every point", "All points, those without a forecast first, then those that are furthest off.", table("Every point", [
    { label: "Point", value: (p: ValidationPoint) => p.id }, { label: "Group", value: (p: ValidationPoint) => p.group }, { label: "Where", value: (p: ValidationPoint) => p.where },
    { label: "Measured", value: (p: ValidationPoint) => p.measured_s, show: (p: ValidationPoint) => seconds(p.measured_s) }, { label: "Predicted", value: (p: ValidationPoint) => p.predicted_s, show: (p: ValidationPoint) => p.failure ?? seconds(p.predicted_s) },
    { label: "Error", value: errorOf, show: (p: ValidationPoint) => percent(errorOf(p)) },
  ], worst)));
  if (v.notes.length > 0) parts.push(section("notes", "Notes", "What to know about these figures.", h("ul", {}, ...v.notes.map((n) => h("li", {}, n)))));
  return parts;
}
