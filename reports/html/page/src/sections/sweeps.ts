// Sweeps: curves over one key, heat maps over two.

import type { Answer, Run } from "../data";
import { choice, h } from "../dom";
import { memoryText, number, percent, seconds } from "../format";
import { heatMap, scaleKey, type Shown } from "../heat_map";
import { madeText } from "../runs";
import { section, together } from "../section";
import { answersFor, isBaseValue, isDoubled, metrics, plansOf, shortName, sweepsOf, valueOf, type Key, type Sweep } from "../sweep";
import { curves, curvesOf, marksText } from "../sweep_curves";
import { folded, table } from "../table";

// What the reader has chosen of a sweep: of further keys one value each.
interface Chosen { metric: number; plan: number; replanned: boolean; fromZero: boolean; fixed: Map<Key, string> }

const here = (s: Sweep, chosen: Chosen): Run[] => s.runs.filter((r) => [...chosen.fixed].every(([key, value]) => valueOf(r, key) === value));

interface Picture { element: HTMLElement; says: () => HTMLElement | string; update: () => void }

function curvePicture(s: Sweep, chosen: Chosen): Picture {
  const withBase = (): boolean => [...chosen.fixed].every(([key, value]) => isBaseValue(key, value));
  const drawn = curves(s, () => here(s, chosen), withBase, () => metrics[chosen.metric]);
  return { ...drawn, says: () => marksText(curvesOf(s, here(s, chosen), withBase())) };
}

function heatPicture(s: Sweep, chosen: Chosen): Picture {
  const shown = (): Shown => {
    const own = here(s, chosen).filter((r) => r.plan === plansOf(s)[chosen.plan]);
    return { runs: isDoubled(own) ? own.filter((r) => answersFor(r, chosen.replanned)) : own, metric: metrics[chosen.metric], fromZero: chosen.fromZero };
  };
  const drawn = heatMap(s, shown);
  return { ...drawn, says: () => scaleKey(s, shown()) };
}

const points = (s: Sweep): HTMLElement => table(`Sweep ${s.name}`, [
  ...s.keys.map((key) => ({ label: key.name, value: (r: Run) => valueOf(r, key) })),
  { label: "Plan", value: (r) => r.plan }, { label: "Made", value: madeText },
  { label: "Time", value: (r) => r.iteration_time_s, show: (r) => seconds(r.iteration_time_s) },
  { label: "Memory", value: (r) => r.memory_bytes?.peak, show: (r) => memoryText(r.memory_bytes?.peak) },
  { label: "Tokens/s", value: (r) => metrics[1].of(r), show: (r) => number(metrics[1].of(r)) }, { label: "MFU", value: (r) => r.mfu_causal, show: (r) => percent(r.mfu_causal) },
  { label: "Status", value: (r) => r.status }, { label: "Summary", value: (r) => r.plan_summary },
], s.runs);

function sweepElement(s: Sweep): HTMLElement {
  const chosen: Chosen = { metric: 0, plan: 0, replanned: true, fromZero: false, fixed: new Map(s.keys.slice(2).map((key) => [key, key.values[0]])) };
  const isHeat = s.keys.length >= 2, picture = isHeat ? heatPicture(s, chosen) : curvePicture(s, chosen), says = h("p", { class: "hint says-on-paper" }, picture.says());
  const change = (make: (i: number) => void) => (i: number): void => { make(i); says.replaceChildren(picture.says()); picture.update(); };
  return h("div", { class: "sweep" },
    together(h("h3", {}, `${s.name}: ${s.keys.map(shortName).join(" and ")}`),
      h("div", { class: "tools" },
        choice("Show", metrics.map((m) => m.name), 0, change((i) => { chosen.metric = i; })),
        isHeat && plansOf(s).length > 1 ? choice("Plan", plansOf(s), 0, change((i) => { chosen.plan = i; })) : null,
        isHeat && isDoubled(s.runs) ? choice("Made", ["re-planned", "same plan"], 0, change((i) => { chosen.replanned = i === 0; })) : null,
        isHeat ? choice("Colours", ["from the least", "from zero"], 0, change((i) => { chosen.fromZero = i === 1; })) : null,
        ...s.keys.slice(2).map((key) => choice(shortName(key), key.values, 0, change((i) => { chosen.fixed.set(key, key.values[i]); })))),
      picture.element, says),
    folded("The points as a table", () => points(s)));
}

export function sweeps(answer: Answer): HTMLElement | null {
  const all = sweepsOf(answer);
  if (all.length === 0) return null;
  return section("sweeps", "Sweeps",
    "How the answer changes over the values of a key. A flat curve means that the key gains nothing there; where the dashed curve (the base's plan) leaves the solid one, another plan is better. Lines on the speed are the 90 % intervals of the comparison.",
    ...all.map(sweepElement));
}
