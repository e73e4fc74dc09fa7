// A button that copies text, and says whether it could.

import { h } from "./dom";

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages from files may not use the clipboard's own interface; the old command still works there.
    const area = h("textarea", { class: "away", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// Returns the button and the place where it says what came of it.
export function copyButton(label: string, text: () => string): [HTMLElement, HTMLElement] {
  const said = h("span", { class: "said", role: "status" });
  const button = h("button", { type: "button", class: "copy", onclick: async () => {
    said.textContent = (await copy(text())) ? "Copied." : "The browser does not let this page copy.";
    setTimeout(() => (said.textContent = ""), 3000);
  } }, label);
  return [button, said];
}
