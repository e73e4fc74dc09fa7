#pragma once
// The terms of a scenario's `capacity:`, without machines and plans: how much to train, by when, for how much money, on whose terms; and
// their readers. What is wrong goes to the reader's sink, all at once.

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "base/yaml/reader.hpp"

namespace scenarios {

// Figures for each GPU, for each node, or for all of them together: "2.50 USD/gpu/h", "10.2 kW/node".
enum class Per { all, node, gpu };

template <class Amount>
struct Each {
  Amount amount;
  Per per = Per::all;

  // Returns the amount of all nodes and GPUs together.
  [[nodiscard]] Amount of(int nodes, int gpus) const { return amount * (per == Per::all ? 1 : per == Per::node ? nodes : gpus); }
};

// How much is trained.
struct Work {
  enum class Unit { tokens, samples, iterations };
  Unit unit = Unit::tokens;
  double amount = 0;  // above 0
};

// Nodes that are owned: what they cost in an hour of this training. Money that was spent already may be left out.
struct Owned {
  std::optional<int> nodes;                  // at most; nullopt: all of a candidate's
  std::optional<Each<base::Dollars>> capex;  // spread over `years`
  double years = 0;                          // above 0 where there is capex
  double utilisation = 1;                    // share of the hours of a year in which the nodes work for somebody, above 0, at most 1
  Each<base::Dollars> operations;            // a year: people, space, support
  base::Dollars electricity;                 // a kWh
};

struct CandidateTerms {
  std::string name;                          // unique
  std::optional<Each<base::Dollars>> price;  // an hour, of what is rented
  std::optional<Each<base::Watts>> power;    // of what computes, without the cooling
  double pue = 1;                            // power usage effectiveness: energy of the site over energy of what computes, at least 1
  std::optional<Owned> owned;                // nullopt: all is rented
};

struct Checkpoints {
  std::optional<base::Bytes> size;  // nullopt: weights and optimizer states of the plan's training
  Each<base::BytesPerSecond> bandwidth;
  std::optional<base::Seconds> interval;  // of training between two of them; nullopt: Daly's
};

struct Reliability {
  base::Seconds mtbf_per_gpu;  // mean time between failures of one GPU and its share of everything else that stops the job
  base::Seconds restart;       // from a failure until the job trains again
  Checkpoints checkpoints;
  bool mtbf_is_default = false, restart_is_default = false;
};

struct CapacityTerms {
  Work work;
  std::optional<base::Seconds> deadline;
  std::optional<base::Dollars> budget;
  std::vector<CandidateTerms> candidates;
  std::optional<Reliability> reliability;  // nullopt: nothing fails, nothing is saved
};

// Llama 3 405B's pre-training had 419 unexpected interruptions in 54 days on 16,384 H100 (Grattafiori et al., arXiv 2407.21783, section
// 3.3.4 and table 5). Derived: 16384 x 54 x 24 h / 419 = 50,677 h.
inline constexpr base::Seconds kLlama3MtbfPerGpu{16384 * 54 * 86400.0 / 419};
// An assumption. It is less than the bound that the same section gives: above 90 % of effective training time at one interruption in 3.1 h
// leave at most 18.6 min for each, with what is lost and with the checkpoints.
inline constexpr base::Seconds kDefaultRestart{600};

// The readers of whole parts. Each asks for its keys alone; the caller, who made the reader, finishes it.
// The keys of the section itself: train, deadline, budget, reliability.
[[nodiscard]] CapacityTerms read_terms(base::MapReader& section);
// The keys of a candidate that are about money and power: price, power, pue, owned. The name is left empty.
[[nodiscard]] CandidateTerms read_candidate_terms(base::MapReader& candidate);
// A candidate's numbers of nodes: an integer or a list of them, each at least 1, in order; empty where it does not say, or is wrong.
[[nodiscard]] std::vector<int> read_nodes(base::MapReader& candidate);

}  // namespace scenarios
