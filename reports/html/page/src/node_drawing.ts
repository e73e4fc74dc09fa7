// A picture of a node: its parts, their wires, and the tiers of the network above them.

import type { ClusterData, LinkUse } from "./data";
import { svg } from "./dom";
import { bandwidth, percent } from "./format";
import { networkText, tiersOf, type Tier } from "./network";
import { onScale, theme } from "./theme";

type Node = ClusterData["node_types"][number];
interface Place { x: number; y: number }

const order = ["nic", "cpu", "switch", "gpu", "fabric"];  // from the network down
const partWide = 66, partHigh = 30, partGap = 12, rowGap = 74;
const tierHigh = 34, tierGap = 34;
const patterns = ["none", "9 4", "2 4", "12 4 2 4", "5 3", "16 5"];

// Each type of link has a pattern of its own.
export function linkDashes(cluster: ClusterData): Map<string, string> {
  const types = new Set([...cluster.node_types.flatMap((n) => n.wires.map((w) => w.link)), ...(cluster.network ? [cluster.network.link] : [])]);
  return new Map([...types].map((type, i) => [type, patterns[i % patterns.length]]));
}

export const sampleOf = (dash: string): SVGElement =>
  svg("svg", { class: "sample", width: 40, height: 10, "aria-hidden": "true" }, svg("path", { d: "M0,5 L40,5", stroke: "currentColor", "stroke-width": 2.4, "stroke-dasharray": dash }));

// "node3:gpu0->switch0" is a wire between gpu0 and switch0 of any node: a drawing has one of each type.
const endsOf = (name: string): string[] => name.split("->").map((end) => end.slice(end.indexOf(":") + 1));
const sort = (name: string): string => name.replace(/\d+$/, "");
const isBetweenSwitches = (l: LinkUse): boolean => !l.name.includes(":");

const busiest = (links: LinkUse[]): number | null => (links.length > 0 ? Math.max(...links.map((l) => l.busiest ?? l.busy)) : null);

// How busy a wire is: the busiest link of its type between parts of these sorts.
function busyOf(links: LinkUse[], link: string, a: string, b: string): number | null {
  return busiest(links.filter((l) => {
    const [from, to] = endsOf(l.name).map(sort);
    return l.type === link && ((from === sort(a) && to === sort(b)) || (from === sort(b) && to === sort(a)));
  }));
}

// A switch that joins most GPUs, as NVSwitch does, is drawn below them, apart from the switches on the way to the network.
function rowOf(node: Node, i: number): string {
  const { kind } = node.parts[i];
  if (kind !== "switch") return kind;
  const others = node.wires.filter((w) => w.a === i || w.b === i).map((w) => node.parts[w.a === i ? w.b : w.a].kind);
  return others.length > 0 && others.every((other) => other === "gpu") ? "fabric" : kind;
}

// A line with its use as its colour, its type as its pattern, and its figures when the pointer is over it.
function wire(d: string, said: string, busy: number | null, width: number, dash: string | undefined): SVGElement {
  const t = theme();
  return svg("path", { d, fill: "none", stroke: busy === null ? t.soft : onScale(t, busy), "stroke-width": width.toFixed(1), "stroke-dasharray": dash ?? "none", class: busy === null ? "wire" : "wire used" },
    svg("title", {}, busy === null ? said : `${said}, busy ${percent(busy)} of the time`));
}

