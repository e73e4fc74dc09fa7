// The cluster: one node of each type with its wires, the network above, and how busy the links are.

import { bestOf, type Answer, type ClusterData, type LinkUse, type Run } from "../data";
import { choice, h, legend, svg } from "../dom";
import { bandwidth, percent, trafficText } from "../format";
import { section } from "../section";
import { table } from "../table";
import { onScale, series } from "../theme";

type Node = ClusterData["node_types"][number];
const order = ["nic", "cpu", "switch", "gpu", "fabric"];  // from the network down
const partWide = 66, partHigh = 30, partGap = 12, rowGap = 74;

function linksOf(run: Run | undefined): LinkUse[] {
  if (run?.links) return run.links;
  return run?.busiest_link ? [{ ...run.busiest_link, bytes: NaN, busiest: run.busiest_link.busy }] : [];
}

// "node3:gpu0->switch0" is a wire between gpu0 and switch0 of any node: a drawing has one of each type.
const endsOf = (name: string): [string, string] | null => {
  const ends = name.split("->").map((end) => end.slice(end.indexOf(":") + 1));
  return ends.length === 2 ? [ends[0], ends[1]] : null;
};
const sort = (name: string): string => name.replace(/\d+$/, "");

// How busy a wire is: the busiest link of its type between parts of these sorts.
function busyOf(links: LinkUse[], link: string, a: string, b: string): number | null {
  const found = links.filter((l) => {
    const ends = endsOf(l.name);
    return l.type === link && ends !== null && [`${sort(ends[0])} ${sort(ends[1])}`, `${sort(ends[1])} ${sort(ends[0])}`].includes(`${sort(a)} ${sort(b)}`);
  });
  return found.length > 0 ? Math.max(...found.map((l) => l.busiest ?? l.busy)) : null;
}

// A switch that joins most GPUs, as NVSwitch does, is drawn below them, apart from the switches on the way to the network.
function rowOf(node: Node, i: number): string {
  const { kind } = node.parts[i];
  if (kind !== "switch") return kind;
  const gpus = node.wires.filter((w) => (w.a === i && node.parts[w.b].kind === "gpu") || (w.b === i && node.parts[w.a].kind === "gpu")).length;
  const up = node.wires.some((w) => (w.a === i && node.parts[w.b].kind !== "gpu") || (w.b === i && node.parts[w.a].kind !== "gpu"));
  return gpus > 0 && !up ? "fabric" : kind;
}

function drawNode(node: Node, cluster: ClusterData, links: LinkUse[], colourOf: (link: string) => string): SVGElement {
  const rows = order.map((kind) => node.parts.map((p, i) => ({ ...p, i })).filter((p) => rowOf(node, p.i) === kind)).filter((r) => r.length > 0);
  const wide = Math.max(360, ...rows.map((r) => r.length * (partWide + partGap) + 40));
  const top = cluster.network ? 84 : 30;
  const at = new Map<number, { x: number; y: number }>();
  rows.forEach((row, r) => row.forEach((p, k) => at.set(p.i, { x: (wide * (k + 0.5)) / row.length, y: top + 20 + r * rowGap })));
  const high = top + 20 + (rows.length - 1) * rowGap + 40;
  const most = Math.log(Math.max(...node.wires.map((w) => w.bandwidth_bytes_per_s), cluster.network?.bandwidth_bytes_per_s ?? 1));
  const widthOf = (b: number): number => Math.max(1.6, 5 + 1.6 * (Math.log(Math.max(1, b)) - most));
  const wires = node.wires.map((w) => {
    const a = at.get(w.a)!, b = at.get(w.b)!;
    const flat = Math.abs(a.y - b.y) < 1;
    const bend = flat ? 44 + Math.abs(a.x - b.x) * 0.12 : 0;
    const busy = busyOf(links, w.link, node.parts[w.a].name, node.parts[w.b].name);
    const said = `${node.parts[w.a].name} – ${node.parts[w.b].name}: ${w.link}, ${bandwidth(w.bandwidth_bytes_per_s)} each way${busy === null ? "" : `, busy ${percent(busy)} of the time`}`;
    return svg("path", { d: `M${a.x},${a.y} Q${(a.x + b.x) / 2},${(a.y + b.y) / 2 + bend} ${b.x},${b.y}`, fill: "none", stroke: busy === null ? colourOf(w.link) : onScale(busy),
      "stroke-width": widthOf(w.bandwidth_bytes_per_s).toFixed(1), "stroke-dasharray": busy === null ? null : "none", class: busy === null ? "wire" : "wire used" }, svg("title", {}, said));
  });
  const uplinks = cluster.network === undefined ? [] : rows.filter((r) => r[0].kind === "nic").flat().map((p) => {
    const place = at.get(p.i)!, n = cluster.network!;
    const busy = links.filter((l) => l.type === n.link && /leaf|switch|spine|core|rail|router|->.*nic|nic.*->/.test(l.name)).reduce<number | null>((x, l) => Math.max(x ?? 0, l.busiest ?? l.busy), null);
    return svg("path", { d: `M${place.x},${place.y} L${place.x},46`, stroke: busy === null ? colourOf(n.link) : onScale(busy), "stroke-width": widthOf(n.bandwidth_bytes_per_s).toFixed(1), fill: "none", class: "wire" },
      svg("title", {}, `${p.name} – network: ${n.link}, ${bandwidth(n.bandwidth_bytes_per_s)} each way${busy === null ? "" : `, busy ${percent(busy)} of the time`}`));
  });
  const parts = node.parts.map((p, i) => {
    const place = at.get(i)!;
    return svg("g", { class: `part ${p.kind}` },
      svg("rect", { x: place.x - partWide / 2, y: place.y - partHigh / 2, width: partWide, height: partHigh, rx: p.kind === "gpu" ? 4 : p.kind === "switch" ? 15 : 8 }),
      svg("text", { x: place.x, y: place.y + 4.5, "text-anchor": "middle" }, p.name));
  });
  const network = cluster.network === undefined ? [] : [svg("g", { class: "part network" }, svg("rect", { x: 10, y: 12, width: wide - 20, height: 34, rx: 8 }),
    svg("text", { x: wide / 2, y: 34, "text-anchor": "middle" }, `${cluster.network.kind} of ${cluster.nodes} nodes, ${cluster.network.link} ${bandwidth(cluster.network.bandwidth_bytes_per_s)}`))];
  return svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img", "aria-label": `One node: ${node.gpus} ${node.gpu_type} and their wires` }, ...wires, ...uplinks, ...network, ...parts);
}

