#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/diagnostics.hpp"
#include "scenarios/comparison/measured.hpp"

namespace comparison {
namespace {

// The kernels of a device, by start.
struct Started {
  double start_s = 0, end_s = 0, launched_s = 0;  // launched: else the start
  std::uint32_t name = 0;
};

std::vector<Started> kernels_of(const imports::ImportedTrace& trace, int device) {
  std::vector<Started> kernels;
  for (const imports::ImportedKernel& k : trace.kernels)
    if (k.device == device && k.start)
      kernels.push_back({k.start->value(), (*k.start + k.duration).value(), k.launched.value_or(*k.start).value(), k.name});
  return kernels;
}

std::vector<Iteration> marked(const imports::ImportedTrace& trace, const std::vector<Started>& kernels) {
  std::vector<Iteration> found;
  for (const imports::ImportedIteration& i : trace.iterations) {
    if (!i.start) continue;
    Iteration iteration{i.name, 0, 0};
    bool any = false;
    for (const Started& k : kernels) {
      if (k.launched_s < i.start->value() || k.launched_s >= (*i.start + i.duration).value()) continue;
      iteration.begin_s = any ? std::min(iteration.begin_s, k.start_s) : k.start_s;
      iteration.end_s = any ? std::max(iteration.end_s, k.end_s) : k.end_s;
      any = true;
    }
    if (any) found.push_back(std::move(iteration));
  }
  for (std::size_t i = 0; i + 1 < found.size(); ++i) found[i].end_s = std::max(found[i].begin_s, found[i + 1].begin_s);
  return found;
}

constexpr double kAlike = 0.9;  // of the kernels between two occurrences: data loaders and allocators add some

bool alike(const std::vector<Started>& kernels, std::size_t a, std::size_t b, std::size_t count) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < count; ++i) equal += kernels[a + i].name == kernels[b + i].name ? 1 : 0;
  return static_cast<double>(equal) >= kAlike * static_cast<double>(count);
}

// By the rarest name that comes twice or more and has the same kernels after it each time.
std::vector<Iteration> periodic(const std::vector<Started>& kernels) {
  std::map<std::uint32_t, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < kernels.size(); ++i) places[kernels[i].name].push_back(i);
  std::vector<const std::vector<std::size_t>*> rarest;
  for (const auto& [name, at] : places)
    if (at.size() >= 2) rarest.push_back(&at);
  std::ranges::stable_sort(rarest, {}, [](const auto* at) { return at->size(); });
  for (const auto* at : rarest) {
    const std::size_t count = (*at)[1] - (*at)[0];
    bool same = true;
    for (std::size_t i = 1; same && i < at->size(); ++i) {
      const std::size_t length = i + 1 < at->size() ? (*at)[i + 1] - (*at)[i] : std::min(count, kernels.size() - (*at)[i]);
      same = length * 10 >= count * 9 && length * 9 <= count * 10 && alike(kernels, (*at)[0], (*at)[i], std::min(length, count));
    }
    if (!same) continue;
    std::vector<Iteration> found;
    for (std::size_t i = 0; i + 1 < at->size(); ++i)
      found.push_back({fmt::format("period {}", i), kernels[(*at)[i]].start_s, kernels[(*at)[i + 1]].start_s});
    return found;
  }
  return {};
}

}  // namespace

std::size_t Iterations::steady() const {
  std::vector<std::size_t> order;
  for (std::size_t i = settled; i < all.size(); i += 2) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return all[i].end_s - all[i].begin_s; });
  return order[(order.size() - 1) / 2];
}

Iterations iterations_of(const imports::ImportedTrace& trace, int device) {
  const std::vector<Started> kernels = kernels_of(trace, device);
  if (kernels.empty())
    base::refuse(trace.file, fmt::format("no kernel of GPU {} has a start, so there is no timeline", device),
                 "compare needs a trace of a profiler: Kineto, or Nsight Systems' SQLite export");
  Iterations result;
  if (result.all = marked(trace, kernels); !result.all.empty()) result.by = FoundBy::marks;
  else if (result.all = periodic(kernels); !result.all.empty()) result.by = FoundBy::period;
  else {
    double end_s = 0;
    for (const Started& k : kernels) end_s = std::max(end_s, k.end_s);
    result.all.push_back({"the whole trace", kernels.front().start_s, end_s});
  }
  result.settled = result.all.size() > 2 ? 1 : 0;
  return result;
}

}  // namespace comparison
