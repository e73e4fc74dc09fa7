#include "profiles/fit/log_search.hpp"

#include <algorithm>
#include <cmath>
#include <nlopt.hpp>

namespace fit {
namespace {

constexpr int kMostSteps = 2500;  // an upper bound: some two hundred for each parameter of the largest model

std::vector<double> exponentials(const std::vector<double>& x) {
  std::vector<double> values(x.size());
  std::ranges::transform(x, values.begin(), [](double v) { return std::exp(v); });
  return values;
}

}  // namespace

LogFound least_in_logarithms(std::span<const double> start, std::span<const LogRange> ranges,
                             const std::function<double(std::span<const double>)>& cost) {
  using Cost = std::function<double(const std::vector<double>&)>;
  Cost of_logarithms = [&](const std::vector<double>& x) { return cost(exponentials(x)); };
  nlopt::opt search(nlopt::LN_SBPLX, static_cast<unsigned>(ranges.size()));
  search.set_min_objective([](const std::vector<double>& x, std::vector<double>&, void* f) { return (*static_cast<Cost*>(f))(x); },
                           &of_logarithms);
  std::vector<double> least, most, x;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    least.push_back(std::log(ranges[i].least));
    most.push_back(std::log(ranges[i].most));
    x.push_back(std::clamp(std::log(start[i]), least[i], most[i]));
  }
  search.set_lower_bounds(least);
  search.set_upper_bounds(most);
  search.set_initial_step(0.3);
  search.set_ftol_rel(1e-6);
  search.set_maxeval(kMostSteps);
  double best = 0;
  search.optimize(x, best);
  return {exponentials(x), best};
}

}  // namespace fit
