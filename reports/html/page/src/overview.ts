// A strip beside rows that are higher than their box: all of them at once, with a frame around those in view. A press goes there.

import { h } from "./dom";
import { theme } from "./theme";

export interface Overview { element: HTMLElement; draw: () => void; mark: () => void }

// `paint` draws all rows into so many pixels.
export function overview(box: HTMLElement, height: number, paint: (c: CanvasRenderingContext2D, wide: number, high: number) => void): Overview {
  const canvas = h("canvas", { "aria-hidden": "true" }), frame = h("div", { class: "frame" }), element = h("div", { class: "overview" }, canvas, frame);
  const goTo = (e: PointerEvent): void => {
    const r = element.getBoundingClientRect();
    box.scrollTop = ((e.clientY - r.top) / r.height) * height - box.clientHeight / 2;
  };
  element.addEventListener("pointerdown", (e) => { element.setPointerCapture(e.pointerId); goTo(e); });
  element.addEventListener("pointermove", (e) => { if (element.hasPointerCapture(e.pointerId)) goTo(e); });
  return {
    element,
    draw: () => {
      const wide = element.clientWidth, high = element.clientHeight, dense = window.devicePixelRatio || 1, c = canvas.getContext("2d")!;
      if (wide === 0) return;
      canvas.width = Math.round(wide * dense);
      canvas.height = Math.round(high * dense);
      c.setTransform(dense, 0, 0, dense, 0, 0);
      c.fillStyle = theme().panel;
      c.fillRect(0, 0, wide, high);
      paint(c, wide, high);
    },
    mark: () => {
      frame.style.top = `${(box.scrollTop / height) * 100}%`;
      frame.style.height = `${(box.clientHeight / height) * 100}%`;
    },
  };
}
