#include "pcg/work/work_parts.hpp"

#include <algorithm>

namespace pcg::work {
namespace {

constexpr double kFp32 = 4;  // bytes: steps, decays, scores, and states before they are passed on

// Bytes that the kernels read and write, and FLOPs.
struct ScanWork {
  double heads = 0, convolved = 0, shared_states = 0;  // elements of steps; of x, B and C together; of B
  base::Bytes x, b, scores, states;                    // of the activations' width: of all heads, of all groups; fp32: scores, states
  base::Bytes passed;                                  // states as they are read again: of the activations' width
  double through_states = 0;                           // FLOPs of one product with states
  double through_scores = 0;                           // FLOPs of one product with scores, half of which are masked
  double to_scores = 0;                                // FLOPs of C B^T
};

ScanWork work_of(const StateSpace& o, const Shard& p) {
  const std::vector<std::int64_t>& in = p.in[0].sizes;
  const StateSpaceDims d = state_space_dims(o, in.back());
  ScanWork w;
  const double tokens = count(p.in[0]) / static_cast<double>(in.back());
  const double inner = tokens * static_cast<double>(d.inner), state = static_cast<double>(o.state);
  const double chunk = static_cast<double>(std::min(o.chunk, in[in.size() - 2]));
  const double shared = tokens * static_cast<double>(o.groups);  // a group's B, C and scores serve all of its heads
  w.heads = tokens * static_cast<double>(o.heads);
  w.convolved = tokens * static_cast<double>(d.channels);
  w.shared_states = shared * state;
  w.x = p.bytes_of_reals(inner);
  w.b = p.bytes_of_reals(w.shared_states);
  w.scores = base::Bytes(kFp32 * shared * chunk);
  w.states = base::Bytes(kFp32 * inner * state / chunk);
  w.passed = p.bytes_of_reals(inner * state / chunk);
  w.through_states = 2 * inner * state;
  w.through_scores = inner * chunk;
  w.to_scores = 2 * shared * state * chunk;
  return w;
}

Kernel scan(std::string_view name, double flops, base::Bytes bytes, KernelKind pass = KernelKind::scan) {
  Kernel k = simple(pass, name, flops, bytes);
  k.tensor_cores = true;
  return k;
}

Kernel pointwise(KernelKind kind, std::string_view name, base::Bytes bytes) { return simple(kind, name, 5 * bytes.value() / 2, bytes); }

Kernel convolution(const StateSpace& o, const Shard& p, const ScanWork& w) {
  return simple(KernelKind::elementwise, "state_space.convolution", (2.0 * static_cast<double>(o.kernel) + 5) * w.convolved,
                2 * p.bytes_of_reals(w.convolved));
}

// All that comes before the product that gives the output: steps and decays, states of chunks and from chunk to chunk, scores.
void add_states_and_scores(const Shard& p, const ScanWork& w, Kernels& result) {
  result.push_back(
      simple(KernelKind::elementwise, "state_space.steps", 6 * w.heads, p.bytes_of_reals(w.heads) + base::Bytes(2 * kFp32 * w.heads)));
  result.push_back(scan("state_space.chunk_states", w.through_states, w.x + w.b + w.states));
  result.push_back(simple(KernelKind::elementwise, "state_space.pass_states", w.states.value() / 2, w.states + w.passed));
  result.push_back(scan("state_space.scores", w.to_scores, 2 * w.b + w.scores));
}

}  // namespace

Kernels state_space_forward(const StateSpace& o, const Shard& p) {
  const ScanWork w = work_of(o, p);
  Kernels result{convolution(o, p, w)};
  add_states_and_scores(p, w, result);
  // Reads x and gates, writes its result and the gated one.
  result.push_back(scan("state_space.scan", w.through_states + w.through_scores, w.scores + 4 * w.x + w.passed + w.b));
  result.push_back(pointwise(KernelKind::norm, "state_space.norm", 2 * w.x));
  return result;
}

// Sums of B, C and scores are in fp32, and gradients of decays and steps on the way.
Kernels state_space_gradient(const StateSpace& o, const Shard& p) {
  const ScanWork w = work_of(o, p);
  const base::Bytes sums = base::Bytes(kFp32 * w.shared_states);
  Kernels result{pointwise(KernelKind::norm, "state_space.norm_gradient", 3 * w.x), convolution(o, p, w)};
  const auto add_product = [&](std::string_view name, double flops, base::Bytes bytes) {
    result.push_back(scan(name, flops, bytes, KernelKind::scan_gradient));
  };
  add_states_and_scores(p, w, result);
  result.push_back(pointwise(KernelKind::elementwise, "state_space.gate_gradient", 6 * w.x));
  add_product("state_space.state_gradient", w.through_states, w.x + w.b + w.states);
  result.push_back(pointwise(KernelKind::elementwise, "state_space.pass_gradient", 2 * w.states + 2 * w.passed));
  add_product("state_space.x_gradient", w.through_states + w.through_scores, 3 * w.x + w.b + w.scores + w.passed);
  add_product("state_space.b_gradient", w.through_states, w.x + w.b + sums + w.passed);
  add_product("state_space.c_gradient", w.through_states, w.x + w.b + sums + w.passed);
  add_product("state_space.score_gradient", w.through_scores, 2 * w.x + w.scores);
  add_product("state_space.product_gradients", 2 * w.to_scores, 2 * (w.scores + 2 * w.b + sums));
  add_product("state_space.decay_gradient", w.through_scores, 2 * w.x + w.scores);
  result.push_back(pointwise(KernelKind::elementwise, "state_space.convolution_gradient", 3 * p.bytes_of_reals(w.convolved)));
  return result;
}

}  // namespace pcg::work
