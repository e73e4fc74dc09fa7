// run.mjs PROGRAM PACKAGES: tests the page in Chromium; PACKAGES holds node_modules. Ends with 77 and a reason where it cannot.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [program, packages] = process.argv.slice(2);
const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}
if (!existsSync(join(packages, "node_modules", "playwright-core"))) skip("the packages of the page are not installed");
if (!existsSync(chromium)) skip(`${chromium} is not here (Debian package chromium)`);

const test = fileURLToPath(new URL("page.test.mjs", import.meta.url));
const { status } = spawnSync(process.execPath, ["--test", "--test-reporter=spec", test], {
  stdio: "inherit", env: { ...process.env, FORESHARD: program, PAGE_PACKAGES: packages, CHROMIUM: chromium },
});
process.exit(status ?? 1);
