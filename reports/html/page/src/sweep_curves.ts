// A sweep over one key as curves, one for each plan.

import { axis, chart, legendLook, line, tooltip, type Chart, type Option } from "./chart";
import type { Run } from "./data";
import { ratios } from "./format";
import { intervalLines } from "./interval_lines";
import { answersFor, isBaseValue, isDoubled, plansOf, shortName, valueOf, type Key, type Metric, type Scale, type Sweep } from "./sweep";
import type { Theme } from "./theme";

interface Point { x: number; text: string; run: Run | null; isBase: boolean }
interface Curve { name: string; plan: number; dashed: boolean; points: Point[] }

// Where the base lies, if that is on the axis or near its ends.
function basePlace(key: Key, scale: Scale): number | null {
  const base = key.base, low = scale.numbers[0], high = scale.numbers.at(-1)!;
  if (base === null || typeof base === "string") return null;
  return base.value >= low / 4 && base.value <= high * 4 ? base.value : null;
}

const placeOf = (key: Key, value: string): number => (key.scale ? key.scale.numbers[key.values.indexOf(value)] : key.values.indexOf(value));

function pointsOf(key: Key, runs: Run[], base: Run | undefined): Point[] {
  const points = key.values.map((text): Point => ({ x: placeOf(key, text), text, run: runs.find((r) => valueOf(r, key) === text) ?? null, isBase: isBaseValue(key, text) }));
  const place = key.scale ? basePlace(key, key.scale) : null;
  if (place !== null && base && !points.some((p) => p.isBase)) points.push({ x: place, text: "base", run: base, isBase: true });
  return points.sort((a, b) => a.x - b.x);
}

// Plans that come to the same at every point are one curve with all their names.
function joined(all: Curve[]): Curve[] {
  const kept = new Map<string, Curve>();
  for (const c of all) {
    const key = JSON.stringify(c.points.map((p) => [p.x, p.run?.plan_summary, p.run?.iteration_time_s]));
    const before = kept.get(key);
    if (before) before.name += `; ${c.name}`;
    else kept.set(key, c);
  }
  return [...kept.values()];
}

export function curvesOf(s: Sweep, runs: Run[], withBase: boolean): Curve[] {
  const key = s.keys[0];
  return joined(plansOf(s).flatMap((plan, i) => {
    const own = runs.filter((r) => r.plan === plan), base = withBase ? s.base.find((r) => r.plan === plan) : undefined;
    if (!isDoubled(own)) return [{ name: plan, plan: i, dashed: false, points: pointsOf(key, own, base) }];
    return [true, false].map((again) => ({ name: `${plan}, ${again ? "re-planned" : "same plan"}`, plan: i, dashed: !again, points: pointsOf(key, own.filter((r) => answersFor(r, again)), base) }));
  }));
}

// A point is a diamond on the base and a triangle where the plan does not fit.
function look(p: Point, t: Theme): Option {
  if (p.run && p.run.status !== "ok") return { symbol: "triangle", symbolSize: 11, itemStyle: { color: t.colours.red, borderColor: t.paper, borderWidth: 1 } };
  return p.isBase ? { symbol: "diamond", symbolSize: 14, itemStyle: { borderColor: t.ink, borderWidth: 1.5 } } : {};
}

// Ticks are at the points and have their texts.
function xAxisOf(key: Key, curves: Curve[], t: Theme): Option {
  if (key.scale === null) return axis(t, { type: "category", data: key.values, name: shortName(key), boundaryGap: false });
  const texts = new Map(curves.flatMap((c) => c.points.map((p) => [p.x, p.text] as const)));
  const customValues = [...texts.keys()].sort((a, b) => a - b);
  const nearest = (v: number): number => customValues.reduce((a, b) => (Math.abs(b - v) < Math.abs(a - v) ? b : a));
  return axis(t, { type: key.scale.isLog ? "log" : "value", min: customValues[0], max: customValues.at(-1), name: shortName(key), splitLine: { show: false },
    axisTick: { customValues }, axisLabel: { customValues, formatter: (v: number) => texts.get(nearest(v)) ?? "" } });
}

export function curves(s: Sweep, runs: () => Run[], withBase: () => boolean, metric: () => Metric): Chart {
  const key = s.keys[0];
  const axisName = key.scale === null ? "words" : key.scale.isLog ? "values on a logarithmic axis" : "values";
  return chart(`Curves: the sweep ${s.name} over ${key.values.length} ${axisName}`, 340, (t) => {
    const all = curvesOf(s, runs(), withBase()), { of, show, ends } = metric();
    return {
      grid: { left: 12, right: 30, top: 44, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      legend: legendLook(t, { icon: undefined, itemWidth: 26, type: "scroll" }),
      tooltip: tooltip(t, { trigger: "axis", formatter: (items: { seriesName: string; data: { point: Point } }[]) =>
        line(`${shortName(key)} = ${items[0].data.point.text}`, true) + items.filter((i) => i.data.point).map(({ seriesName, data: { point: { run } } }) => {
          const y = run ? of(run) : null, interval = run && ends ? ends(run) : null;
          return line(`${seriesName}: ${y === null ? "no answer" : show(y)}${interval ? ` (${ratios(interval)})` : ""}${run && run.status !== "ok" ? ", does not fit" : ""}`);
        }).join("") }),
      xAxis: xAxisOf(key, all, t),
      yAxis: axis(t, { type: "value", min: 0, axisLabel: { formatter: show } }),
      series: all.flatMap((c) => {
        const color = t.series[c.plan % t.series.length];
        const lines = c.points.flatMap((p) => (p.run && ends?.(p.run) ? [{ at: p.x, ends: ends(p.run)! }] : []));
        return [{ name: c.name, type: "line", symbol: c.dashed ? "emptyCircle" : "circle", symbolSize: 7, connectNulls: false, lineStyle: { width: 2, type: c.dashed ? "dashed" : "solid", color }, itemStyle: { color },
          data: c.points.map((p) => ({ value: [p.x, p.run ? of(p.run) : null], point: p, ...look(p, t) })) }, ...(lines.length > 0 ? [intervalLines(c.name, lines, color, "up")] : [])];
      }),
    };
  });
}

// What the marks of the points mean, as far as there are any.
export function marksText(all: Curve[]): string {
  const points = all.flatMap((c) => c.points.filter((p) => p.run !== null));
  return [points.some((p) => p.isBase) ? "◆ is the base." : "", points.some((p) => p.run!.status !== "ok") ? "▲ does not fit." : ""].filter((x) => x !== "").join(" ");
}
