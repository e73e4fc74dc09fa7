// The page: reads what the program put into it, and shows the sections that have something to say.

import { forgetCharts } from "./chart";
import type { Answer, PageData } from "./data";
import { choice, h } from "./dom";
import { navigation } from "./nav";
import { rowsOf } from "./runs";
import { sections, validationSections } from "./sections/all";
import "./style.css";
import { forgetListeners, startTheme, switchTheme } from "./theme";

const data = JSON.parse(document.getElementById("data")!.textContent!) as PageData;
const page = document.getElementById("page")!;
const answers: Answer[] = (data.results ?? []).map((result, i) => ({ result, details: data.details?.[i] ?? null, rows: rowsOf(result) }));

function show(number: number): void {
  forgetCharts();
  forgetListeners();
  const parts = data.validation ? validationSections(data.validation) : sections(answers[number]);
  const title = data.validation ? "Predicted against measured" : answers[number].result.scenario;
  const header = h("header", {},
    h("div", {}, h("h1", {}, title), h("p", { class: "brand" }, "Foreshard report: forecasts of training iterations, by simulation")),
    h("div", { class: "tools" },
      answers.length > 1 ? choice("Scenario", answers.map((a) => a.result.scenario), number, show) : null,
      h("button", { type: "button", id: "theme", onclick: switchTheme }, "Light / dark"),
      h("button", { type: "button", onclick: () => print() }, "Print")));
  page.replaceChildren(h("a", { class: "skip", href: "#content" }, "Skip to the content"), header, navigation(parts), h("main", { id: "content", tabindex: -1 }, ...parts));
}

startTheme();
show(0);
document.documentElement.dataset.ready = "yes";
