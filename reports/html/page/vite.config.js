// One file: what Vite bundles is put into the page, so that a report needs nothing beside itself.
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

// The licences of what is bundled ask to be passed on with it.
const read = (name) => readFileSync(`node_modules/${name}`, "utf8").trim();
const licences = `<!--
This page contains Apache ECharts, under the Apache License 2.0 (http://www.apache.org/licenses/LICENSE-2.0), and ZRender.

${read("echarts/NOTICE")}

Parts of ECharts are from d3:

${read("echarts/licenses/LICENSE-d3")}

ZRender:

${read("zrender/LICENSE")}
-->
`;

const intoThePage = {
  name: "into-the-page",
  enforce: "post",
  generateBundle(_options, bundle) {
    const page = bundle["index.html"];
    for (const [name, file] of Object.entries(bundle)) {
      if (name === "index.html") continue;
      const isStyle = name.endsWith(".css");
      const tag = new RegExp(isStyle ? `<link[^>]*${name}[^>]*>` : `<script[^>]*${name}[^>]*></script>`);
      if (!tag.test(page.source)) throw new Error(`${name} is not in the page`);
      // A closing tag inside would end the element. A function, since "$" has a meaning in a replacement.
      const text = (isStyle ? file.source : file.code).replaceAll("</script", "<\\/script").replaceAll("</style", "<\\/style");
      page.source = page.source.replace(tag, () => (isStyle ? `<style>${text}</style>` : `<script type="module">${text}</script>`));
      delete bundle[name];
    }
    page.source = page.source.replace("</body>", () => `${licences}</body>`);
  },
};

export default defineConfig({
  base: "./",
  build: { target: "es2022", cssCodeSplit: false, modulePreload: false, assetsInlineLimit: 1e8, chunkSizeWarningLimit: 2000, reportCompressedSize: false },
  plugins: [intoThePage],
});
