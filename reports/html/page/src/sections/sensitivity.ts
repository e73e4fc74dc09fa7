// What would help most.

import { axis, chart, line, tooltip } from "../chart";
import type { Answer, Sensitivity } from "../data";
import { choice, h } from "../dom";
import { number, seconds, timesText } from "../format";
import { isNoSureGain } from "../runs";
import { section } from "../section";
import { table } from "../table";

const mostBars = 20;

export function sensitivity({ result }: Answer): HTMLElement | null {
  const all = result.sensitivity ?? [];
  if (all.length === 0) return null;
  const plans = [...new Set(all.map((s) => s.plan ?? ""))];
  let plan = plans[0];
  const chosen = (): Sensitivity[] => all.filter((s) => (s.plan ?? "") === plan).slice().sort((a, b) => Math.abs(b.elasticity) - Math.abs(a.elasticity)).slice(0, mostBars);
  const tornado = chart("Tornado: elasticity of the iteration time by each key", 80 + 26 * chosen().length, (t, width) => {
    const shown = chosen().reverse();
    return {
      grid: { left: 12, right: 40, top: 10, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      tooltip: tooltip(t, { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (items: { dataIndex: number }[]) => {
        const s = shown[items[0].dataIndex];
        return line(s.parameter, true) + line(`1 % more changes the time by ${number(s.elasticity, 3)} %`) + (s.improved ? line(`${s.improved.change}: ${seconds(s.improved.iteration_time_s)}, ${timesText(s.improved.speedup, s.improved.speedup_interval)}${isNoSureGain(s.improved.speedup_interval) ? ", no sure gain" : ""}`) : "");
      } }),
      xAxis: axis(t, { type: "value", name: "change of the time, in % for 1 % more of the key" }),
      yAxis: axis(t, { type: "category", data: shown.map((s) => s.parameter), splitLine: { show: false }, axisLine: { show: false }, axisTick: { show: false }, axisLabel: { hideOverlap: false, width: Math.min(320, width * 0.45), overflow: "truncate" } }),
      series: [{ type: "bar", barMaxWidth: 18, data: shown.map((s) => ({ value: s.elasticity, itemStyle: { color: isNoSureGain(s.improved?.speedup_interval) ? t.colours.grey : s.elasticity < 0 ? t.colours.blue : t.colours.orange } })) }],
    };
  });
  return section("sensitivity", "What would help most",
    "Elasticity: by how many per cent the time changes when a key grows by one per cent. Blue bars to the left are upgrades worth having, the longest first; a bar near zero buys nothing. Of grey ones even twice as good a part is no sure gain.",
    plans.length > 1 ? h("div", { class: "tools" }, choice("Plan", plans, 0, (i) => { plan = plans[i]; tornado.element.style.height = `${80 + 26 * chosen().length}px`; tornado.update(); })) : null,
    tornado.element,
    table("What would help most", [
      { label: "Key", value: (s) => s.parameter }, ...(plans.length > 1 ? [{ label: "Plan", value: (s: Sensitivity) => s.plan }] : []),
      { label: "Elasticity", value: (s) => s.elasticity, show: (s) => number(s.elasticity, 3) },
      { label: "Improved", value: (s) => s.improved?.change }, { label: "Time then", value: (s) => s.improved?.iteration_time_s, show: (s) => seconds(s.improved?.iteration_time_s) },
      { label: "Speed", value: (s) => s.improved?.speedup, show: (s) => timesText(s.improved?.speedup, s.improved?.speedup_interval) },
      { label: "Speed low", value: (s) => s.improved?.speedup_interval?.[0], only: "copied" }, { label: "Speed high", value: (s) => s.improved?.speedup_interval?.[1], only: "copied" },
    ], all));
}
