// A part of the page: a heading, a sentence that says what it shows and how to read it, and what it shows.

import { h } from "./dom";

export function section(id: string, title: string, says: string, ...content: (Node | null)[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), h("p", { class: "says" }, says), ...content);
}

export const leftOut = (text: string | undefined): HTMLElement | null => (text ? h("p", { class: "left-out" }, text) : null);
