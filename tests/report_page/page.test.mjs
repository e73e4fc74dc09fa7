// The page of HTML reports in a browser: it draws what there is, says nothing on the console, and does what its controls promise.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { coloursOf, open, seeAll, startBrowser } from "./browser.mjs";
import { big, dataOf, withEverything, withThousandRuns, writeReport, writeWith } from "./reports.mjs";

const program = process.env.FORESHARD;
const folder = mkdtempSync(join(tmpdir(), "report-page-"));
let browser, report, data;

before(async () => {
  report = writeReport(program, folder, "big", big);
  data = dataOf(readFileSync(report, "utf8"));
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const firstCells = (page, section) => page.$$eval(`#${section} tbody tr > th`, (cells) => cells.map((c) => (c.querySelector("span") ?? c).firstChild.textContent.trim()));

// A run that says what that of the same plan says.
const isUnchanged = (r) => r.replanned && data.results[0].runs.some((s) => !s.replanned && s.variant === r.variant && s.plan === r.plan && s.plan_summary === r.plan_summary && s.iteration_time_s === r.iteration_time_s);

const spansOf = (run) => run.timeline.devices.reduce((m, d) => m + d.lanes.reduce((k, l) => k + l.name.length, 0), 0);

// How many elements a page begins with: what a browser lays out before it is ready.
const elementsOf = (page) => page.evaluate(() => document.querySelectorAll("*").length);

test("the report of an iteration of 192 GPUs is below 5 MB and begins with few elements", async () => {
  const { page, errors, close } = await open(browser, report);
  assert.deepEqual(errors, []);
  const elements = await elementsOf(page);
  await close();
  const size = statSync(report).size, spans = data.details[0].runs.reduce((n, r) => n + spansOf(r), 0);
  console.log(`192 GPUs, ${data.results[0].runs.length} runs, ${spans} spans: ${(size / 1e6).toFixed(2)} MB, ${elements} elements`);
  assert.ok(size < 5e6);
  assert.ok(elements < 5000);
});

test("every section that has data is there, its charts have content, and the console is silent", async () => {
  const { page, errors, close } = await open(browser, writeWith(report, withEverything(data), join(folder, "everything.html")));
  const ids = await page.$$eval("section", (all) => all.map((s) => s.id));
  assert.deepEqual(ids, ["question", "plans", "capacity", "what-ifs", "sweeps", "sensitivity", "breakdown", "why", "timeline", "memory", "topology", "graph", "notes"]);
  await seeAll(page);
  const canvases = await page.$$(".chart canvas, .timeline canvas");
  assert.ok(canvases.length >= 9);
  for (const canvas of canvases) assert.ok((await coloursOf(canvas)) > 3);
  for (const chart of await page.$$(".chart")) assert.match(await chart.getAttribute("aria-label"), /\w+: /);
  assert.ok((await page.$$("#topology svg path")).length > 8);
  assert.deepEqual(errors, []);
  await close();
});

test("a sweep with the base's plans alone, and one without any answer, are drawn without a word on the console", async () => {
  const same = withEverything(data);
  same.results[0].runs = same.results[0].runs.filter((r) => r.sweep === undefined || !r.replanned);
  const { page, errors, close } = await open(browser, writeWith(report, same, join(folder, "same.html")));
  await seeAll(page);
  for (const canvas of await page.$$("#sweeps .chart canvas")) assert.ok((await coloursOf(canvas)) > 3);
  assert.equal(await page.locator("#sweeps label:text-is('Made')").count(), 0);
  assert.deepEqual(errors, []);
  await close();
  for (const r of same.results[0].runs) if (r.sweep !== undefined) Object.assign(r, { status: "infeasible", iteration_time_s: null, tokens_per_s: null, throughput_samples_per_s: null, mfu: null });
  const none = await open(browser, writeWith(report, same, join(folder, "none.html")));
  await seeAll(none.page);
  assert.deepEqual(none.errors, []);
  await none.close();
});

test("what to buy is answered in words, its times in one unit", async () => {
  const { page, errors, close } = await open(browser, writeWith(report, withEverything(data), join(folder, "buy.html")));
  assert.deepEqual(await page.$$eval("#capacity dt", (all) => all.map((e) => e.textContent)),
    ["Smallest that meets the deadline", "Smallest that surely does", "Cheapest that does", "Quickest within the budget", "Break-even", "Assumed"]);
  const said = await page.$$eval("#capacity dd", (all) => all.map((e) => e.textContent));
  assert.match(said[0], /^dgx-h100 x 4 \(32 GPUs, megatron\): 40.5 days \(36.5 to 50.6 days, 90 %\); \$77.78 k \(.* to .*\)$/);
  assert.equal(said[3], "none");
  assert.match(said[4], /^dgx-h100 x 4 would cost what dgx-a100-80gb x 4 does at \$1.05 per GPU and hour$/);
  const alone = withEverything(data);
  alone.results[0].runs = [];  // as of a scenario that asks for nothing else
  delete alone.results[0].sensitivity;
  alone.details[0] = { cluster: null, notes: [], runs: [], left_out: [] };
  const other = await open(browser, writeWith(report, alone, join(folder, "buy-alone.html")));
  assert.deepEqual((await other.page.$$eval("section", (all) => all.map((s) => s.id))).slice(0, 2), ["question", "capacity"]);
  assert.match(await other.page.locator(".headline").innerText(), /^The cheapest machine that meets the deadline is dgx-a100-80gb x 4/);
  await seeAll(other.page);
  assert.deepEqual(other.errors, []);
  await other.close();
  for (const time of await page.$$eval("#capacity tbody tr", (rows) => rows.map((r) => r.children[1].textContent))) assert.match(time, /^[\d.]+ days$/);
  assert.deepEqual(errors, []);
  await close();
});

test("why it takes so long: the path of each plan adds up to its time, and both charts have content", async () => {
  const runs = data.results[0].runs.filter((r) => r.variant === "base");
  for (const r of runs) {
    const sum = r.critical_path.reduce((all, p) => all + p.time_s, 0);
    assert.ok(Math.abs(sum / r.iteration_time_s - 1) < 1e-9, `${sum} of ${r.iteration_time_s}`);
    assert.deepEqual(r.links.map((l) => l.type).sort(), Object.keys(r.communication_bytes.by_link).sort());
    for (const l of r.links) assert.ok(Math.abs(l.over_time.reduce((all, u) => all + u, 0) / l.over_time.length - l.busy) < 1e-4, l.type);
  }
  const { page, errors, close } = await open(browser, report);
  await seeAll(page);
  const canvases = await page.$$("#why .chart canvas");
  assert.equal(canvases.length, 2);
  for (const canvas of canvases) assert.ok((await coloursOf(canvas)) > 3);
  const first = await firstCells(page, "why");
  await page.selectOption("#why label:text-is('Plan') + select >> nth=0", "1");
  assert.notDeepEqual(await firstCells(page, "why"), first);
  assert.ok((await firstCells(page, "topology")).includes("infiniband"));
  assert.deepEqual(errors, []);
  await close();
});

test("a report without these data has no sections for them", async () => {
  const { page, close } = await open(browser, report);
  const ids = await page.$$eval("section", (all) => all.map((s) => s.id));
  for (const id of ["capacity", "sweeps", "sensitivity"]) assert.ok(!ids.includes(id), id);
  await close();
});

test("a table sorts both ways and filters", async () => {
  const { page, errors, close } = await open(browser, report);
  const times = () => page.$$eval("#plans tbody tr", (rows) => rows.map((r) => parseFloat(r.children[1].textContent)));
  await page.click("#plans thead button:text-is('Time')");
  const up = await times();
  assert.deepEqual(up, [...up].sort((a, b) => a - b));
  await page.click("#plans thead button:text-is('Time')");
  assert.deepEqual(await times(), [...up].reverse());
  assert.equal(await page.getAttribute("#plans th[aria-sort=descending] button", "type"), "button");
  await page.fill("#plans input[type=search]", "deep");
  assert.deepEqual([...new Set(await firstCells(page, "plans"))], ["deep"]);
  assert.deepEqual(errors, []);
  await close();
});

test("a table copies as CSV", async () => {
  const { page, close } = await open(browser, report, { permissions: ["clipboard-read", "clipboard-write"] });
  await page.click("#plans .copy");
  await page.waitForSelector("#plans .said:text-is('Copied.')");
  const csv = await page.evaluate(() => navigator.clipboard.readText());
  const lines = csv.trim().split("\n");
  assert.equal(lines.length, 1 + data.results[0].runs.filter((r) => !isUnchanged(r)).length);
  assert.match(lines[0], /^Plan,Summary,Variant,Made,Time,90 % low,90 % high,Memory,Tokens\/s,/);
  assert.ok(lines[1].includes(String(data.results[0].runs[0].iteration_time_s)));  // exact, not as shown
  await close();
});

test("the timeline zooms by wheel, drag and keys, and names the span under the pointer", async () => {
  const { page, errors, close } = await open(browser, report);
  const box = page.locator(".timeline");
  await box.scrollIntoViewIfNeeded();
  await page.waitForSelector(".timeline[data-drawn]");
  const range = async () => ((await box.getAttribute("data-range")) ?? "0 0").split(" ").map(Number);
  const width = async () => { const [a, b] = await range(); return b - a; };
  const { x, y, width: wide } = await box.boundingBox();
  await page.mouse.move(x + wide / 2, y + 56);
  await page.mouse.wheel(0, -300);
  await page.waitForFunction(() => document.querySelector(".timeline").dataset.range);
  const wheeled = await width();
  assert.ok(wheeled > 0 && wheeled < data.results[0].runs[0].iteration_time_s);
  await page.mouse.move(x + wide / 2, y + 56);
  await page.mouse.down();
  await page.mouse.move(x + wide / 2 + 120, y + 56, { steps: 4 });
  await page.mouse.up();
  const dragged = await width();
  assert.ok(dragged < wheeled / 2, `${dragged} of ${wheeled}`);
  await box.focus();
  const [from] = await range();
  await page.keyboard.press("ArrowRight");
  assert.ok((await range())[0] > from);
  await page.keyboard.press("+");
  assert.ok((await width()) < dragged);
  await page.keyboard.press("Home");
  assert.equal((await range())[0], 0);
  let tip = "";
  for (let i = 20; i < 60 && !/forward|backward|gradient/.test(tip); ++i) {
    await page.mouse.move(x + (wide * i) / 64, y + 36 + (i % 3) * 20);
    tip = (await page.locator(".tip").isVisible()) ? await page.locator(".tip").innerText() : "";
  }
  assert.match(tip, /(forward|backward|gradient)[^]*from/);
  for (const by of ["1", "2"]) {  // stages, micro-batches
    await page.selectOption("#timeline label:text-is('Colour by') + select", by);
    assert.match(await page.locator("#timeline .legend").innerText(), by === "1" ? /stage 3/ : /micro-batch/);
  }
  assert.deepEqual(errors, []);
  await close();
});

test("a timeline of tens of thousands of spans is drawn in fewer rectangles, since short ones share a pixel", async () => {
  const { page, close } = await open(browser, report);
  await page.locator(".timeline").scrollIntoViewIfNeeded();
  const most = Math.max(...(await page.$$eval("#timeline label:text-is('Plan') + select option", (o) => o.map((x) => Number(x.value)))));
  const rowsInView = 14;  // at least: of 20 pixels each, and 10 between devices, in 460 less an axis of 26
  for (let plan = 0; plan <= most; ++plan) {
    await page.selectOption("#timeline label:text-is('Plan') + select", String(plan));
    await page.waitForSelector(".timeline[data-drawn]");
    const drawn = await page.evaluate(async () => {
      const box = document.querySelector(".timeline"), frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const context = CanvasRenderingContext2D.prototype, fillRect = context.fillRect;
      let rectangles = 0;
      context.fillRect = function (...a) { ++rectangles; return fillRect.apply(this, a); };
      box.focus();
      const counts = [];
      for (const key of ["Home", "+", "+", "+", "-", "-", "-"]) {
        rectangles = 0;
        box.dispatchEvent(new KeyboardEvent("keydown", { key }));
        await frame();
        counts.push(rectangles);
      }
      context.fillRect = fillRect;
      return counts;
    });
    const lanes = data.details[0].runs[plan].timeline.devices.flatMap((d) => d.lanes);
    const inView = lanes.slice(0, rowsInView).reduce((n, l) => n + l.name.length, 0);
    console.log(`plan ${plan}: ${inView} spans of ${lanes.length} lanes in view, rectangles of seven redraws: ${drawn}`);
    assert.ok(Math.max(...drawn) < inView);  // each by itself would take one at least
  }
  await close();
});

test("the graph opens and closes block by block", async () => {
  const { page, errors, close } = await open(browser, report);
  assert.equal((await page.$$("#graph .block[open]")).length, 0);
  await page.click("#graph .block:nth-of-type(2) > summary");
  await page.waitForSelector("#graph .block[open] svg .operator.moves");
  assert.ok((await page.$$("#graph .block[open] svg .operator")).length > 8);
  await page.click("#graph button:text-is('Close all')");
  assert.equal((await page.$$("#graph .block[open]")).length, 0);
  assert.deepEqual(errors, []);
  await close();
});

test("light and dark follow the system until the reader switches", async () => {
  const { page, errors, close } = await open(browser, report, { colorScheme: "dark" });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await paper();
  await page.click("#theme");
  assert.notEqual(await paper(), dark);
  assert.equal(await page.getAttribute("html", "data-theme"), "light");
  await seeAll(page);
  assert.deepEqual(errors, []);
  await close();
});

test("the keyboard reaches the content, and every control has a name", async () => {
  const { page, close } = await open(browser, report);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "content");
  const nameless = await page.$$eval("button, select, input", (all) => all.filter((e) => !e.textContent.trim() && !e.getAttribute("aria-label") && !(e.labels?.length > 0)).length);
  assert.equal(nameless, 0);
  await close();
});

test("paper: every chart is drawn, in light colours, and the controls are gone", async () => {
  const { page, errors, close } = await open(browser, report, { colorScheme: "dark" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.getAttribute("html", "data-theme"), "light");
  assert.ok(await page.$$eval(".chart, .timeline", (all) => all.every((c) => c.dataset.drawn)));
  for (const control of await page.$$("button:not(thead button), select, input")) assert.equal(await control.isVisible(), false);
  assert.match(await page.locator("#timeline").innerText(), /Plan: pipeline-4/);  // what the boxes say
  assert.ok(await page.locator("#question pre").isVisible());
  for (const [section, chart] of [["what-ifs", ".chart"], ["breakdown", ".chart"], ["memory", ".chart >> nth=0"], ["timeline", ".timeline"], ["topology", "svg >> nth=-1"]])
    assert.equal(await page.locator(`#${section} .together:has(h2) ${chart}`).count(), 1, section);  // a heading stays with its chart
  assert.ok((await page.pdf({ format: "A4" })).length > 30000);
  assert.deepEqual(errors, []);
  await close();
});

test("the page begins with the answer and carries its question", async () => {
  const asked = `foreshard: 1
name: "a: 'quoted' name, # of 3"
model: {builtin: bert-large}
cluster: {preset: summit, nodes: 2}
training: {batch_per_gpu: 4}
plans: [data-parallel, {megatron: {tensor: 2}, name: "7"}]
what_if: [{name: "4x [network]", set: {cluster.links.infiniband.bandwidth: 4x}}]
`;
  const file = writeReport(program, folder, "asked", asked), { question, program: answeredBy } = dataOf(readFileSync(file, "utf8")).results[0];
  const { page, errors, close } = await open(browser, file);
  const subject = dataOf(readFileSync(file, "utf8")).details[0].subject;
  assert.match(subject, /^bert-large \(.*parameters\), 48 x 512 tokens/);
  assert.equal(await page.locator("#question .subject").innerText(), subject);
  assert.equal(await page.locator("#question h2").innerText(), "The question");
  assert.match(await page.locator(".headline").innerText(), /^.+, is the quickest of 2 plans that fit: [\d.]+ m?s an iteration \(90 % interval [\d.]+ to [\d.]+ m?s\), [\d,]+ tokens\/s on 12 GPUs\. Best of 2 with (over )?\d+ %\.$/);
  assert.match(await page.locator(".answer p >> nth=1").innerText(), /^With “4x \[network\]” (it is|there is no sure gain: )/);
  assert.ok((await page.locator("#question").innerText()).includes(`Foreshard ${answeredBy.version}`));
  const again = join(folder, "again.yaml"), answer = join(folder, "again.json");
  writeFileSync(again, await page.locator("#question pre").textContent());
  execFileSync(program, ["run", again, "--quiet", "--json", answer], { stdio: "pipe" });
  assert.deepEqual(JSON.parse(readFileSync(answer, "utf8")).question, question);
  assert.deepEqual(errors, []);
  await close();
});

test("a gain is sure where its interval holds more than 1 alone, and its line is drawn", async () => {
  const said = async (interval) => {
    const asked = withEverything(data), runs = asked.results[0].runs.filter((r) => r.variant === "twice the network");
    asked.results[0].runs = [...asked.results[0].runs.filter((r) => r.variant === "base"), ...runs];
    for (const r of runs) Object.assign(r, { tokens_per_s: 1e9, speedup: 1.04, speedup_interval: interval, best_speedup: 1.04, best_speedup_interval: interval });
    const { page, errors, close } = await open(browser, writeWith(report, asked, join(folder, "sure.html")));
    const headline = await page.locator(".answer p >> nth=1").innerText(), legend = await page.locator("#what-ifs tbody tr >> nth=0").innerText();
    await seeAll(page);
    assert.deepEqual(errors, []);
    await close();
    return `${headline} ${legend}`;
  };
  assert.match(await said([0.98, 1.1]), /^With “twice the network” there is no sure gain: 0\.98 to 1\.10 times as quick\.[^]*\(0\.98 to 1\.10\)/);
  assert.match(await said([1.01, 1.1]), /^With “twice the network” it is .* times as quick \(1\.01 to 1\.10\): /);
});

test("a plan that stays as it was is one row, as in the terminal's table", async () => {
  const { page, close } = await open(browser, report);
  const rows = await page.$$eval("#plans tbody tr > th", (cells) => cells.map((c) => c.innerText.split("\n").slice(0, 2).join(": ")));
  assert.equal(new Set(rows).size, rows.length);
  assert.ok(rows.includes("deep: twice the network, unchanged"), rows.join("; "));
  assert.ok(!rows.includes("deep: twice the network, re-planned"));
  assert.equal((await page.$$("#what-ifs tbody tr")).length, 6);
  await close();
});

for (const width of [1280, 390])
  test(`time, interval and memory are in view in a window of ${width} pixels, and the navigation is whole`, async () => {
    const { page, close } = await open(browser, writeWith(report, withEverything(data), join(folder, "wide.html")), { viewport: { width, height: 900 } });
    for (const section of ["plans", "capacity"])
      assert.ok(await page.$eval(`#${section} .wide`, (e) => e.scrollWidth <= e.clientWidth), section);
    const ends = await page.$$eval("#plans tbody tr:first-child > *", (cells) => cells.slice(0, 4).map((c) => c.getBoundingClientRect()).map((r) => [r.left, r.right, r.width]));
    for (const [left, right, wide] of ends) assert.ok(left >= 0 && right <= width && wide > 40, ends.join("; "));
    assert.ok(await page.$$eval("nav a", (all) => all.every((a) => a.getBoundingClientRect().right <= innerWidth && a.scrollWidth <= a.clientWidth)));
    await close();
  });

test("sweeps have axes of values and mark the base; heat maps say their span", async () => {
  const { page, errors, close } = await open(browser, writeWith(report, withEverything(data), join(folder, "sweeps.html")));
  await seeAll(page);
  assert.deepEqual(await page.$$eval("#sweeps .chart", (all) => all.map((c) => c.getAttribute("aria-label"))), ["Curves: the sweep bandwidth over 5 values on a logarithmic axis", "Heat map: the sweep both"]);
  const says = await page.$$eval("#sweeps .together > .hint", (all) => all.map((e) => e.textContent));
  assert.equal(says[0], "◆ is the base.");
  assert.match(says[1], /^[\d.]+ s  [\d.]+ s\. Values are [\d.]+ s to [\d.]+ s, a factor of [\d.]+; the colours do not start at zero\.$/);
  await page.selectOption("#sweeps label:text-is('Colours') + select", "1");
  assert.match(await page.locator("#sweeps .sweep >> nth=1").innerText(), /^0 s/m);
  assert.match(await page.locator("#sweeps .sweep >> nth=1").innerText(), /the colours start at zero/);
  assert.deepEqual(errors, []);
  await close();
});

test("a heat map of 32 by 32 points is drawn below a screen's height, and names its end points", async () => {
  const many = withEverything(data), runs = many.results[0].runs.filter((r) => r.variant === "base"), one = runs[0];
  const factors = [...Array(32).keys()].map((i) => `${(0.25 * 1.0936 ** i).toPrecision(3)}x`);
  for (const a of factors) for (const b of factors)
    runs.push({ ...one, variant: `${a} ${b}`, sweep: "many", replanned: false, settings: { "cluster.links.infiniband.bandwidth": a, "cluster.links.nvlink.bandwidth": b }, iteration_time_s: one.iteration_time_s * (1 + 0.03 / parseFloat(a)) });
  many.results[0].runs = runs;
  many.details[0].notes = [];
  const { page, errors, close } = await open(browser, writeWith(report, many, join(folder, "many.html")));
  await seeAll(page);
  assert.ok((await coloursOf(await page.$("#sweeps .chart canvas"))) > 20);
  assert.ok((await page.locator("#sweeps .chart").boundingBox()).height < 700);
  assert.match(await page.locator("#sweeps .hint").innerText(), /11\.\d % apart; the colours do not start at zero/);
  assert.deepEqual(errors, []);
  await close();
});

for (const colorScheme of ["light", "dark"])
  test(`every colour of data has at least 3:1 against what it is drawn on when the page is ${colorScheme}`, async () => {
    const { page, close } = await open(browser, report, { colorScheme });
    const { inks, papers, wires } = await page.evaluate(() => {
      const root = getComputedStyle(document.documentElement), value = (name) => root.getPropertyValue(`--${name}`).trim();
      return { inks: [..."blue orange green pink sky red yellow grey".split(" ").map(value), ...value("scale").match(/#[0-9a-f]{6}/g), value("soft")], papers: [value("paper"), value("panel")],
        wires: [...document.querySelectorAll("#topology .wire")].map((w) => getComputedStyle(w).stroke) };
    });
    const channels = (c) => (c.startsWith("#") ? c.slice(1).replace(/^(.)(.)(.)$/, "$1$1$2$2$3$3").match(/../g).map((x) => parseInt(x, 16)) : c.match(/\d+/g).map(Number));
    const luminance = (c) => channels(c).map((x) => x / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)).reduce((sum, x, i) => sum + [0.2126, 0.7152, 0.0722][i] * x, 0);
    const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
    assert.ok(inks.length === 14 && wires.length > 8);
    for (const paper of papers) for (const ink of [...inks, ...wires]) assert.ok(contrast(ink, paper) >= 3, `${ink} on ${paper}: ${contrast(ink, paper)}`);
    await close();
  });

test("stages of a deep pipeline are all in the strip beside the timeline, which says how many there are", async () => {
  const { page, errors, close } = await open(browser, report);
  await page.locator(".timeline").scrollIntoViewIfNeeded();
  await page.selectOption("#timeline label:text-is('Plan') + select", "2");
  await page.waitForSelector(".timeline[data-drawn]");
  const says = page.locator("#timeline .hint:text('in view')");
  assert.match(await says.innerText(), /^Groups of GPUs 1 to [3-5] of 8 are in view\./);
  const box = await page.locator(".overview").boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height - 4);
  await page.waitForFunction(() => /to 8 of 8/.test(document.querySelector("#timeline").innerText));
  assert.ok((await coloursOf(await page.$(".overview canvas"))) > 3);
  assert.deepEqual(errors, []);
  await close();
});

test("the topology says how the network is joined", async () => {
  const made = JSON.parse(JSON.stringify(data)), network = made.details[0].cluster.network;
  for (const [keys, words] of [
    [{ kind: "fat tree", nodes_per_leaf: 8, oversubscription: 2 }, /fat tree for 24 nodes, infiniband 25 GB\/s; 3 leaves of 8 nodes, 2:1 over-subscribed; core\./],
    [{ kind: "fat tree", nodes_per_leaf: 4, oversubscription: 1, leaves_per_pod: 2, pod_oversubscription: 7 }, /6 leaves of 4 nodes, not over-subscribed; 3 pods of 2 leaves, 7:1 over-subscribed; core\./],
    [{ kind: "torus", dimensions: [2, 3, 4] }, /torus of 2 x 3 x 4 places for 24 nodes/],
    [{ kind: "rails", oversubscription: 3 }, /each rail joins the same adapter of all nodes, 3:1 over-subscribed; spine\./],
  ]) {
    made.details[0].cluster.network = { kind: network.kind, link: network.link, bandwidth_bytes_per_s: network.bandwidth_bytes_per_s, ...keys };
    const { page, errors, close } = await open(browser, writeWith(report, made, join(folder, "joined.html")));
    assert.match(await page.locator("#topology").innerText(), words);
    assert.deepEqual(errors, []);
    await close();
  }
});

test("a thousand runs open with fifty rows first", async () => {
  const file = writeWith(report, withThousandRuns(data), join(folder, "thousand.html"));
  const { page, errors, close } = await open(browser, file);
  assert.equal((await firstCells(page, "plans")).length, 50);
  await page.click("#plans .more");
  assert.equal((await firstCells(page, "plans")).length, 250);
  await page.fill("#plans input[type=search]", "point 777");
  assert.equal((await firstCells(page, "plans")).length, 1);
  assert.deepEqual(errors, []);
  await close();
});

test("a narrow window scrolls up and down only", async () => {
  const { page, close } = await open(browser, report, { viewport: { width: 600, height: 900 } });
  await seeAll(page);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await close();
});

test("several scenarios are one report with a choice", async () => {
  const two = { results: [...data.results, { ...data.results[0], scenario: "the other one", runs: data.results[0].runs.slice(0, 1) }], details: [...data.details, { ...data.details[0], runs: [] }] };
  const { page, errors, close } = await open(browser, writeWith(report, two, join(folder, "two.html")));
  await seeAll(page);
  await page.selectOption("header select", "1");
  assert.equal(await page.locator("h1").innerText(), "the other one");
  assert.equal((await firstCells(page, "plans")).length, 1);
  assert.equal(await page.locator("#timeline").count(), 0);
  await page.click("#theme");
  await seeAll(page);
  assert.deepEqual(errors, []);
  await close();
});

test("names with markup are text", async () => {
  const evil = "</script><img src=x onerror=alert(1)>";
  const file = writeReport(program, folder, "evil", big.replace("name: GPT-3 13B on 24 DGX A100", `name: "${evil}"`).replace("name: deep", `name: "${evil}"`));
  const { page, errors, close } = await open(browser, file);
  assert.equal(await page.locator("h1").innerText(), evil);
  assert.equal((await page.$$("img")).length, 0);
  assert.deepEqual(errors, []);
  await close();
});

test("validate --report: scatters, groups and every point", async () => {
  const points = join(folder, "points.csv"), file = join(folder, "validation.html");
  writeFileSync(points, ["id,group,cluster,nodes,n_gpus,model,seq,tp,pp,dp,micro_batch,global_batch,precision,measured_s",
    ...[4, 8, 16].map((n, i) => `p${n},bert,summit,${n},${n * 6},bert-large,512,1,1,${n * 6},4,${n * 24},fp32,${0.4 + i * 0.05}`)].join("\n") + "\n");
  execFileSync(program, ["validate", points, "--quiet", "--report", file], { stdio: "pipe" });
  const { page, errors, close } = await open(browser, file);
  await seeAll(page);
  const canvases = await page.$$(".chart canvas");
  assert.equal(canvases.length, 2);
  for (const canvas of canvases) assert.ok((await coloursOf(canvas)) > 3);
  assert.equal((await firstCells(page, "points")).length, 3);
  assert.deepEqual(errors, []);
  await close();
});
