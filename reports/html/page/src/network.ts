// The network between nodes in words: its tiers from the nodes up, and how much narrower each is than what enters it.

import type { ClusterData, Network } from "./data";
import { bandwidth, counted } from "./format";

// `up`: of the links to the tier above; absent on the last.
export interface Tier { text: string; up?: string }

const ratio = (x: number | undefined): string => (x === undefined || x === 1 ? "not over-subscribed" : `${Number(x.toPrecision(3))}:1 over-subscribed`);
const groupsOf = (n: number, size: number): number => Math.ceil(n / size);

function treeTiers(nodes: number, perLeaf: number, n: Network): Tier[] {
  const leaves = groupsOf(nodes, perLeaf), leaf = `${counted(leaves, "leaf", "leaves")} of ${counted(perLeaf, "node")}`;
  if (leaves === 1) return [{ text: leaf }];
  if (n.leaves_per_pod === undefined) return [{ text: leaf, up: ratio(n.oversubscription) }, { text: "core" }];
  const pods = groupsOf(leaves, n.leaves_per_pod), pod = `${counted(pods, "pod")} of ${counted(n.leaves_per_pod, "leaf", "leaves")}`;
  return [{ text: leaf, up: ratio(n.oversubscription) }, ...(pods === 1 ? [{ text: pod }] : [{ text: pod, up: ratio(n.pod_oversubscription) }, { text: "core" }])];
}

// Rails: NIC i of every node is on switch i.
const railTiers = (n: Network): Tier[] =>
  n.oversubscription === undefined ? [] : [{ text: "each rail joins the same adapter of all nodes", up: ratio(n.oversubscription) }, { text: "spine" }];

function dragonflyTiers(nodes: number, n: Network): Tier[] {
  const routers = groupsOf(nodes, n.nodes_per_router ?? 1), perGroup = n.routers_per_group ?? 1;
  return [{ text: `${counted(routers, "router")} of ${counted(n.nodes_per_router ?? 1, "node")}`, up: `${counted(n.local_links ?? 1, "link")} between routers of a group` },
    { text: `${counted(groupsOf(routers, perGroup), "group")} of ${counted(perGroup, "router")}, ${counted(n.global_links ?? 1, "link")} between groups` }];
}

// From the nodes up; empty where a network has one switch, or nothing more is known of it.
export function tiersOf(cluster: ClusterData): Tier[] {
  const n = cluster.network;
  if (n?.nodes_per_leaf !== undefined) return treeTiers(cluster.nodes, n.nodes_per_leaf, n);
  if (n?.nodes_per_router !== undefined) return dragonflyTiers(cluster.nodes, n);
  return n?.kind === "rails" ? railTiers(n) : [];
}

// "fat tree of 32 nodes, infiniband 50 GB/s".
export function networkText(cluster: ClusterData): string {
  const n = cluster.network!;
  const shape = n.dimensions ? ` of ${n.dimensions.join(" x ")} places` : n.switches ? ` of ${counted(n.switches, "switch", "switches")}` : "";
  return `${n.kind}${shape} for ${counted(cluster.nodes, "node")}, ${n.link} ${bandwidth(n.bandwidth_bytes_per_s)}`;
}

// "Network: fat tree for 32 nodes, infiniband 50 GB/s; 4 leaves of 8 nodes, 2:1 over-subscribed; core."
export function networkSentence(cluster: ClusterData): string | null {
  const tiers = tiersOf(cluster).map((tier) => [tier.text, tier.up].filter((x) => x !== undefined).join(", "));
  return cluster.network ? `Network: ${[networkText(cluster), ...tiers].join("; ")}.` : null;
}
