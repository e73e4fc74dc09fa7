// A browser with a page in it that remembers what went wrong.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(resolve(process.env.PAGE_PACKAGES, "package.json"))("playwright-core");

export const startBrowser = () => chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });

// Opens a report; `errors` collects what the console and the page complain of and what asks for the network.
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light", ...options });
  const page = await context.newPage(), errors = [];
  page.on("console", (m) => { if (m.type() === "error" || m.type() === "warning") errors.push(m.text()); });
  page.on("pageerror", (e) => errors.push(e.message));
  page.on("request", (r) => { if (!r.url().startsWith("file:") && !r.url().startsWith("data:")) errors.push(`asks for ${r.url()}`); });
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  return { page, errors, close: () => context.close() };
}

// Scrolls through the page, so that every chart is drawn.
export async function seeAll(page) {
  for (const section of await page.$$("section, .chart, .timeline")) await section.scrollIntoViewIfNeeded();
  await page.waitForFunction(() => [...document.querySelectorAll(".chart, .timeline")].every((c) => c.dataset.drawn));
}

// How many colours a canvas shows: an empty one has one.
export const coloursOf = (canvas) => canvas.evaluate((c) => {
  const pixels = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
  for (let i = 0; i < pixels.length; i += 4) seen.add((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
  return seen.size;
});
