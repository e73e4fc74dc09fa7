// What was asked, below the answer in a sentence: the words of the question, the scenario itself, and what answered it.

import { copyButton } from "../copy";
import type { Answer, Result, Tree } from "../data";
import { h } from "../dom";
import { headline } from "../headline";
import { yamlOf } from "../yaml";

function answerOf(sentences: string[]): HTMLElement | null {
  if (sentences.length === 0) return null;
  const [first, ...others] = sentences;
  return h("div", { class: "answer" }, h("p", { class: "headline" }, first), ...others.map((s) => h("p", {}, s)));
}

// "Answered by Foreshard 0.2.0 (1a2b3c4d), seed 1."
function answeredBy({ program, seed }: Result): HTMLElement | null {
  const version = program ? `Foreshard ${program.version}${program.commit ? ` (${program.commit})` : ""}` : "Foreshard";
  return program || seed !== undefined ? h("p", { class: "hint says-on-paper" }, `Answered by ${version}${seed === undefined ? "" : `, seed ${seed}`}.`) : null;
}

const onPaper = (): HTMLDetailsElement[] => [...document.querySelectorAll<HTMLDetailsElement>("details.opens-on-paper")];
addEventListener("beforeprint", () => onPaper().filter((d) => !d.open).forEach((d) => { d.open = true; d.dataset.wasClosed = ""; }));
addEventListener("afterprint", () => onPaper().filter((d) => "wasClosed" in d.dataset).forEach((d) => { d.open = false; delete d.dataset.wasClosed; }));

// The scenario as a file that `foreshard run` reads. Paper shows it opened: it is all that is needed to ask again.
function scenarioOf(question: Tree): HTMLElement {
  const text = yamlOf(question);
  const [button, said] = copyButton("Copy", () => text);
  return h("details", { class: "block opens-on-paper" }, h("summary", {}, h("strong", {}, "The scenario"), " as foreshard run reads it, with what it took where the file did not say"),
    h("div", { class: "tools" }, button, said), h("pre", { class: "scenario", tabindex: 0 }, text));
}

export function question(answer: Answer): HTMLElement {
  const { result, details } = answer;
  return h("section", { id: "question", "aria-labelledby": "question-title" },
    answerOf(headline(answer)),
    h("h2", { id: "question-title" }, "The question"),
    details?.subject ? h("p", { class: "subject" }, details.subject) : null,
    answeredBy(result),
    result.question === undefined ? null : scenarioOf(result.question));
}
