// The rows of a timeline: the spans of each stream of each device, with the times that the data have as differences.

import { rangesText, type TimelineData } from "./data";

export interface Row { gpus: string; label: string; first: boolean; stream: string; name: Int32Array; microBatch: Int32Array; start: Float64Array; end: Float64Array }

export function rowsOf(data: TimelineData): Row[] {
  const rows: Row[] = [];
  for (const device of data.devices)
    device.lanes.forEach((lane, i) => {
      const n = lane.name.length;
      const row: Row = {
        gpus: `GPU ${rangesText(device.stands_for)}`, label: i === 0 ? `GPU ${rangesText(device.stands_for)}` : "", first: i === 0, stream: lane.stream,
        name: Int32Array.from(lane.name), microBatch: Int32Array.from(lane.micro_batch), start: new Float64Array(n), end: new Float64Array(n),
      };
      let at = 0;
      for (let k = 0; k < n; ++k) {
        at += lane.start[k];
        row.start[k] = at;
        row.end[k] = at + lane.duration[k];
      }
      rows.push(row);
    });
  return rows;
}

// The first span that ends behind a time. Spans of a stream do not overlap but for a few transfers, so their ends ascend but for these.
export function firstAfter(ends: Float64Array, time: number): number {
  let low = 0, high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] < time) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 8);
}
