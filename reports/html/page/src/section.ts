// A part of the page: a heading, a sentence that says what it shows and how to read it, and what it shows.

import { h } from "./dom";

// What paper keeps on one page: a picture with what stands above it.
export const together = (...content: (Node | null)[]): HTMLElement => h("div", { class: "together" }, ...content);

const isPicture = (x: Node | null): boolean => x instanceof HTMLElement && (x.classList.contains("chart") || x.classList.contains("together"));

export function section(id: string, title: string, says: string, ...content: (Node | null)[]): HTMLElement {
  const above = content.findIndex(isPicture) + 1;  // 0: there is none
  return h("section", { id, "aria-labelledby": `${id}-title` },
    together(h("h2", { id: `${id}-title` }, title), h("p", { class: "says" }, says), ...content.slice(0, above)), ...content.slice(above));
}

export const leftOut = (text: string | undefined): HTMLElement | null => (text ? h("p", { class: "left-out" }, text) : null);
