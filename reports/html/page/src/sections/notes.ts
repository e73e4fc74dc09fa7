// What the figures are based on.

import type { Answer } from "../data";
import { h } from "../dom";
import { percent, seconds } from "../format";
import { nameOf } from "../runs";
import { section } from "../section";
import { table } from "../table";

const headings: Record<string, string> = {
  problem: "Problems: the answer is not quite the one that was asked for", caution: "Cautions: figures may be further off than usual",
  assumption: "Assumptions: nobody gave these figures, and nothing measured says them", search: "How the plans were found", detail: "Details and profiles",
};
const bases: [string, string][] = [["measured", "measured"], ["fitted", "fitted to measurements"], ["extrapolated", "extrapolated"], ["defaults", "by defaults"]];

function aboutText(runs: number[], answer: Answer): string {
  const all = answer.result.runs;
  if (runs.length === all.length && all.length > 1) return "all runs";
  const shown = runs.filter((r) => !all[r] || answer.rows.includes(all[r]));
  const names = shown.slice(0, 3).map((r) => (all[r] ? nameOf(all[r]) : `run ${r + 1}`));
  return shown.length > 3 ? `${names.join("; ")} and ${shown.length - 3} more` : names.join("; ");
}

export function notes(answer: Answer): HTMLElement | null {
  const { result, details } = answer;
  if (!details) return null;
  const groups = Object.keys(headings).map((kind) => ({ kind, notes: details.notes.filter((n) => n.kind === kind) })).filter((g) => g.notes.length > 0);
  const rested = result.runs.filter((r) => r.variant === "base" && r.compute_basis_s);
  return section("notes", "What the figures are based on",
    "Where the numbers come from, the most important first. Read the problems and cautions before you trust a difference of a few per cent.",
    ...groups.map((g) => h("details", { class: `notes ${g.kind}`, open: g.kind !== "search" && g.kind !== "detail" }, h("summary", {}, `${headings[g.kind]} (${g.notes.length})`),
      h("ul", {}, ...g.notes.slice(0, 200).map((n) => h("li", {}, `${n.text}. `, h("small", {}, aboutText(n.runs, answer))))))),
    rested.length > 0 ? h("h3", {}, "Kernel times by their basis") : null,
    rested.length > 0 ? table("Kernel times by their basis", [
      { label: "Plan", value: (r) => r.plan }, { label: "Framework", value: (r) => r.framework },
      ...bases.map(([key, label]) => {
        const share = (r: (typeof rested)[number]): number => (r.compute_basis_s![key] ?? 0) / Math.max(1e-30, Object.values(r.compute_basis_s!).reduce((a, b) => a + b, 0));
        return { label, value: share, show: (r: (typeof rested)[number]) => percent(share(r)) };
      }),
      { label: "search", title: "Wall clock", value: (r) => r.search_time_s, show: (r) => seconds(r.search_time_s) },
    ], rested) : null,
    result.engine ? h("p", { class: "hint" }, `Simulated with ${typeof result.engine === "string" ? result.engine : JSON.stringify(result.engine)}.`) : null,
    ...details.left_out.map((text) => h("p", { class: "left-out" }, text)));
}
