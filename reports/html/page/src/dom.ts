// Elements in few words.

type Child = Node | string | null | undefined | false;

function set(element: Element, attributes: Record<string, unknown>): void {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value as EventListener);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, unknown> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, attributes);
  for (const child of children) if (child) element.append(child);
  return element;
}

export function svg(tag: string, attributes: Record<string, unknown> = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, attributes);
  for (const child of children) if (child) element.append(child);
  return element;
}

let numbers = 0;
export const newId = (prefix: string): string => `${prefix}-${++numbers}`;

// A labelled choice; tells the index of what is chosen. Paper shows the chosen words in place of the box.
export function choice(label: string, options: string[], chosen: number, tell: (index: number) => void): HTMLElement {
  const id = newId("choice");
  const select = h("select", { id });
  options.forEach((text, i) => select.append(h("option", { value: i, selected: i === chosen }, text)));
  const printed = h("span", { class: "on-paper" }, `${label}: ${options[chosen]}`);
  select.addEventListener("change", () => {
    printed.textContent = `${label}: ${options[Number(select.value)]}`;
    tell(Number(select.value));
  });
  return h("span", { class: "choice" }, h("label", { for: id }, label), select, printed);
}

// A key to colours.
export function legend(entries: { colour: string; text: string }[]): HTMLElement {
  return h("ul", { class: "legend" }, ...entries.map((e) => h("li", {}, h("span", { class: "swatch", style: `background:${e.colour}` }), e.text)));
}
