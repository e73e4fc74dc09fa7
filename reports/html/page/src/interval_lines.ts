// Thin lines with end marks over the bars or points of a chart: intervals.

import type { Option } from "./chart";

export interface IntervalLine { at: number; ends: [number, number] }  // at: on the axis that the interval does not lie along

// A series of ECharts; its name stands in the legend. Lines lie along the x axis ("across") or the y axis ("up").
export function intervalLines(name: string, lines: IntervalLine[], color: string, way: "across" | "up"): Option {
  const across = way === "across", mark = 4;  // half of an end mark, in pixels
  return {
    name, type: "custom", silent: true, z: 5, clip: true, itemStyle: { color }, data: lines.map((l) => [l.at, ...l.ends]),
    encode: across ? { x: [1, 2], y: 0 } : { x: 0, y: [1, 2] }, tooltip: { show: false },
    renderItem: (_: unknown, api: { value: (i: number) => number; coord: (p: number[]) => number[] }) => {
      const [at, low, high] = [0, 1, 2].map((i) => api.value(i));
      const [a, b] = [low, high].map((end) => api.coord(across ? [end, at] : [at, end]));
      const style = { stroke: color, lineWidth: 1.4, fill: "none" };
      const straight = (x1: number, y1: number, x2: number, y2: number): Option => ({ type: "line", shape: { x1, y1, x2, y2 }, style });
      const end = ([x, y]: number[]): Option => (across ? straight(x, y - mark, x, y + mark) : straight(x - mark, y, x + mark, y));
      return { type: "group", children: [straight(a[0], a[1], b[0], b[1]), end(a), end(b)] };
    },
  };
}
