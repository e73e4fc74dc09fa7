// The timeline of a run on a canvas: a row for each stream of each device. Only what is in view is drawn, and spans narrower than a pixel are
// put together, so that a hundred thousand of them stay smooth.

import type { TimelineData } from "./data";
import { h } from "./dom";
import { seconds, trafficText } from "./format";
import { overview, type Overview } from "./overview";
import { firstAfter, rowsOf, type Row } from "./timeline_rows";
import { inkOn, isPrinting, ofOrder, paperWidth, theme, type Colour } from "./theme";
import { whenSeen } from "./chart";

export const kinds: { name: string; colour: Colour }[] = [
  { name: "forward", colour: "sky" }, { name: "backward", colour: "blue" }, { name: "recomputation", colour: "pink" },
  { name: "optimizer update", colour: "green" }, { name: "collective", colour: "red" }, { name: "message", colour: "orange" },
  { name: "copy to or from the host", colour: "yellow" }, { name: "host", colour: "grey" },
];
export type ColourBy = "pass" | "stage" | "micro-batch";

// Where spans of a stretch of time are drawn, in pixels.
interface Area { left: number; top: number; wide: number; high: number; from: number; to: number }

const leastStrength = 0.3;  // of a pixel that short spans hardly fill: it must still be seen
const rowHeight = 20;
const deviceGap = 10;
const axisHeight = 26;
const mostHeight = 460;
const gutterWide = 190;

const isForward = (kind: number): boolean => kind === 0;

export class Timeline {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly said = h("div", { class: "away", role: "status" });
  private readonly inView = h("p", { class: "hint" });
  private readonly overview: Overview | null;  // null where all rows are in view
  private readonly spacer: HTMLElement;
  private readonly box: HTMLElement;
  private readonly rows: Row[];
  private readonly tops: number[] = [];
  private readonly height: number;
  private from = 0;
  private to: number;
  private by: ColourBy = "pass";
  private drag: { x: number; now: number; pans: boolean; from: number; to: number } | null = null;
  private waiting = false;
  private look = theme();  // of the drawing in progress: asking for it at each span would take longer than to draw it
  private readonly stages: number;
  private readonly microBatches: number;

  constructor(private readonly data: TimelineData, label: string) {
    this.rows = rowsOf(data);
    this.to = data.end;
    let top = axisHeight;
    for (const row of this.rows) {
      if (row.first && top > axisHeight) top += deviceGap;
      this.tops.push(top);
      top += rowHeight;
    }
    this.height = top + 4;
    this.stages = Math.max(1, ...data.stages.map((s) => s + 1));
    this.microBatches = Math.max(1, this.rows.reduce((most, r) => r.microBatch.reduce((a, b) => Math.max(a, b), most), 0) + 1);
    this.spacer = h("div", { style: `height:${this.height}px` }, this.canvas);
    this.box = h("div", {
      class: "timeline", tabindex: 0, role: "application", "aria-label": `${label}. Arrow keys move, plus and minus zoom, Home shows all.`,
      style: `height:${Math.min(this.height, mostHeight)}px`,
    }, this.spacer);
    this.overview = this.height > mostHeight ? overview(this.box, this.height, (c, wide, high) => this.drawAll(c, wide, high)) : null;
    this.element = h("div", { class: "timeline-frame" }, this.overview ? this.inView : null, h("div", { class: "timeline-row" }, this.box, this.overview?.element), this.tip, this.said);
    this.listen();
    whenSeen(this.box, () => { this.overview?.draw(); this.draw(); });
    new ResizeObserver(() => this.later()).observe(this.box);
  }

  get range(): [number, number] { return [this.from * this.data.unit_s, this.to * this.data.unit_s]; }
  get spans(): number { return this.rows.reduce((n, r) => n + r.name.length, 0); }

  colourBy(by: ColourBy): void {
    this.by = by;
    if (this.box.dataset.drawn) this.overview?.draw();
    this.later();
  }

  legend(): { colour: string; text: string }[] {
    if (this.by === "pass") {
      const used = new Set(this.data.kinds);
      return kinds.filter((_, i) => used.has(i)).map((k) => ({ colour: `var(--${k.colour})`, text: k.name }));
    }
    const count = this.by === "stage" ? this.stages : this.microBatches;
    const shown = count <= 12 ? [...Array(count).keys()] : [0, 1, 2, 3].map((i) => Math.round((i * (count - 1)) / 3));
    const what = this.by === "stage" ? "stage" : "micro-batch";
    return [...shown.map((i) => ({ colour: ofOrder(theme(), i, count), text: `${what} ${i}` })), { colour: "var(--grey)", text: "neither" }];
  }

