// A sweep over two keys as a heat map of one plan. Cells are drawn one by one: ECharts' own series draws them on a canvas of their own, which
// paper does not show.

import { axis, chart, line, tooltip, type Chart } from "./chart";
import type { Run } from "./data";
import { h } from "./dom";
import { number, percent, ratios } from "./format";
import { isBaseValue, shortName, valueOf, type Metric, type Sweep } from "./sweep";
import { inkOn, onScale } from "./theme";

interface Cell { run: Run; value: number; x: number; y: number }
export interface Shown { runs: Run[]; metric: Metric; fromZero: boolean }

const leastWide = 40, leastHigh = 18;  // pixels that a label needs
const pixelsPerLetter = 7;
const mostHigh = 38, least = 14, room = 560, leastRoom = 150;  // of a cell; of all cells
const outside = 60;  // pixels above and below the cells

const cellHeight = (rows: number): number => Math.max(least, leastRoom / rows, Math.min(mostHigh, Math.floor(room / rows)));

function cellsOf(s: Sweep, { runs, metric }: Shown): Cell[] {
  const [x, y] = s.keys;
  return runs.flatMap((run) => {
    const value = metric.of(run);
    return value === null ? [] : [{ run, value, x: x.values.indexOf(valueOf(run, x)), y: y.values.indexOf(valueOf(run, y)) }];
  });
}

const endsOf = (cells: Cell[]): [number, number] => [Math.min(...cells.map((c) => c.value)), Math.max(...cells.map((c) => c.value))];
const isOnBase = (s: Sweep, c: Cell): boolean => s.keys.slice(0, 2).every((key) => isBaseValue(key, valueOf(c.run, key)));

// Marks and, where there is room for it, the value.
function labelOf(s: Sweep, c: Cell, metric: Metric, wide: number, high: number): string {
  const mark = `${isOnBase(s, c) ? "◆" : ""}${c.run.status === "ok" ? "" : "✕"}`, text = `${mark} ${metric.show(c.value)}`.trim();
  return high >= leastHigh && wide >= Math.max(leastWide, pixelsPerLetter * text.length) ? text : mark;
}

const apart = (low: number, high: number): string => (high < 2 * low ? `${percent(high / low - 1)} apart` : `a factor of ${number(high / low, 3)}`);

// The scale with its span in words, "1.16 s to 1.2 s, 3.7 % apart", so that a difference in colour is not taken for more than it is.
export function scaleKey(s: Sweep, shown: Shown): HTMLElement {
  const cells = cellsOf(s, shown), [low, high] = endsOf(cells), { show } = shown.metric;
  if (cells.length === 0) return h("span", {}, "No point has an answer.");
  const says = [`Values are ${show(low)} to ${show(high)}, ${apart(low, high)}; the colours ${shown.fromZero ? "start" : "do not start"} at zero.`,
    cells.some((c) => isOnBase(s, c)) ? "◆ is the base." : "", cells.some((c) => c.run.status !== "ok") ? "✕ does not fit." : ""];
  return h("span", {}, `${shown.fromZero ? show(0) : show(low)} `, h("span", { class: "scale", "aria-hidden": "true" }), ` ${show(high)}. ${says.filter((x) => x !== "").join(" ")}`);
}

interface Drawing { value: (dimension: number) => number; coord: (point: number[]) => number[]; size: (extent: number[]) => number[] }

export function heatMap(s: Sweep, shown: () => Shown): Chart {
  const [x, y] = s.keys, high = cellHeight(y.values.length);
  return chart(`Heat map: the sweep ${s.name}`, outside + high * y.values.length, (t) => {
    const { metric, fromZero } = shown(), cells = cellsOf(s, shown()), [least, most] = endsOf(cells), low = fromZero ? 0 : least;
    const colourOf = (c: Cell): string => onScale(t, most > low ? (c.value - low) / (most - low) : 0);
    return {
      grid: { left: 12, right: 24, top: 10, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      tooltip: tooltip(t, { formatter: (i: { dataIndex: number }) => {
        const { run, value } = cells[i.dataIndex], ends = metric.ends?.(run);
        return line(run.variant, true) + line(`${metric.name}: ${metric.show(value)}${ends ? ` (${ratios(ends)})` : ""}${run.status === "ok" ? "" : ", does not fit"}`) + line(run.plan_summary);
      } }),
      xAxis: axis(t, { type: "category", data: x.values, name: shortName(x), splitLine: { show: false } }),
      yAxis: axis(t, { type: "category", data: y.values, name: shortName(y), nameGap: 50, splitLine: { show: false } }),
      series: [{ type: "custom", progressive: 0, encode: { x: 0, y: 1 }, data: cells.map((c) => [c.x, c.y]), renderItem: ({ dataIndex }: { dataIndex: number }, api: Drawing) => {
        const c = cells[dataIndex], [cx, cy] = api.coord([c.x, c.y]), [wide, tall] = api.size([1, 1]), gap = high >= leastHigh ? 2 : 0.5;
        return { type: "group", children: [
          { type: "rect", shape: { x: cx - wide / 2 + gap / 2, y: cy - tall / 2 + gap / 2, width: wide - gap, height: tall - gap }, style: { fill: colourOf(c) } },
          { type: "text", silent: true, style: { text: labelOf(s, c, metric, wide, tall), x: cx, y: cy, align: "center", verticalAlign: "middle", fill: inkOn(colourOf(c)), font: "12px system-ui, sans-serif" } },
        ] };
      } }],
    };
  });
}
