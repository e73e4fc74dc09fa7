#pragma once
// How estimates rank a grid of plans against how simulations do.

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/yaml/parse.hpp"
#include "pcg/models/load.hpp"
#include "search/cost/estimate.hpp"
#include "search/planners/megatron/megatron.hpp"
#include "topology/load.hpp"

namespace test {

struct Ranked {
  double estimated = 0, simulated = 0;
};

// Ranks from 0; equal values share the mean of their ranks.
inline std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> r;
  for (const double v : values) {
    const auto below = std::ranges::count_if(values, [&](double w) { return w < v; });
    const auto equal = std::ranges::count(values, v);
    r.push_back(static_cast<double>(below) + (static_cast<double>(equal) - 1) / 2);
  }
  return r;
}

// Spearman's rank correlation: Pearson's of the ranks, which holds with ties too.
inline double spearman(const std::vector<Ranked>& pairs) {
  std::vector<double> x, y;
  for (const Ranked& p : pairs) {
    x.push_back(p.estimated);
    y.push_back(p.simulated);
  }
  x = ranks(x);
  y = ranks(y);
  const double mean = (static_cast<double>(pairs.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

// Every plan of Megatron's grid of powers of two and three that the model and the batch allow, with and without recomputation and ZeRO 1.
template <class Visit>
void each_plan(const search::Problem& problem, Visit visit) {
  const int devices = problem.cluster.device_count();
  for (int tensor = 1; tensor <= devices; ++tensor)
    for (int pipeline = 1; pipeline * tensor <= devices; ++pipeline) {
      if (devices % (tensor * pipeline) != 0) continue;
      for (const int micro_batch : {1, 2, 4}) {
        search::GridConfig c{.tensor = tensor, .pipeline = pipeline, .data = devices / tensor / pipeline};
        c.micro_batch = micro_batch;
        const search::Attempt<pcg::Plan> made = search::megatron_plan(problem, c);
        if (!made) continue;  // not a point of this model's grid
        search::Estimator estimator(*made, problem.oracle);
        pcg::Plan plan = *made;
        for (const int zero : {0, 1})
          for (const pcg::Recompute recompute : {pcg::Recompute::none, pcg::Recompute::full}) {
            plan.zero = zero;
            plan.recompute = recompute;
            visit(plan, estimator);
          }
      }
    }
}

inline std::vector<Ranked> rank_grid(const search::Problem& problem) {
  std::vector<Ranked> all;
  each_plan(problem, [&](const pcg::Plan& plan, search::Estimator& estimator) {
    all.push_back({estimator.time(sim::variant_of(plan)).value(), problem.oracle.plan(plan).iteration_time.value()});
  });
  return all;
}

// A question on a cluster by its section, held together.
struct GridQuestion {
  base::Yaml section;
  pcg::Graph model;
  topology::Cluster cluster;
  sim::Oracle oracle;
  pcg::TrainingConfig training;

  GridQuestion(const std::string& model_section, const std::string& cluster_section, std::int64_t global_batch)
      : section(base::parse_yaml(model_section, "<test>")),
        model(pcg::models::load_model(section, "model", {}, 1)),
        cluster(topology::load_cluster(topology::expand_cluster(base::parse_yaml(cluster_section, "<test>"), "cluster"), "cluster")),
        oracle(cluster) {
    training.global_batch = global_batch;
    training.optimizer = pcg::Optimizer::adam;
  }
  [[nodiscard]] search::Problem problem() const { return {model, section, cluster, training, oracle}; }
};

}  // namespace test
