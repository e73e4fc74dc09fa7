#pragma once
// The answers of `foreshard show`, as text and as JSON: what ships with the program (the names that scenarios may use, with a line about
// each), a cluster, a model, a plan, two plans compared, planners.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/plan/plan.hpp"
#include "topology/cluster.hpp"

namespace reports {

struct Shipped {
  std::string name;
  std::string about;  // half a line
};

// Each in the order of names. Cost: builds every preset, or every builtin model.
[[nodiscard]] std::vector<Shipped> shipped_clusters();
[[nodiscard]] std::vector<Shipped> shipped_models();
[[nodiscard]] std::vector<Shipped> shipped_devices();
[[nodiscard]] std::vector<Shipped> shipped_networks();
[[nodiscard]] std::vector<Shipped> shipped_frameworks();

// Returns a row each: the name, and what it is, in lines of at most `width`.
[[nodiscard]] std::string shipped_text(const std::vector<Shipped>& all, std::size_t width);
// Returns [{"name","about"}, ..].
[[nodiscard]] std::string shipped_json(const std::vector<Shipped>& all);

[[nodiscard]] std::string cluster_text(const topology::Cluster& c);
[[nodiscard]] std::string cluster_json(const topology::Cluster& c);

// Parameters leave out those of auxiliary blocks (multi-token prediction), which are given apart; FLOPs do not.
[[nodiscard]] std::string model_text(const pcg::Graph& g, std::span<const std::string> notes = {});
// Returns {"name","operators","parameters","auxiliary_parameters","forward_flops_per_sample","training_flops_per_token","notes":[..],
// "layers":[..]}; the second and fourth number where there is any.
[[nodiscard]] std::string model_json(const pcg::Graph& g, std::span<const std::string> notes = {});

// Files of the plan's model are named from `directory`.
[[nodiscard]] std::string plan_text(const pcg::Plan& p, const std::filesystem::path& directory, std::size_t width);
[[nodiscard]] std::string plan_json(const pcg::Plan& p, const std::filesystem::path& directory);

// Require: the plans are of one model (search/explanation/plan_comparison.hpp).
[[nodiscard]] std::string plan_comparison_text(const pcg::Plan& first, const pcg::Plan& second, std::size_t width);
[[nodiscard]] std::string plan_comparison_json(const pcg::Plan& first, const pcg::Plan& second);

// Each returns the planners of a kind ("megatron": its forms), or all for an empty one; text in lines of at most `width`, 80 or more.
// Throws: base::InputError for a kind that there is not.
[[nodiscard]] std::string planners_text(const std::string& kind, std::size_t width);
[[nodiscard]] std::string planners_json(const std::string& kind);

}  // namespace reports
