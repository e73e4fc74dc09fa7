// The sections in the order in which questions come up.

import type { Answer, Validation } from "../data";
import { breakdown } from "./breakdown";
import { capacity } from "./capacity";
import { graph } from "./graph";
import { memory } from "./memory";
import { notes } from "./notes";
import { plans } from "./plans";
import { question } from "./question";
import { sensitivity } from "./sensitivity";
import { sweeps } from "./sweeps";
import { timeline } from "./timeline";
import { topology } from "./topology";
import { validationParts } from "./validation";
import { whatIfs } from "./what_ifs";
import { why } from "./why";

const present = (parts: (HTMLElement | null)[]): HTMLElement[] => parts.filter((p): p is HTMLElement => p !== null);

export const sections = (a: Answer): HTMLElement[] =>
  present([question(a), plans(a), capacity(a), whatIfs(a), sweeps(a), sensitivity(a), breakdown(a), why(a), timeline(a), memory(a), topology(a), graph(a), notes(a)]);

export const validationSections = (v: Validation): HTMLElement[] => validationParts(v);
