// The parallel computation graph of a plan, block by block, with the GPUs of each.

import { rangesText, type Answer, type GraphBlock, type GraphData, type GraphNode } from "../data";
import { choice, h, svg } from "../dom";
import { leftOut, section, together } from "../section";
import { folded, table } from "../table";
import { ofOrder, onTheme, theme } from "../theme";

const boxWide = 210, boxHigh = 40, gapX = 18, gapY = 26;

// Rows by the longest way from a source of the block; columns in the order of the graph.
function drawPart(part: GraphNode[]): SVGElement {
  const rank: number[] = [];
  part.forEach((n, i) => rank.push(Math.max(0, ...n.inputs.filter((x) => x >= 0 && x < i).map((x) => rank[x] + 1))));
  // What starts here, as the copies of a weight do, stands right above what reads it.
  part.forEach((n, i) => {
    if (n.inputs.some((x) => x >= 0)) return;
    const readers = part.flatMap((m, k) => (m.inputs.includes(i) ? [rank[k]] : []));
    if (readers.length > 0) rank[i] = Math.max(0, Math.min(...readers) - 1);
  });
  const rows: number[][] = [];
  rank.forEach((r, i) => (rows[r] ??= []).push(i));
  const most = Math.max(...rows.map((r) => r.length));
  const wide = most * (boxWide + gapX) + 60, high = rows.length * (boxHigh + gapY) + 20;
  const at = part.map(() => ({ x: 0, y: 0 }));
  rows.forEach((row, r) => row.forEach((n, k) => { at[n] = { x: 30 + (k + 0.5) * ((wide - 60) / row.length), y: 10 + boxHigh / 2 + r * (boxHigh + gapY) }; }));
  const edges = part.flatMap((n, i) => n.inputs.filter((x) => x >= 0 && x < i).map((x) => {
    const a = { x: at[x].x, y: at[x].y + boxHigh / 2 }, b = { x: at[i].x, y: at[i].y - boxHigh / 2 };
    const far = rank[i] - rank[x] > 1;  // goes round what lies between
    const side = Math.max(a.x, b.x) + boxWide / 2 + 14;
    return svg("path", { class: "edge", d: far ? `M${a.x},${a.y} C${side},${a.y + 30} ${side},${b.y - 30} ${b.x},${b.y}` : `M${a.x},${a.y} C${a.x},${a.y + gapY / 2} ${b.x},${b.y - gapY / 2} ${b.x},${b.y}`, "marker-end": "url(#arrow)" });
  }));
  const boxes = part.map((n, i) => {
    const moves = n.cut === undefined;
    return svg("g", { class: `operator${moves ? " moves" : n.cut === "whole" ? "" : " cut"}`, transform: `translate(${at[i].x - boxWide / 2},${at[i].y - boxHigh / 2})` },
      svg("title", {}, `${n.name}: ${n.kind}${moves ? " (moves data)" : `, cut ${n.cut}`}\nresult ${n.shape}`),
      svg("rect", { width: boxWide, height: boxHigh, rx: moves ? 20 : 4 }),
      svg("text", { x: boxWide / 2, y: 16, "text-anchor": "middle" }, short(`${n.name}`, 30)),
      svg("text", { x: boxWide / 2, y: 32, "text-anchor": "middle", class: "soft" }, short(moves ? `${n.kind} → ${n.shape}` : `${n.kind}, ${n.cut}`, 34)));
  });
  return svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img", "aria-label": `Graph of ${part.length} operators; the table below lists them` },
    svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z", class: "tip-of-edge" }))), ...edges, ...boxes);
}

const short = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

interface Group { blocks: GraphBlock[]; part: number; same: string | null }

// Neighbours with the same part are one group; a part that came before is not drawn again.
function groupsOf(data: GraphData): Group[] {
  const groups: Group[] = [];
  const first = new Map<number, string>();
  for (const b of data.blocks) {
    const last = groups.at(-1);
    if (last && last.part === b.part) last.blocks.push(b);
    else groups.push({ blocks: [b], part: b.part, same: first.get(b.part) ?? null });
    if (!first.has(b.part)) first.set(b.part, b.name);
  }
  return groups;
}

const stageText = (b: GraphBlock): string => (b.stages[0] === b.stages[1] ? `${b.stages[0]}` : `${b.stages[0]} to ${b.stages[1]}`);

// Neighbours of one stage on the same GPUs.
function placesOf(data: GraphData): { name: string; block: GraphBlock; count: number }[] {
  const places: { name: string; first: string; block: GraphBlock; count: number }[] = [];
  for (const b of data.blocks) {
    const last = places.at(-1);
    if (last && stageText(last.block) === stageText(b) && rangesText(last.block.devices) === rangesText(b.devices)) {
      last.name = `${last.first} to ${b.name}`;
      last.count += 1;
    } else places.push({ name: b.name, first: b.name, block: b, count: 1 });
  }
  return places;
}

