// One file: what Vite bundles is put into the page, so that a report needs nothing beside itself.
import { defineConfig } from "vite";

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
  },
};

export default defineConfig({
  base: "./",
  build: { target: "es2022", cssCodeSplit: false, modulePreload: false, assetsInlineLimit: 1e8, chunkSizeWarningLimit: 2000, reportCompressedSize: false },
  plugins: [intoThePage],
});
