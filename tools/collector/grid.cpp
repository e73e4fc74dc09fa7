#include "tools/collector/grid.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "tools/collector/grid_convolution.hpp"
#include "tools/collector/sampling.hpp"

namespace collector {
namespace {

constexpr int kSamples = 600;  // of each random group: more than a budget of minutes can take

// One Halton point; `at(i)` is its i-th coordinate. The first few points of high bases march in step: 32 are skipped.
class Point {
 public:
  Point(std::uint64_t seed, int index) : index_(32 + 1009 * seed + static_cast<std::uint64_t>(index)) {}
  [[nodiscard]] double at(int i) const {
    constexpr int kBases[] = {2, 3, 5, 7, 11, 13, 17};
    return halton(index_, kBases[i]);
  }
  // A size from coordinate i, its form from coordinate j.
  [[nodiscard]] std::int64_t size(int i, int j, std::int64_t lo, std::int64_t hi) const {
    return in_form(log_uniform(at(i), lo, hi), form_of(at(j)));
  }

 private:
  std::uint64_t index_;
};

MatmulShape allowed(MatmulShape s, Precision p) {
  if (p != Precision::fp8) return s;
  return {s.batch, multiple_of(s.m, 16), multiple_of(s.n, 16), multiple_of(s.k, 16)};
}

std::vector<Case> linear_cases(Precision p, std::uint64_t seed) {
  constexpr Operation kForms[] = {Operation::linear_forward, Operation::linear_input_gradient, Operation::linear_weight_gradient};
  std::vector<Case> cases;
  for (int i = 0; i < kSamples; ++i) {
    const Point x(seed, i);
    const MatmulShape s{1, x.size(0, 3, 16, 65536), x.size(1, 4, 16, 32768), x.size(2, 5, 16, 32768)};
    cases.push_back({kForms[(i + i / 6) % 3], p, allowed(s, p)});  // shifted every 6: not in step with bases 2 and 3
  }
  return cases;
}

// Projections of attention and both halves of the MLP, as a tensor-parallel piece of `parts` has them. Hidden sizes: BERT and GPT
// families up to GPT-3. In a fixed shuffled order, so that a first part has all sizes.
std::vector<Case> layer_cases(Precision p) {
  std::vector<Case> cases;
  for (const std::int64_t tokens : {2048, 8192, 512, 4096, 16384, 1024})
    for (const std::int64_t parts : {1, 4, 2, 8})
      for (const std::int64_t hidden : {1024, 4096, 768, 8192, 2048, 5120, 1536, 12288, 2560, 1280}) {
        const MatmulShape shapes[] = {{1, tokens, 3 * hidden / parts, hidden},
                                      {1, tokens, hidden, hidden / parts},
                                      {1, tokens, 4 * hidden / parts, hidden},
                                      {1, tokens, hidden, 4 * hidden / parts}};
        for (const MatmulShape& s : shapes)
          for (const Operation o : {Operation::linear_forward, Operation::linear_input_gradient, Operation::linear_weight_gradient})
            cases.push_back({o, p, s});
      }
  // 577 is prime to the number of cases (2,880): every case comes once.
  std::vector<Case> shuffled;
  for (std::size_t i = 0; i < cases.size(); ++i) shuffled.push_back(cases[i * 577 % cases.size()]);
  return shuffled;
}

// Rows of tiles from 1 to some waves: m = 128 j beside n of 1, 2 and 8 tiles of 128. Even steps first.
std::vector<Case> wave_cases(const Device& d, Precision p) {
  std::vector<Case> cases;
  for (const std::int64_t k : {4096, 512})
    for (const std::int64_t tiles : {8, 2, 1}) {
      const std::int64_t waves = 3 * d.multiprocessors / tiles;
      const std::int64_t step = std::max<std::int64_t>(1, waves / 33);
      for (std::int64_t j = 1; j <= waves; j += step)
        cases.push_back({Operation::linear_forward, p, MatmulShape{1, 128 * j, 128 * tiles, k}});
    }
  std::vector<Case> spread;
  for (std::size_t phase = 0; phase < 4; ++phase)
    for (std::size_t i = phase; i < cases.size(); i += 4) spread.push_back(cases[i]);
  return spread;
}

// Products of many small matrices, and every third sample an unfused attention: batch is samples times heads.
std::vector<Case> batched_cases(Precision p, std::uint64_t seed) {
  std::vector<Case> cases;
  for (int i = 0; i < kSamples; ++i) {
    const Point x(seed, i);
    const std::int64_t batch = log_uniform(x.at(3), 2, 2048);
    if (i % 3 != 0) {
      const MatmulShape s{batch, x.size(0, 4, 8, 4096), x.size(1, 5, 8, 4096), x.size(2, 6, 8, 4096)};
      cases.push_back({Operation::batch_matmul_forward, p, s});
      continue;
    }
    const std::int64_t sequence = x.size(0, 4, 64, 4096);
    const std::int64_t head = std::int64_t{32} << (i / 3 % 3);  // 32, 64, 128
    cases.push_back({Operation::attention_scores, p, MatmulShape{batch, sequence, sequence, head}});
    cases.push_back({Operation::attention_softmax, p, RowsShape{batch * sequence, sequence}});
    cases.push_back({Operation::attention_context, p, MatmulShape{batch, sequence, head, sequence}});
  }
  return cases;
}

std::vector<Case> rows_cases(Precision p, std::uint64_t seed, const std::vector<Operation>& operations) {
  std::vector<Case> cases;
  for (int i = 0; i < kSamples / 2; ++i) {
    const Point x(seed, i);
    const std::int64_t width = x.size(0, 2, 64, 32768);
    const std::int64_t elements = log_uniform(x.at(1), 1 << 10, 1 << 29);
    for (const Operation o : operations) cases.push_back({o, p, RowsShape{std::max<std::int64_t>(1, elements / width), width}});
  }
  return cases;
}

std::vector<Case> embedding_cases(Precision p, std::uint64_t seed) {
  std::vector<Case> cases;
  for (int i = 0; i < kSamples / 4; ++i) {
    const Point x(seed, i);
    cases.push_back({Operation::embedding, p,
                     RowsShape{log_uniform(x.at(0), 64, 1 << 20), x.size(1, 3, 32, 12288), log_uniform(x.at(2), 1000, 2000000)}});
  }
  return cases;
}

auto key_of(const Case& c) {
  const Work w = work_of(c);
  const auto* v = std::get_if<ConvolutionShape>(&c.shape);
  const auto extra = v ? std::tuple(v->height, v->channels, static_cast<std::int64_t>(v->stride))
                       : std::tuple(std::int64_t{0}, std::int64_t{0}, std::int64_t{0});
  return std::tuple(c.operation, c.precision, w.batch, w.m, w.n, w.k, w.bytes, w.footprint, extra);
}

void keep_possible(const Device& d, std::vector<Case>& cases) {
  std::set<decltype(key_of(cases.front()))> seen;
  std::erase_if(cases, [&](const Case& c) {
    if (!supports(d, c) || predicted_seconds(d, c) > kLongestLaunch_s || work_of(c).footprint > largest_footprint(d)) return true;
    return !seen.insert(key_of(c)).second;
  });
}

double share(Precision p) { return p == Precision::bf16 ? 3 : 1; }  // what training uses most

}  // namespace

double largest_footprint(const Device& d) { return std::min(4.0 * (1 << 30), d.memory_bytes / 8); }

std::vector<Group> grid(const Device& d, std::uint64_t seed) {
  std::vector<Group> groups;
  const auto add = [&](const char* name, Precision p, double weight, std::vector<Case> cases) {
    keep_possible(d, cases);
    if (!cases.empty()) groups.push_back({std::string(name) + " " + std::string(to_text(p)), weight * share(p), std::move(cases)});
  };
  for (const Precision p : kPrecisions) {
    add("linear", p, 3, linear_cases(p, seed));
    add("layers", p, 1.5, layer_cases(p));
    add("waves", p, 0.7, wave_cases(d, p));
    if (p != Precision::fp8) add("batched", p, 1.5, batched_cases(p, seed));
    add("convolution", p, 2, convolution_cases(p, seed));
    add("rows", p, 1, rows_cases(p, seed, {Operation::softmax_forward, Operation::layer_norm_forward, Operation::rms_norm_forward}));
    add("elementwise", p, 0.7, rows_cases(p, seed, {Operation::add, Operation::gelu, Operation::dropout}));
    add("embedding", p, 0.4, embedding_cases(p, seed));
    if (p != Precision::fp16) add("optimizer", p, 0.2, rows_cases(p, seed, {Operation::adam}));
  }
  return groups;
}

}  // namespace collector
