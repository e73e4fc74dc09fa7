// Charts: made when they come into view, redrawn when the theme changes, with a text for those who do not see them.

import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { init, use } from "echarts/core";
import type { ECharts } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { h } from "./dom";
import { isPrinting, onTheme, paperWidth, theme, type Theme } from "./theme";

use([BarChart, CustomChart, LineChart, ScatterChart, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, CanvasRenderer]);

// What ECharts takes as options. Its own type names every kind of chart there is, so it does not help where few are in use.
export type Option = Record<string, unknown>;

const charts = new Set<() => void>();
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) (entry.target as Element & { draw?: () => void }).draw?.();
}, { rootMargin: "300px" });

export function forgetCharts(): void {
  charts.clear();
}

// Calls draw() when the element comes into view, before paper is printed, and when the theme has changed.
export function whenSeen(element: HTMLElement, draw: () => void): void {
  let drawn = false;
  const once = (): void => { drawn = true; draw(); };
  (element as HTMLElement & { draw?: () => void }).draw = () => { if (!drawn) once(); };
  seen.observe(element);
  charts.add(once);
  onTheme(() => { if (drawn) draw(); });
}

addEventListener("beforeprint", () => charts.forEach((draw) => draw()));

export interface Chart { element: HTMLElement; update: () => void }

// `option` makes the whole chart, since ECharts keeps what nothing replaces; it gets the theme and the width in pixels.
export function chart(label: string, height: number, option: (t: Theme, width: number) => Option): Chart {
  const element = h("div", { class: "chart", role: "img", "aria-label": label, style: `height:${height}px` });
  let drawn: ECharts | null = null, width = 0;
  const draw = (): void => {
    if (!drawn) {
      drawn = init(element);
      new ResizeObserver(() => {
        drawn?.resize();
        if (element.clientWidth !== width) draw();
      }).observe(element);
    }
    element.dataset.drawn = "yes";
    width = element.clientWidth;
    drawn.resize({ width: isPrinting() ? paperWidth : "auto" });
    drawn.setOption({ ...base(), ...option(theme(), isPrinting() ? paperWidth : width) }, { notMerge: true });
  };
  whenSeen(element, draw);
  return { element, update: () => { if (drawn) draw(); } };
}

function base(): Option {
  const t = theme();
  return {
    animation: false,
    textStyle: { color: t.ink, fontFamily: "system-ui, sans-serif", fontSize: 13 },
    grid: { left: 12, right: 24, top: 40, bottom: 12, outerBoundsMode: "same", outerBoundsContain: "all" },
  };
}

const axisLook = (t: Theme): Option => ({
  axisLine: { lineStyle: { color: t.soft } },
  axisLabel: { color: t.ink, hideOverlap: true },
  nameTextStyle: { color: t.soft },
  splitLine: { lineStyle: { color: t.line } },
});

export const axis = (t: Theme, more: Option): Option => {
  const look = axisLook(t);
  return { nameLocation: "middle", nameGap: 26, ...look, ...more, axisLabel: { ...(look.axisLabel as Option), ...((more.axisLabel as Option) ?? {}) } };
};

// Round marks from 0 on, at most `most`, and the end itself, so that the reader sees where an axis ends.
function marksTo(end: number, most: number): number[] {
  const size = 10 ** Math.floor(Math.log10(end / most));
  const step = [1, 2, 5, 10].map((f) => f * size).find((s) => end / s <= most) ?? size * 10;
  const marks = [...Array(Math.floor(end / step) + 1).keys()].map((i) => Number((i * step).toPrecision(6)));
  return [...marks.filter((m) => end - m > 0.35 * step), end];
}

const pixelsPerMark = 120;

// An axis of so many pixels from 0 to `end` with these marks, and `room` beyond as a share of it.
export const axisTo = (t: Theme, end: number, pixels: number, show: (v: number) => string, more: Option = {}, room = 0): Option => {
  const customValues = marksTo(end, Math.max(2, Math.min(6, Math.floor(pixels / pixelsPerMark))));
  return axis(t, { type: "value", min: 0, max: end * (1 + room), axisTick: { customValues }, axisLabel: { customValues, formatter: (v: number) => show(v) }, ...more });
};

export const tooltip = (t: Theme, more: Option = {}): Option => ({
  backgroundColor: t.panel, borderColor: t.line, textStyle: { color: t.ink, fontSize: 13 }, confine: true, ...more,
});

export const legendLook = (t: Theme, more: Option = {}): Option => ({
  top: 4, left: "center", icon: "roundRect", itemWidth: 14, itemHeight: 10, textStyle: { color: t.ink }, inactiveColor: t.line, ...(more.type === "scroll" ? { top: 0, padding: [9, 8], pageTextStyle: { color: t.soft }, pageIconColor: t.soft, pageIconInactiveColor: t.line } : {}), ...more,
});

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
// Tooltips are HTML, and names come from users.
export const escaped = (text: string): string => text.replace(/[&<>"]/g, (c) => entities[c]);
export const line = (text: string, strong = false): string => (strong ? `<strong>${escaped(text)}</strong><br>` : `${escaped(text)}<br>`);
