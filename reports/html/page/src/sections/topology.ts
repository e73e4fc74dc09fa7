// The cluster: one node of each type with its wires, the network above, and how busy the links are.

import type { Answer, ClusterData, LinkUse, Run } from "../data";
import { choice, h } from "../dom";
import { drawNode, linkDashes, sampleOf } from "../node_drawing";
import { percent, trafficText } from "../format";
import { networkSentence } from "../network";
import { bestOf, isBase } from "../runs";
import { section, together } from "../section";
import { table } from "../table";
import { onTheme } from "../theme";

function linksOf(run: Run | undefined): LinkUse[] {
  if (run?.links) return run.links;
  return run?.busiest_link ? [{ ...run.busiest_link, bytes: NaN, busiest: run.busiest_link.busy }] : [];
}

// How lines are dashed tells the type of a link, and their colour how busy it is.
function keyOf(dashes: Map<string, string>, isUsed: boolean): HTMLElement {
  return h("div", {},
    h("ul", { class: "legend" }, ...[...dashes].map(([type, dash]) => h("li", {}, sampleOf(dash), type))),
    isUsed ? h("p", { class: "hint says-on-paper" }, "The colour is the share of the iteration in which a link is busy: 0 ", h("span", { class: "scale", "aria-hidden": "true" }), " 100 %. The use of grey links is not known.") : null);
}

const linkTable = (links: LinkUse[]): HTMLElement => table("Links", [
  { label: "Type", value: (l: LinkUse) => l.type }, { label: "Links", title: "How many links of the type carry something; a wire has one each way", value: (l: LinkUse) => l.count },
  { label: "Bytes", title: "Of all transfers that cross such a link", value: (l: LinkUse) => l.bytes, show: (l: LinkUse) => trafficText(l.bytes) },
  { label: "Busy", title: "Share of the iteration, as the mean over these links", value: (l: LinkUse) => (l.over_time ? l.busy : null), show: (l: LinkUse) => (l.over_time ? percent(l.busy) : "") },
  { label: "Busiest", title: "The same of the busiest of them", value: (l: LinkUse) => l.busiest, show: (l: LinkUse) => percent(l.busiest ?? l.busy) }, { label: "Which is", value: (l: LinkUse) => l.name },
], links);

function drawings(cluster: ClusterData, links: LinkUse[], dashes: Map<string, string>): HTMLElement[] {
  return cluster.node_types.map((n) => h("figure", {}, h("figcaption", {}, `${n.count} node${n.count === 1 ? "" : "s"} with ${n.gpus} × ${n.gpu_type}`), h("div", { class: "wide" }, drawNode(n, cluster, links, dashes))));
}

export function topology({ result, details }: Answer): HTMLElement | null {
  const cluster = details?.cluster;
  if (!cluster) return null;
  const base = result.runs.filter((r) => isBase(r) && (r.links || r.busiest_link));
  const dashes = linkDashes(cluster);
  const picture = together(), drawing = h("div"), figures = h("div");
  const best = bestOf(base);
  let now = Math.max(0, best ? base.indexOf(best) : 0);
  const draw = (): void => drawing.replaceChildren(...drawings(cluster, linksOf(base[now]), dashes));
  const show = (i: number): void => {
    now = i;
    const links = linksOf(base[now]);
    draw();
    picture.replaceChildren(keyOf(dashes, links.length > 0), drawing);
    figures.replaceChildren(...(links.length === 0 ? [] : [linkTable(links)]));
  };
  show(now);
  onTheme(draw);
  return section("topology", "Topology",
    `${cluster.name}: ${cluster.nodes} node${cluster.nodes === 1 ? "" : "s"} and ${cluster.gpus} GPUs. Equal nodes are drawn once; wider lines carry more bytes a second. Point at a line for its figures.`,
    cluster.network ? h("p", {}, networkSentence(cluster)) : null,
    base.length > 1 ? h("div", { class: "tools" }, choice("Use by plan", base.map((r) => r.plan), now, show)) : null, picture, figures);
}
