// What the program puts into the page: results in format 2 (docs/formats/results.md), and details (reports/html/*.hpp). Keys that a result may lack
// are optional here, so that a section without data can leave itself out.

export interface Note { kind: string; code: string; text: string }

export interface Breakdown { compute: number; exposed_communication: number; bubble: number; imbalance: number; idle: number }

export interface Memory {
  peak: number; capacity: number; weights: number; gradients: number; optimizer: number; activations: number; workspace: number;
}

export interface CriticalPart { kind: string; name: string; link?: string; time_s: number }

export interface LinkUse {
  type: string; name: string; count?: number; bytes: number; carried_bytes?: number; bandwidth_bytes_per_s?: number; busy: number; busiest?: number;
  over_time?: number[];
}

export interface Behind {
  plan: string; seconds: number; terms: Breakdown; memory_shortage_bytes?: number;
  exposed_communication_s?: { by_collective?: Record<string, number>; by_link?: Record<string, number> };
}

export interface Stage {  // of a pipeline
  stage: number; compute_s: number; exposed_communication_s: number; bubble_s: number; imbalance_s: number; idle_s: number;
}

export interface Run {
  plan: string; variant: string; framework?: string; replanned: boolean; status: string; tight?: boolean;
  iteration_time_s: number | null; iteration_time_interval_s: [number, number] | null;
  speedup?: number; speedup_interval?: [number, number]; best_speedup?: number; best_speedup_interval?: [number, number];
  throughput_samples_per_s: number | null; tokens_per_s: number | null; mfu: number | null; mfu_causal: number | null;
  gpus: number; search_time_s?: number; simulation_time_s?: number;
  stages?: Stage[]; breakdown_s?: Breakdown; exposed_communication_s?: { by_collective?: Record<string, number>; by_link?: Record<string, number> };
  behind?: Behind; communication_bytes?: { total: number; by_collective: Record<string, number>; by_link: Record<string, number> };
  busiest_link?: { type: string; name: string; busy: number }; compute_basis_s?: Record<string, number>; memory_bytes?: Memory;
  plan_summary: string; stop_reason?: string; bound_s?: number; settings?: Record<string, unknown>; sweep?: string;
  critical_path?: CriticalPart[]; links?: LinkUse[]; notes?: Note[];
  unchanged?: true;  // set by the page: planning for the variant gave this plan again
}

export interface Sensitivity {
  plan?: string; parameter: string; elasticity: number; improved?: { change: string; iteration_time_s: number; speedup: number; speedup_interval?: [number, number] | null };
}

export interface Capacity {
  candidate: string; nodes: number; gpus: number; plan: string; status: string; iteration_time_s: number | null; tokens_per_s: number | null;
  mfu: number | null; mfu_causal: number | null; goodput: number | null; time_to_train_s: number | null; time_to_train_interval_s?: [number, number] | null;
  cost_usd?: number | null; cost_interval_usd?: [number, number] | null; energy_j?: number | null; on_frontier?: boolean;
  meets_deadline?: boolean | string | null; meets_budget?: boolean | string | null; deadline_chance?: string | null; budget_chance?: string | null;
  speedup?: number | null; speedup_interval?: [number, number] | null; plan_summary?: string; notes?: Note[];
}

export interface Machine { candidate: string; nodes: number; gpus: number; plan: string }
export interface CapacitySummary {
  smallest: Machine | null; smallest_surely: Machine | null; cheapest: Machine | null; quickest: Machine | null;
  break_even: (Machine & { against: Machine; price_usd_per_gpu_hour?: number })[]; notes: Note[];
}

// What YAML can hold.
export type Tree = string | number | boolean | null | Tree[] | { [key: string]: Tree };

export interface Result {
  scenario: string; question?: Tree; program?: { version: string; commit: string }; seed?: number; engine?: unknown; runs: Run[];
  favourite?: { plans: string[]; of: number; probability: number };
  sensitivity?: Sensitivity[]; capacity?: Capacity[]; capacity_summary?: CapacitySummary;
}

export type Ranges = [number, number][];

export interface Lane { stream: string; name: number[]; micro_batch: number[]; start: number[]; duration: number[] }

export interface TimelineData {
  unit_s: number; end: number; names: string[]; kinds: number[]; stages: number[]; bytes: number[];
  devices: { device: number; stands_for: Ranges; lanes: Lane[] }[]; left_out?: string;
}

export interface MemoryData {
  end_s: number; devices: { device: number; stands_for: Ranges; time_s: number[]; bytes: number[] }[]; left_out?: string;
}

export interface GraphNode { name: string; kind: string; cut?: string; shape: string; inputs: number[] }

export interface GraphBlock { name: string; part: number; stages: [number, number]; devices: Ranges }

export interface GraphData {
  gpus: number; stages: number; ranks: number; micro_batches: number; schedule: string; recompute: string; zero: number;
  parts: (GraphNode[] | null)[]; blocks: GraphBlock[]; left_out?: string;
}

// By its kind a network has some of the keys that say how its switches are joined.
export interface Network {
  kind: string; link: string; bandwidth_bytes_per_s: number; oversubscription?: number; nodes_per_leaf?: number; leaves_per_pod?: number;
  pod_oversubscription?: number; nodes_per_router?: number; routers_per_group?: number; local_links?: number; global_links?: number;
  dimensions?: number[]; switches?: number;
}

export interface ClusterData {
  name: string; nodes: number; gpus: number;
  node_types: {
    count: number; gpus: number; gpu_type: string; parts: { name: string; kind: string }[];
    wires: { a: number; b: number; link: string; bandwidth_bytes_per_s: number }[];
  }[];
  network?: Network;
}

export interface RunDetails { run: number; timeline: TimelineData | null; memory: MemoryData | null; graph: GraphData | null }

export interface Details {
  subject?: string; cluster: ClusterData | null; notes: { kind: string; text: string; runs: number[] }[]; runs: RunDetails[]; left_out: string[];
}

export interface ErrorStatistics { points: number; mean_error: number; median_error: number; bias: number; kendall_tau: number }

export interface ValidationGroup {
  subject: string; group: string; points: number; failed: number; out_of_memory: number; time?: ErrorStatistics; peak_memory?: ErrorStatistics; reserved_memory?: ErrorStatistics;
  coverage?: number; coverage_unseen_group?: number; interval_width?: number; worst: string[];
}

export interface MeasuredBytes { measured: number; predicted: number }

export interface ValidationPoint {
  subject: string; group: string; id: string; where: string; measured_s?: number; failure?: string; predicted_s?: number; error?: number;
  interval_s?: [number, number]; peak_bytes?: MeasuredBytes; reserved_bytes?: MeasuredBytes; out_of_memory?: boolean;
}

export interface Validation {
  groups: ValidationGroup[]; points: ValidationPoint[]; notes: string[];
}

export interface PageData { results?: Result[]; details?: Details[]; validation?: Validation }

// One scenario, as the sections see it. `rows`: the runs without those that say what the row before them says (runs.ts).
export interface Answer { result: Result; details: Details | null; rows: Run[] }

export function rangesText(ranges: Ranges): string {
  return ranges.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(", ");
}
