// What runs when.

import type { Answer, TimelineData } from "../data";
import { choice, h, legend } from "../dom";
import { seconds } from "../format";
import { leftOut, section, together } from "../section";
import { folded, table } from "../table";
import { onTheme } from "../theme";
import { kinds, Timeline, type ColourBy } from "../timeline";

const ways: ColourBy[] = ["pass", "stage", "micro-batch"];

interface Sum { device: string; stream: string; kind: string; spans: number; seconds: number }

// Seconds by device, stream and sort of work: what the picture says, in figures.
function sums(data: TimelineData): Sum[] {
  const all: Sum[] = [];
  for (const d of data.devices)
    for (const lane of d.lanes) {
      const by = new Map<number, Sum>();
      lane.name.forEach((name, k) => {
        const kind = data.kinds[name];
        const sum = by.get(kind) ?? { device: `GPU ${d.device}`, stream: lane.stream, kind: kinds[kind].name, spans: 0, seconds: 0 };
        sum.spans += 1;
        sum.seconds += lane.duration[k] * data.unit_s;
        by.set(kind, sum);
      });
      all.push(...by.values());
    }
  return all;
}

export function timeline({ result, details }: Answer): HTMLElement | null {
  const kept = (details?.runs ?? []).filter((d) => d.timeline);
  if (kept.length === 0) return null;
  let by: ColourBy = "pass";
  const place = together(), key = h("div");
  const show = (i: number): void => {
    const data = kept[i].timeline!;
    if (!data.devices || data.devices.length === 0) {
      key.replaceChildren();
      place.replaceChildren(leftOut(data.left_out)!);
      return;
    }
    const drawn = new Timeline(data, `Timeline of ${result.runs[kept[i].run].plan}`);
    const colour = (): void => {
      drawn.colourBy(by);
      key.replaceChildren(legend(drawn.legend()));
    };
    recolour = colour;
    colour();
    const note = leftOut(data.left_out);
    place.replaceChildren(drawn.element,
      h("div", { class: "tools" },
        h("button", { type: "button", onclick: () => drawn.zoomIn() }, "Zoom in"), h("button", { type: "button", onclick: () => drawn.zoomOut() }, "Zoom out"),
        h("button", { type: "button", onclick: () => drawn.reset() }, "Whole iteration"),
        h("span", { class: "hint" }, `${drawn.spans.toLocaleString("en")} spans. Drag over a stretch to zoom in, or turn the wheel; Shift and drag moves, a double click shows all. Keys: arrows, +, −, Home.`)),
      ...(note ? [note] : []),
      folded("Seconds by stream as a table", () => table("Seconds by stream", [
        { label: "GPU", value: (s) => s.device }, { label: "stream", value: (s) => s.stream }, { label: "work", value: (s) => s.kind },
        { label: "spans", value: (s) => s.spans }, { label: "time", value: (s) => s.seconds, show: (s) => seconds(s.seconds) },
      ], sums(data))));
  };
  let recolour = (): void => {};
  onTheme(() => recolour());
  show(0);
  return section("timeline", "Timeline",
    "What each simulated GPU does when, a row for each of its streams; a GPU stands for all that do the same. Gaps in a compute row are time that is lost: look at what runs below them.",
    h("div", { class: "tools" },
      kept.length > 1 ? choice("Plan", kept.map((d) => result.runs[d.run].plan), 0, show) : h("span", {}, result.runs[kept[0].run].plan),
      choice("Colour by", ways, 0, (i) => { by = ways[i]; recolour(); })),
    key, place);
}