  private colourOf(row: Row, k: number): string {
    const name = row.name[k], t = this.look;
    if (this.by === "pass") return t.colours[kinds[this.data.kinds[name]].colour];
    const number = this.by === "stage" ? this.data.stages[name] : row.microBatch[k];
    return number < 0 ? t.colours.grey : ofOrder(t, number, this.by === "stage" ? this.stages : this.microBatches);
  }

  private later(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  private get wide(): number { return isPrinting() ? paperWidth : this.box.clientWidth; }
  private get gutter(): number { return this.wide < 560 ? 96 : gutterWide; }
  private get plotWidth(): number { return Math.max(10, this.wide - this.gutter); }
  private timeAt(x: number): number { return this.from + ((x - this.gutter) / this.plotWidth) * (this.to - this.from); }

  zoomTo(from: number, to: number): void {
    const least = Math.min(200, this.data.end);
    const width = Math.max(least, Math.min(to - from, this.data.end));
    const start = Math.max(0, Math.min(from, this.data.end - width));
    this.from = start;
    this.to = start + width;
    this.box.dataset.range = this.range.join(" ");
    this.later();
  }

  private zoom(factor: number, centre = (this.from + this.to) / 2): void {
    this.zoomTo(centre - (centre - this.from) * factor, centre + (this.to - centre) * factor);
  }

  private pan(share: number): void {
    const by = share * (this.to - this.from);
    this.zoomTo(this.from + by, this.to + by);
  }

  reset(): void { this.zoomTo(0, this.data.end); }
  zoomIn(): void { this.zoom(0.5); }
  zoomOut(): void { this.zoom(2); }

  private listen(): void {
    const at = (e: MouseEvent): [number, number] => {
      const r = this.canvas.getBoundingClientRect();
      return [e.clientX - r.left, e.clientY - r.top];
    };
    this.box.addEventListener("wheel", (e) => {
      if (e.shiftKey && !e.deltaX) return;  // scrolls through the rows
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        e.preventDefault();
        this.pan(e.deltaX / this.plotWidth);
        return;
      }
      const isAll = this.from <= 0 && this.to >= this.data.end;
      if (isAll && e.deltaY > 0) return;  // nothing to zoom out of: the page scrolls on
      e.preventDefault();
      this.zoom(Math.exp(Math.max(-100, Math.min(100, e.deltaY)) * 0.003), this.timeAt(at(e)[0]));
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      const [x] = at(e);
      this.drag = { x, now: x, pans: e.shiftKey, from: this.from, to: this.to };
      this.canvas.setPointerCapture(e.pointerId);
    });
    this.canvas.addEventListener("pointermove", (e) => {
      const [x, y] = at(e);
      if (!this.drag) return this.hover(x, y);
      this.tip.hidden = true;
      this.drag.now = x;
      if (this.drag.pans) {
        const by = ((this.drag.x - x) / this.plotWidth) * (this.drag.to - this.drag.from);
        this.zoomTo(this.drag.from + by, this.drag.to + by);
      } else this.later();
    });
    this.canvas.addEventListener("pointerup", () => {
      const d = this.drag;
      this.drag = null;
      if (d && !d.pans && Math.abs(d.now - d.x) > 4) this.zoomTo(this.timeAt(Math.min(d.x, d.now)), this.timeAt(Math.max(d.x, d.now)));
      else this.later();
    });
    this.canvas.addEventListener("dblclick", () => this.reset());
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.box.addEventListener("scroll", () => this.later());
    this.box.addEventListener("keydown", (e) => {
      const keys: Record<string, () => void> = {
        ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), "+": () => this.zoomIn(), "=": () => this.zoomIn(), "-": () => this.zoomOut(),
        Home: () => this.reset(), "0": () => this.reset(),
      };
      const act = keys[e.key];
      if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      act();
      const [a, b] = this.range;
      this.said.textContent = `From ${seconds(a)} to ${seconds(b)}`;
    });
  }

  private rowAt(y: number): Row | null {
    const i = this.tops.findIndex((top) => y + this.box.scrollTop >= top && y + this.box.scrollTop < top + rowHeight);
    return i < 0 || y < axisHeight ? null : this.rows[i];
  }

  private hover(x: number, y: number): void {
    const row = x < this.gutter ? null : this.rowAt(y);
    const time = this.timeAt(x);
    const slack = (this.to - this.from) / this.plotWidth;  // a pixel
    let found = -1;
    if (row)
      for (let k = firstAfter(row.end, time - slack); k < row.name.length && row.start[k] <= time + slack; ++k)
        if (row.end[k] >= time - slack && (found < 0 || row.start[k] <= time)) found = k;
    this.tip.hidden = found < 0;
    if (!row || found < 0) return;
    const name = row.name[found], unit = this.data.unit_s;
    const facts = [
      row.microBatch[found] >= 0 ? `micro-batch ${row.microBatch[found]}` : "", this.data.stages[name] >= 0 && this.stages > 1 ? `stage ${this.data.stages[name]}` : "",
      this.data.bytes[name] > 0 ? trafficText(this.data.bytes[name]) : "", `${row.stream} stream of ${row.gpus}`,
    ].filter((f) => f !== "").join(", ");
    this.tip.replaceChildren(h("strong", {}, this.data.names[name]), h("div", {}, `${kinds[this.data.kinds[name]].name}, ${facts}`),
      h("div", {}, `${seconds((row.end[found] - row.start[found]) * unit)} from ${seconds(row.start[found] * unit)}`));
    const wide = this.element.clientWidth;
    this.tip.style.left = `${Math.min(x + 14, Math.max(0, wide - this.tip.offsetWidth - 8))}px`;
    this.tip.style.top = `${y + 18}px`;
  }

  // Every row over the whole iteration, for the strip beside the rows.
  private drawAll(c: CanvasRenderingContext2D, wide: number, high: number): void {
    const scale = high / this.height;
    this.look = theme();
    this.rows.forEach((row, i) => this.drawSpans(c, row, { left: 0, top: this.tops[i] * scale, wide, high: Math.max(1, (rowHeight - 2) * scale), from: 0, to: this.data.end }));
  }

  // "Groups of GPUs 5 to 9 of 16 are in view": so that nobody takes what is in view for all.
  private sayInView(): void {
    if (!this.overview) return;
    const top = this.box.scrollTop, bottom = top + this.box.clientHeight;
    const groups = this.rows.flatMap((row, i) => (row.first ? [this.tops[i]] : []));
    const seen = groups.map((start, i) => ({ i, start, end: groups[i + 1] ?? this.height })).filter((g) => g.end - deviceGap > top + axisHeight && g.start < bottom);
    const text = `Groups of GPUs ${seen[0].i + 1} to ${seen.at(-1)!.i + 1} of ${groups.length} are in view. Scroll, or press the strip beside them, which shows all.`;
    if (this.inView.textContent !== text) this.inView.textContent = text;
    this.overview.mark();
  }

  private draw(): void {
    const wide = this.wide, high = isPrinting() ? this.height : Math.min(this.box.clientHeight, this.height);
    if (wide === 0) return;
    const scrolled = isPrinting() ? 0 : this.box.scrollTop;
    const dense = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(wide * dense) || this.canvas.height !== Math.round(high * dense)) {
      this.canvas.width = Math.round(wide * dense);
      this.canvas.height = Math.round(high * dense);
      this.canvas.style.width = `${wide}px`;
      this.canvas.style.height = `${high}px`;
    }
    const t = this.look = theme(), c = this.canvas.getContext("2d")!, gutter = this.gutter;
    c.setTransform(dense, 0, 0, dense, 0, 0);
    c.fillStyle = t.paper;
    c.fillRect(0, 0, wide, high);
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.rows.forEach((row, i) => {
      const y = this.tops[i] - scrolled;
      if (y + rowHeight < axisHeight || y > high) return;
      c.fillStyle = t.panel;
      c.fillRect(gutter, y + 1, wide - gutter, rowHeight - 2);
      this.drawSpans(c, row, { left: gutter, top: y + 1, wide: this.plotWidth, high: rowHeight - 2, from: this.from, to: this.to });
      c.fillStyle = t.paper;
      c.fillRect(0, y, gutter, rowHeight);
      c.fillStyle = row.label ? t.ink : t.soft;
      const text = row.label ? (gutter < gutterWide ? row.label : `${row.label.length > 14 ? `${row.label.slice(0, 13)}…` : row.label}`) : "";
      if (text) c.fillText(text, 4, y + rowHeight / 2, gutter - 8);
      if (gutter === gutterWide || !text) {
        c.fillStyle = t.soft;
        c.textAlign = "right";
        c.fillText(row.stream, gutter - 6, y + rowHeight / 2, gutter === gutterWide ? 78 : gutter - 10);
        c.textAlign = "left";
      }
    });
    this.drawAxis(c, wide, gutter);
    this.sayInView();
    if (this.drag && !this.drag.pans) {
      c.fillStyle = t.dark ? "rgba(255,255,255,.18)" : "rgba(0,0,0,.12)";
      c.fillRect(Math.min(this.drag.x, this.drag.now), axisHeight, Math.abs(this.drag.now - this.drag.x), high);
    }
    this.box.dataset.drawn = "yes";
  }

  private drawSpans(c: CanvasRenderingContext2D, row: Row, a: Area): void {
    const perUnit = a.wide / (a.to - a.from), y = a.top, high = a.high, right = a.left + a.wide, isLarge = high > 8;
    // Spans narrower than a pixel share it: it has the colour of the longest of them, as strong as they fill it.
    let pixel = -1, filled = 0, longest = 0, colour = "";
    const flush = (): void => {
      if (filled > 0) {
        c.globalAlpha = Math.min(1, Math.max(leastStrength, filled));
        c.fillStyle = colour;
        c.fillRect(pixel, y, 1, high);
        c.globalAlpha = 1;
      }
      filled = longest = 0;
    };
    for (let k = firstAfter(row.end, a.from); k < row.name.length && row.start[k] < a.to; ++k) {
      const x = a.left + (row.start[k] - a.from) * perUnit, end = a.left + (row.end[k] - a.from) * perUnit;
      if (end < a.left) continue;
      const left = Math.max(a.left, x), width = Math.min(end, right) - left;
      if (width < 1) {
        const at = Math.floor(left);
        if (at !== pixel) flush();
        pixel = at;
        if (width > longest || filled === 0) {
          longest = width;
          colour = this.colourOf(row, k);
        }
        filled += width;
        continue;
      }
      c.fillStyle = this.colourOf(row, k);
      c.fillRect(left, y, width, high);
      if (!isLarge) continue;
      if (this.by !== "pass" && !isForward(this.data.kinds[row.name[k]]) && width > 1) {  // a darker foot marks other passes than forward ones
        c.fillStyle = "rgba(0,0,0,.35)";
        c.fillRect(left, y + high - 5, width, 5);
      }
      if (width > 8) {  // so that neighbours of one colour can be told apart
        c.fillStyle = "rgba(255,255,255,.45)";
        c.fillRect(left, y, 1, high);
      }
      if (width > 60) this.drawName(c, this.data.names[row.name[k]], this.colourOf(row, k), left, y, width, high);
    }
    flush();
  }

  private drawName(c: CanvasRenderingContext2D, name: string, colour: string, x: number, y: number, width: number, high: number): void {
    c.save();
    c.beginPath();
    c.rect(x, y, width - 3, high);
    c.clip();
    c.fillStyle = inkOn(colour);
    c.fillText(name, x + 4, y + high / 2);
    c.restore();
  }

  private drawAxis(c: CanvasRenderingContext2D, wide: number, gutter: number): void {
    const t = theme(), span = (this.to - this.from) * this.data.unit_s;
    c.fillStyle = t.paper;
    c.fillRect(0, 0, wide, axisHeight - 2);
    const most = Math.max(2, Math.floor(this.plotWidth / 110));
    const size = 10 ** Math.floor(Math.log10(span / most));
    const step = [1, 2, 5, 10].map((f) => f * size).find((s) => span / s <= most) ?? size * 10;
    for (let i = Math.ceil((this.from * this.data.unit_s) / step); i * step <= this.to * this.data.unit_s + step * 1e-6; ++i) {
      const x = gutter + ((i * step) / this.data.unit_s - this.from) * (this.plotWidth / (this.to - this.from));
      c.fillStyle = t.line;
      c.fillRect(x, axisHeight - 8, 1, 6);
      c.fillStyle = t.soft;
      c.textAlign = x > wide - 40 ? "right" : x < gutter + 20 ? "left" : "center";
      c.fillText(seconds(Number((i * step).toPrecision(6))), x, 9);
    }
    c.textAlign = "left";
  }
}