// The network's boxes, the nodes' side below; returns where its lowest box ends.
function drawNetwork(cluster: ClusterData, links: LinkUse[], wide: number, dash: string | undefined): { parts: SVGElement[]; bottom: number } {
  const n = cluster.network;
  if (n === undefined) return { parts: [], bottom: 0 };
  const tiers: Tier[] = [...tiersOf(cluster)].reverse();
  const boxes = tiers.length === 0 ? [networkText(cluster)] : tiers.map((tier) => tier.text), yOf = (i: number): number => 8 + i * (tierHigh + tierGap);
  const busy = busiest(links.filter((l) => l.type === n.link && isBetweenSwitches(l)));
  const parts: SVGElement[] = [];
  tiers.slice(1).forEach((tier, i) => {
    const y = yOf(i) + tierHigh;
    parts.push(wire(`M40,${y} L40,${y + tierGap}`, `${tier.text}, ${tier.up}: ${n.link}`, busy, 4, dash), svg("text", { x: 54, y: y + tierGap / 2 + 4 }, tier.up ?? ""));
  });
  boxes.forEach((text, i) => parts.push(svg("g", { class: "part network" }, svg("rect", { x: 10, y: yOf(i), width: wide - 20, height: tierHigh, rx: 8 }),
    svg("text", { x: 24, y: yOf(i) + 22 }, text))));
  return { parts, bottom: yOf(boxes.length - 1) + tierHigh };
}

function drawParts(node: Node, at: Map<number, Place>): SVGElement[] {
  return node.parts.map((p, i) => {
    const { x, y } = at.get(i)!;
    return svg("g", { class: `part ${p.kind}` },
      svg("rect", { x: x - partWide / 2, y: y - partHigh / 2, width: partWide, height: partHigh, rx: p.kind === "gpu" ? 4 : p.kind === "switch" ? 15 : 8 }),
      svg("text", { x, y: y + 4.5, "text-anchor": "middle" }, p.name));
  });
}

export function drawNode(node: Node, cluster: ClusterData, links: LinkUse[], dashes: Map<string, string>): SVGElement {
  const rows = order.map((kind) => node.parts.map((p, i) => ({ ...p, i })).filter((p) => rowOf(node, p.i) === kind)).filter((r) => r.length > 0);
  const wide = Math.max(440, ...rows.map((r) => r.length * (partWide + partGap) + 40));
  const network = cluster.network, above = drawNetwork(cluster, links, wide, dashes.get(network?.link ?? ""));
  const top = above.bottom + (network ? 58 : 50);
  const at = new Map<number, Place>(rows.flatMap((row, r) => row.map((p, k) => [p.i, { x: (wide * (k + 0.5)) / row.length, y: top + r * rowGap }] as const)));
  const high = top + (rows.length - 1) * rowGap + 40;
  const most = Math.log(Math.max(...node.wires.map((w) => w.bandwidth_bytes_per_s), network?.bandwidth_bytes_per_s ?? 1));
  const widthOf = (b: number): number => Math.max(1.8, 5 + 1.6 * (Math.log(Math.max(1, b)) - most));
  const wires = node.wires.map((w) => {
    const a = at.get(w.a)!, b = at.get(w.b)!, from = node.parts[w.a].name, to = node.parts[w.b].name;
    const bend = Math.abs(a.y - b.y) < 1 ? 44 + Math.abs(a.x - b.x) * 0.12 : 0;
    return wire(`M${a.x},${a.y} Q${(a.x + b.x) / 2},${(a.y + b.y) / 2 + bend} ${b.x},${b.y}`, `${from} – ${to}: ${w.link}, ${bandwidth(w.bandwidth_bytes_per_s)} each way`,
      busyOf(links, w.link, from, to), widthOf(w.bandwidth_bytes_per_s), dashes.get(w.link));
  });
  const uplinks = network === undefined ? [] : rows.filter((r) => r[0].kind === "nic").flat().map((p) => {
    const { x, y } = at.get(p.i)!, busy = busiest(links.filter((l) => l.type === network.link && !isBetweenSwitches(l)));
    return wire(`M${x},${y} L${x},${above.bottom}`, `${p.name} – network: ${network.link}, ${bandwidth(network.bandwidth_bytes_per_s)} each way`, busy, widthOf(network.bandwidth_bytes_per_s), dashes.get(network.link));
  });
  return svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img", "aria-label": `One node: ${node.gpus} ${node.gpu_type} and their wires` },
    ...wires, ...uplinks, ...above.parts, ...drawParts(node, at));
}
