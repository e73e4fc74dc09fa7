// Tables that sort, filter and copy. A thousand rows open at once, since only the first ones are made until more are asked for.

import { copyButton } from "./copy";
import { h, newId } from "./dom";

export interface Column<T> {
  label: string;
  title?: string;                                 // explains the column
  value: (row: T) => number | string | boolean | null | undefined;  // what is sorted by and copied
  show?: (row: T) => Node | string;               // what is seen; else the value
  only?: "shown" | "copied";                      // else both
}

const firstRows = 50;
const moreRows = 200;
const mostAsRows = 5;  // columns that a narrow window has room for; rows of more become cards there

function cell(text: unknown): string {
  const s = text === null || text === undefined ? "" : String(text);
  return /[",\n]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
}

export function table<T>(name: string, all: Column<T>[], rows: T[], options: { best?: (row: T) => boolean; sort?: [number, boolean] } = {}): HTMLElement {
  const columns = all.filter((c) => c.only !== "copied"), copied = all.filter((c) => c.only !== "shown");
  let order: [number, boolean] | null = options.sort ?? null;  // shown column, ascending
  let words: string[] = [];
  let limit = firstRows;

  // Words and whole numbers: digits of other figures would match by chance.
  const text = (row: T): string => all.map((c) => c.value(row)).filter((v) => typeof v === "string" || Number.isInteger(v)).join(" ").toLowerCase();
  const texts = rows.length > 8 ? new Map(rows.map((r) => [r, text(r)])) : null;
  const isNumber = columns.map((c) => rows.some((r) => typeof c.value(r) === "number"));

  function chosen(): T[] {
    const kept = texts && words.length > 0 ? rows.filter((r) => words.every((w) => texts.get(r)!.includes(w))) : [...rows];
    if (!order) return kept;
    const [column, ascending] = order;
    const value = columns[column].value;
    return kept.sort((a, b) => {
      const x = value(a), y = value(b);
      const noX = x === null || x === undefined, noY = y === null || y === undefined;
      if (noX || noY) return Number(noX) - Number(noY);  // what is missing stays last
      const d = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return ascending ? d : -d;
    });
  }

  const body = h("tbody");
  const more = h("button", { type: "button", class: "more", onclick: () => { limit += moreRows; draw(); } });
  const heads = columns.map((c, i) => {
    const button = h("button", { type: "button", title: c.title ?? null, onclick: () => {
      order = order && order[0] === i ? [i, !order[1]] : [i, true];
      draw();
    } }, c.label);
    return h("th", { scope: "col", class: isNumber[i] ? "number" : null }, button);
  });

  function draw(): void {
    const now = chosen();
    heads.forEach((head, i) => head.setAttribute("aria-sort", order && order[0] === i ? (order[1] ? "ascending" : "descending") : "none"));
    body.replaceChildren(...now.slice(0, limit).map((row) =>
      h("tr", { class: options.best?.(row) ? "best" : null }, ...columns.map((c, i) => {
        const shown = c.show ? c.show(row) : String(c.value(row) ?? "–");
        return i === 0 ? h("th", { scope: "row" }, shown) : h("td", { class: isNumber[i] ? "number" : null, "data-label": c.label.trim() }, shown);
      }))));
    more.hidden = now.length <= limit;
    more.textContent = `Show more (${Math.min(limit, now.length)} of ${now.length})`;
  }

  const csv = (): string => [copied.map((c) => cell(c.label)).join(","), ...chosen().map((r) => copied.map((c) => cell(c.value(r))).join(","))].join("\n") + "\n";
  const [copyIt, said] = copyButton("Copy as CSV", csv);

  const id = newId("filter");
  const filter = h("input", { id, type: "search", placeholder: "Words to find", autocomplete: "off", oninput: (e: Event) => {
    words = (e.target as HTMLInputElement).value.toLowerCase().split(/\s+/).filter((w) => w !== "");
    limit = firstRows;
    draw();
  } });
  draw();
  return h("div", { class: "table" },
    h("div", { class: "tools" }, texts ? h("label", { for: id }, "Filter") : null, texts ? filter : null, copyIt, said),
    h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": name },
      h("table", { class: columns.length > mostAsRows ? "cards" : null }, h("caption", { class: "away" }, name), h("thead", {}, h("tr", {}, ...heads)), body)),
    more);
}

// A table behind a line that opens it: the words of a chart.
export function folded(label: string, make: () => HTMLElement): HTMLElement {
  const details = h("details", { class: "folded" }, h("summary", {}, label));
  details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) details.append(make()); });
  return details;
}