export function topology({ result, details }: Answer): HTMLElement | null {
  const cluster = details?.cluster;
  if (!cluster) return null;
  const base = result.runs.filter((r) => r.variant === "base" && (r.links || r.busiest_link));
  const types = [...new Set([...cluster.node_types.flatMap((n) => n.wires.map((w) => w.link)), ...(cluster.network ? [cluster.network.link] : [])])];
  const colourOf = (link: string): string => series[types.indexOf(link) % series.length];
  const place = h("div");
  const best = bestOf(base);
  const start = Math.max(0, best ? base.indexOf(best) : 0);
  const show = (i: number): void => {
    const run = base[i] as Run | undefined;
    const links = linksOf(run);
    place.replaceChildren(
      legend(types.map((t) => ({ colour: colourOf(t), text: t }))),
      h("p", { class: "hint" }, links.length === 0 ? "" : "Links whose use is known are coloured by the share of the iteration in which they are busy: ",
        links.length === 0 ? null : h("span", { class: "scale", "aria-hidden": "true" }), links.length === 0 ? null : " 0 to 100 %."),
      ...cluster.node_types.map((n) => h("figure", {}, h("figcaption", {}, `${n.count} node${n.count === 1 ? "" : "s"} with ${n.gpus} × ${n.gpu_type}`), h("div", { class: "wide" }, drawNode(n, cluster, links, colourOf)))),
      ...(links.length === 0 ? [] : [table("Links", [
        { label: "Type", value: (l: LinkUse) => l.type }, { label: "Links", title: "How many links of the type carry something; a wire has one each way", value: (l: LinkUse) => l.count },
        { label: "Bytes", title: "Of all transfers that cross such a link", value: (l: LinkUse) => l.bytes, show: (l: LinkUse) => trafficText(l.bytes) },
        { label: "Busy", title: "Share of the iteration, as the mean over these links", value: (l: LinkUse) => (l.over_time ? l.busy : null), show: (l: LinkUse) => (l.over_time ? percent(l.busy) : "") },
        { label: "Busiest", title: "The same of the busiest of them", value: (l: LinkUse) => l.busiest, show: (l: LinkUse) => percent(l.busiest ?? l.busy) }, { label: "Which is", value: (l: LinkUse) => l.name },
      ], links)]));
  };
  show(start);
  return section("topology", "Topology",
    `${cluster.name}: ${cluster.nodes} nodes and ${cluster.gpus} GPUs. Equal nodes are drawn once; wider lines carry more bytes a second. Point at a line for its figures.`,
    base.length > 1 ? h("div", { class: "tools" }, choice("Use by plan", base.map((r) => r.plan), start, show)) : null, place);
}
