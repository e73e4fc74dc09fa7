// A tree as YAML that the program reads again: maps and lists on one line where they are short, else indented.

import type { Tree } from "./data";

const mostOnLine = 100;  // columns
const looksLikeAnother = /^(true|false|null|~|yes|no|on|off|[-+.]?\d[\d_.,]*(e[-+]?\d+)?|[-+]?\.(inf|nan))$/i;
const isPlain = (text: string): boolean => /^[A-Za-z0-9_./+%][^\n\r\t"'`#:{}[\],&*!|>@\\]*$/.test(text) && !text.endsWith(" ");

// A text that YAML could read as something else is quoted, in the escapes that YAML shares with JSON.
const quoted = (text: string): string => (isPlain(text) && !looksLikeAnother.test(text) ? text : JSON.stringify(text));
const scalar = (x: Tree): string => (typeof x === "string" ? quoted(x) : String(x));
const isNested = (x: Tree): x is Tree[] | { [key: string]: Tree } => typeof x === "object" && x !== null;
const isEmpty = (x: Tree): boolean => isNested(x) && Object.keys(x).length === 0;

function onLine(x: Tree): string {
  if (Array.isArray(x)) return `[${x.map(onLine).join(", ")}]`;
  return isNested(x) ? `{${Object.entries(x).map(([key, value]) => `${quoted(key)}: ${onLine(value)}`).join(", ")}}` : scalar(x);
}

// The lines of a tree below a key or a dash.
function lines(x: Tree, indent: string): string[] {
  if (Array.isArray(x)) return x.flatMap((item) => entry(`${indent}- `, item, `${indent}  `));
  return isNested(x) ? Object.entries(x).flatMap(([key, value]) => entry(`${indent}${quoted(key)}: `, value, `${indent}  `)) : [indent + scalar(x)];
}

function entry(start: string, x: Tree, indent: string): string[] {
  const line = start + onLine(x);
  if (!isNested(x) || isEmpty(x) || line.length <= mostOnLine) return [line];
  const below = lines(x, indent);
  return start.endsWith("- ") ? [start + below[0].slice(indent.length), ...below.slice(1)] : [start.trimEnd(), ...below];
}

export function yamlOf(x: Tree): string {
  return lines(x, "").join("\n") + "\n";
}
