// pictures.mjs PROGRAM PACKAGES FOLDER: takes the pictures of docs/report.md from real reports. Chromium is CHROMIUM or /usr/bin/chromium.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { big, writeReport } from "./reports.mjs";

const [program, packages, folder] = process.argv.slice(2);
process.env.PAGE_PACKAGES = packages;
process.env.CHROMIUM ??= "/usr/bin/chromium";
const { open, startBrowser } = await import("./browser.mjs");
const work = mkdtempSync(join(tmpdir(), "report-pictures-"));
const browser = await startBrowser();

const summit = join(work, "summit.html");
execFileSync(program, ["run", "scenarios/summit-bert-large.yaml", "--quiet", "--report", summit]);
const { page: first } = await open(browser, summit, { viewport: { width: 1100, height: 860 } });
await first.locator("#what-ifs").scrollIntoViewIfNeeded();  // charts are drawn when they are seen
await first.waitForSelector("#what-ifs .chart[data-drawn]");
await first.evaluate(() => scrollTo(0, 0));
await first.screenshot({ path: join(folder, "report-plans.png") });

const answers = writeReport(program, work, "answers", `foreshard: 1
name: GPT-3 1.3B on DGX A100
model: {builtin: gpt3-1.3b}
cluster: {preset: dgx-a100-80gb, nodes: 4}
training: {global_batch: 128, precision: bf16, framework: megatron}
plans: [data-parallel, {megatron: search, name: best of the grid}]
what_if:
  - {name: network, sweep: {cluster.links.infiniband.bandwidth: [0.125x, 0.25x, 1x, 4x], cluster.links.nvlink.bandwidth: [0.25x, 0.5x, 1x, 2x]}, replan: false}
capacity:
  train: {tokens: 100e9}
  deadline: 5 days
  candidates:
    - {cluster: {preset: dgx-h100}, nodes: [1, 2, 4, 8], price: 2.50 USD/gpu/h}
    - {cluster: {preset: dgx-a100-80gb}, nodes: [1, 2, 4, 8], price: 1.30 USD/gpu/h}
  plans: [megatron: search]
  reliability: {checkpoint: {bandwidth: 2 GB/s/node}}
`);
const { page: bought } = await open(browser, answers, { viewport: { width: 1100, height: 900 } });
await bought.evaluate(() => document.querySelector("nav").remove());
for (const [section, picture] of [["capacity", "report-capacity.png"], ["sweeps", "report-sweeps.png"]]) {
  await bought.locator(`#${section}`).scrollIntoViewIfNeeded();
  await bought.waitForSelector(`#${section} .chart[data-drawn]`);
  await bought.locator(`#${section}`).screenshot({ path: join(folder, picture) });
}

const { page } = await open(browser, writeReport(program, work, "big", big), { viewport: { width: 1100, height: 900 }, colorScheme: "dark" });
await page.selectOption("#timeline label:text-is('Colour by') + select", "2");
const timeline = page.locator("#timeline");
await timeline.scrollIntoViewIfNeeded();
await page.waitForSelector(".timeline[data-drawn]");
await timeline.screenshot({ path: join(folder, "report-timeline.png") });

const { page: light } = await open(browser, join(work, "big.html"), { viewport: { width: 1100, height: 900 } });
await light.click("#graph .block:nth-of-type(2) > summary");
await light.waitForSelector("#graph .block[open] svg");
await light.evaluate(() => document.querySelector("nav").remove());  // it sticks to the top of what is scrolled
const box = await light.locator("#graph").boundingBox();
await light.screenshot({ path: join(folder, "report-graph.png"), fullPage: true, clip: { ...box, height: Math.min(box.height, 1000), y: box.y + (await light.evaluate(() => scrollY)) } });
await browser.close();
rmSync(work, { recursive: true, force: true });
