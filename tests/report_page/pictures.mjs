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
await first.waitForSelector("#what-ifs .chart[data-drawn]");
await first.screenshot({ path: join(folder, "report-plans.png") });

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
