// Reports to look at: those that the program writes, and one with what a report may hold besides.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const big = `foreshard: 1
name: GPT-3 13B on 24 DGX A100
model:
  transformer: {layers: 40, hidden: 5120, heads: 40, vocab: 51200, sequence_length: 2048, causal: true, attention: flash}
cluster: {preset: dgx-a100-80gb, nodes: 24}
training: {global_batch: 768, precision: bf16, optimizer: adam}
plans:
  - {megatron: {tensor: 2, pipeline: 4, micro_batch: 1, zero: 1}, name: pipeline-4}
  - {megatron: {tensor: 8, pipeline: 1, micro_batch: 4, sequence_parallel: true}, name: tensor-8}
  - {megatron: {tensor: 4, pipeline: 8, micro_batch: 1, zero: 1}, name: deep}
what_if:
  - {name: a quarter of the network, set: {cluster.links.infiniband.bandwidth: 0.25x}}
  - {name: twice the network, set: {cluster.links.infiniband.bandwidth: 2x}}
`;

// Writes the report of a scenario; returns its file.
export function writeReport(program, folder, name, scenario) {
  const question = join(folder, `${name}.yaml`), report = join(folder, `${name}.html`);
  writeFileSync(question, scenario);
  execFileSync(program, ["run", question, "--quiet", "--report", report], { stdio: "pipe" });
  return report;
}

const marks = ['<script type="application/json" id="data">', "</script>"];

// Returns the data of a report.
export function dataOf(html) {
  const from = html.indexOf(marks[0]) + marks[0].length;
  return JSON.parse(html.slice(from, html.indexOf(marks[1], from)));
}

// Writes a report with other data.
export function writeWith(report, data, file) {
  const html = readFileSync(report, "utf8");
  const from = html.indexOf(marks[0]) + marks[0].length;
  writeFileSync(file, html.slice(0, from) + JSON.stringify(data).replaceAll("<", "\\u003c") + html.slice(html.indexOf(marks[1], from)));
  return file;
}

const clone = (x) => JSON.parse(JSON.stringify(x));

// A comparison with an interval of a tenth either way.
const faster = (speedup) => ({ speedup, speedup_interval: [speedup / 1.1, speedup * 1.1] });

// What docs/formats/results.md lets a result hold, made up from a real one: sweeps over one key and two, sensitivities, capacity.
export function withEverything(data) {
  const d = clone(data), result = d.results[0];
  const base = result.runs.filter((r) => r.variant === "base");
  const factors = ["0.25x", "0.5x", "1x", "2x", "4x"];
  const point = (r, sweep, settings, slower, replanned) => ({ ...clone(r), variant: `${sweep}: ${Object.entries(settings).map(([k, v]) => `${k}=${v}`).join(", ")}`, sweep, settings, replanned,
    iteration_time_s: r.iteration_time_s * slower, tokens_per_s: r.tokens_per_s / slower, mfu: r.mfu / slower, ...faster(1 / slower), critical_path: undefined, links: undefined });
  for (const r of base)
    for (const again of [false, true])
      for (const f of factors) {
        const slower = 0.8 + (again ? 0.15 : 0.2) / parseFloat(f);
        result.runs.push(point(r, "bandwidth", { "cluster.links.infiniband.bandwidth": f }, slower, again));
        for (const n of [2, 4, 8]) result.runs.push(point(r, "both", { "cluster.links.infiniband.bandwidth": f, "cluster.nodes": n }, (slower * 4) / n, again));
      }
  result.sensitivity = base.flatMap((r) => [["cluster.node.gpus.peak", -0.72], ["training.global_batch", 0.61], ["cluster.links.infiniband.bandwidth", -0.21], ["cluster.links.nvlink.bandwidth", -0.08], ["cluster.links.infiniband.latency", 0.01]].map(
    ([parameter, elasticity]) => ({ plan: r.plan, parameter, elasticity, improved: { change: elasticity < 0 ? "2x" : "0.5x", iteration_time_s: r.iteration_time_s * (1 - Math.abs(elasticity) / 2), ...faster(1 / (1 - Math.abs(elasticity) / 2)) } })));
  result.capacity = [["dgx-h100", 1, 12e6], ["dgx-h100", 2, 6.4e6], ["dgx-h100", 4, 3.5e6], ["dgx-h100", 8, 2.1e6], ["dgx-a100-80gb", 2, 16e6], ["dgx-a100-80gb", 4, 8.4e6], ["dgx-a100-80gb", 8, 4.8e6]].map(([candidate, nodes, s]) => {
    const cost = (s / 3600) * nodes * 8 * (candidate === "dgx-h100" ? 2.5 : 1.3);
    return { candidate, nodes, gpus: nodes * 8, plan: "megatron", status: "ok", iteration_time_s: s / 1e6, tokens_per_s: 1e11 / s, mfu: 0.45, goodput: 0.94, time_to_train_s: s, time_to_train_interval_s: [0.9 * s, 1.25 * s],
      cost_usd: cost, cost_interval_usd: [0.9 * cost, 1.25 * cost], energy_j: 2e11 * (s / 1e6), ...faster(8.4e6 / s), on_frontier: false, meets_deadline: s < 3e6 ? "surely" : s < 6e6 ? "probably" : "not", meets_budget: cost < 2e5 };
  });
  const machine = (i) => { const { candidate, nodes, gpus, plan } = result.capacity[i]; return { candidate, nodes, gpus, plan }; };
  result.capacity_summary = { smallest: machine(2), smallest_surely: machine(3), cheapest: machine(5), quickest: null, notes: [{ kind: "assumption", code: "mtbf", text: "nothing fails" }],
    break_even: [{ ...machine(2), against: machine(5), price_usd_per_gpu_hour: 1.05 }, { ...machine(5), against: machine(2), price_usd_per_gpu_hour: 2 }] };
  for (const c of result.capacity)
    c.on_frontier = !result.capacity.some((x) => x !== c && x.cost_usd <= c.cost_usd && x.time_to_train_s <= c.time_to_train_s);
  return d;
}

// A thousand runs.
export function withThousandRuns(data) {
  const d = clone(data), runs = d.results[0].runs, one = runs.find((r) => r.variant === "base");
  for (let i = 0; runs.length < 1000; ++i) runs.push({ ...clone(one), variant: `point ${i}`, iteration_time_s: one.iteration_time_s * (1 + ((i * 37) % 100) / 100) });
  return d;
}
