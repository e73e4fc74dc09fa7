// Links to the sections, in short names that fit one line of a wide window.

import { h } from "./dom";

const names: Record<string, string> = {
  question: "The question", plans: "Plans", capacity: "What to buy", "what-ifs": "What if", sweeps: "Sweeps", sensitivity: "What would help", breakdown: "Time", why: "Why", timeline: "Timeline",
  memory: "Memory", topology: "Topology", graph: "Graph", notes: "Notes",
};

export function navigation(parts: HTMLElement[]): HTMLElement {
  const link = (s: HTMLElement): HTMLElement => h("li", {}, h("a", { href: `#${s.id}` }, names[s.id] ?? s.querySelector("h2")!.textContent));
  return h("nav", { "aria-label": "Sections" }, h("ul", {}, ...parts.map(link)));
}