// Which GPUs run which blocks: a row for each run of blocks, a column for each GPU.
function mappingOf(data: GraphData): HTMLElement {
  const places = placesOf(data);
  const wide = 640, row = Math.max(6, Math.min(22, 420 / places.length)), left = 170;
  const high = places.length * row + 24;
  const colour = (stage: number): string => ofOrder(theme(), stage, data.stages);
  const each = Math.max(1, Math.ceil(12 / row));
  const picture = svg("svg", { viewBox: `0 0 ${left + wide + 10} ${high}`, width: left + wide + 10, height: high, role: "img", "aria-label": "Mapping: which GPUs run which block; the table lists it" },
    ...places.flatMap(({ name, block: b }, i) => [
      i % each === 0 ? svg("text", { x: left - 8, y: i * row + row / 2 + 4, "text-anchor": "end", class: "soft" }, short(name, 28)) : null,
      ...b.devices.map(([from, to]) => svg("rect", { x: left + (from / data.gpus) * wide, y: i * row + 0.5, width: Math.max(0.8, ((to - from + 1) / data.gpus) * wide), height: row - 1, fill: colour(b.stages[0]) },
        svg("title", {}, `${name}: stage ${stageText(b)}, GPUs ${rangesText(b.devices)}`))),
    ]).filter((x) => x !== null),
    svg("text", { x: left, y: high - 6, class: "soft" }, "GPU 0"), svg("text", { x: left + wide, y: high - 6, "text-anchor": "end", class: "soft" }, `GPU ${data.gpus - 1}`));
  return h("figure", {}, h("figcaption", {}, "Mapping: from left to right the GPUs, from top to bottom the blocks; colours are pipeline stages"), h("div", { class: "wide" }, picture));
}

function groupElement(data: GraphData, g: Group): HTMLDetailsElement {
  const part = data.parts[g.part], b = g.blocks;
  const name = b.length === 1 ? b[0].name : `${b[0].name} to ${b.at(-1)!.name}`;
  const stages: [number, number] = [Math.min(...b.map((x) => x.stages[0])), Math.max(...b.map((x) => x.stages[1]))];
  const moved = part?.filter((n) => n.cut === undefined).length ?? 0;
  const facts = [b.length > 1 ? `${b.length} alike blocks` : "", part ? `${part.length - moved} operators` : "", moved > 0 ? `${moved} parallel operators` : "", data.stages > 1 ? `stage ${stages[0] === stages[1] ? stages[0] : `${stages[0]} to ${stages[1]}`}` : "", g.same && part ? `as ${g.same}` : ""].filter((x) => x !== "").join(", ");
  const details: HTMLDetailsElement = h("details", { class: "block" }, h("summary", {}, h("strong", {}, name), ` ${facts}`));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    details.append(part === null ? leftOut("The operators of this block are left out of this file.")!
      : h("div", {}, h("div", { class: "wide drawing" }, drawPart(part)), table(`Operators of ${name}`, [
        { label: "operator", value: (n: GraphNode) => n.name }, { label: "kind", value: (n: GraphNode) => n.kind },
        { label: "cut", value: (n: GraphNode) => n.cut ?? "moves data" }, { label: "result", value: (n: GraphNode) => n.shape },
      ], part)));
  });
  return details;
}

export function graph({ result, details }: Answer): HTMLElement | null {
  const kept = (details?.runs ?? []).filter((d) => d.graph && d.graph.blocks.length > 0);
  if (kept.length === 0) return null;
  const place = h("div"), about = h("p"), mapping = h("div");
  let shown = kept[0].graph!;
  const drawMapping = (): void => mapping.replaceChildren(mappingOf(shown));
  onTheme(drawMapping);
  const show = (i: number): void => {
    const data = shown = kept[i].graph!;
    const note = leftOut(data.left_out);
    const blocks = groupsOf(data).map((g) => groupElement(data, g));
    drawMapping();
    about.textContent = `${data.gpus} GPUs, ${data.micro_batches} micro-batch${data.micro_batches === 1 ? "" : "es"}, ${data.stages} stage${data.stages === 1 ? "" : "s"}${data.stages > 1 ? ` on ${data.ranks} ranks, schedule ${data.schedule}` : ""}, recompute ${data.recompute}, ZeRO ${data.zero}.`;
    place.replaceChildren(
      h("div", { class: "tools" }, h("button", { type: "button", onclick: () => blocks.forEach((b) => (b.open = true)) }, "Open all"), h("button", { type: "button", onclick: () => blocks.forEach((b) => (b.open = false)) }, "Close all")),
      ...blocks, ...(note ? [note] : []),
      folded("Blocks and their GPUs as a table", () => table("Blocks and their GPUs", [
        { label: "block", value: (b: GraphBlock) => b.name }, { label: "stage", value: stageText }, { label: "GPUs", value: (b: GraphBlock) => rangesText(b.devices) },
      ], data.blocks)));
  };
  show(0);
  return section("graph", "Parallel computation graph",
    "The operators of each block, how each is cut among its GPUs, and the parallel operators (round boxes) that move data where layouts differ. Open a block to see it; layers that are alike are drawn once.",
    h("div", { class: "tools" }, kept.length > 1 ? choice("Plan", kept.map((d) => result.runs[d.run].plan), 0, show) : h("span", {}, result.runs[kept[0].run].plan)), together(about, mapping), place);
}
