#pragma once
// Capacity planning made up of round numbers.

#include "scenarios/capacity/entries.hpp"

namespace test {

// So many tokens. Two candidates, at 2 and 1 USD per GPU and hour, of 1 kW per node at a PUE of 2.
inline scenarios::CapacityTerms made_terms(double tokens) {
  scenarios::CapacityTerms terms;
  terms.work = {scenarios::Work::Unit::tokens, tokens};
  for (const double usd : {2.0, 1.0}) {
    scenarios::CandidateTerms c;
    c.name = usd == 2 ? "fast" : "cheap";
    c.price = {base::Dollars(usd), scenarios::Per::gpu};
    c.power = {base::Watts(1000), scenarios::Per::node};
    c.pue = 2;
    terms.candidates.push_back(c);
  }
  return terms;
}

// Nodes of 8 GPUs, all rented: 100 samples of 10 tokens in an iteration of so many seconds, -25 % +50 %; states of 100 GB.
inline scenarios::CapacityCase made_case(std::size_t candidate, int nodes, double seconds) {
  return {.candidate = candidate,
          .fleet = {.nodes = nodes, .gpus = 8 * nodes},
          .plan = 0,
          .run = 0,
          .forecast = scenarios::TrainingForecast{.iteration = base::Seconds(seconds),
                                                  .low = base::Seconds(0.75 * seconds),
                                                  .high = base::Seconds(1.5 * seconds),
                                                  .samples_per_s = 100 / seconds,
                                                  .tokens_per_s = 1000 / seconds,
                                                  .gpus = 8 * nodes,
                                                  .states = base::Bytes(100e9)}};
}

}  // namespace test
