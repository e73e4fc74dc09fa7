#pragma once
// How the tokens of a mixture of experts spread over the ranks that share its experts out, and what the libraries that send a token once to
// each domain (a host, or the hosts that NVLink joins) make of the exchange: dispatch and combine in two steps.

#include <compare>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/dataflow/flow_graph.hpp"
#include "sim/dataflow/movement.hpp"

namespace sim {

// HybridEP's: fp32 for each expert of the domain that a token comes to (deepseek-ai/DeepEP, branch hybrid-ep,
// csrc/hybrid_ep/backend/hybrid_ep_backend.cuh).
inline constexpr base::Bytes kExpertWeight{4};

// A token has its experts drawn evenly, without repeating one: from all of them, or from those of `groups_per_token` of `groups` equal
// parts, which are drawn evenly before.
struct TokenRouting {
  std::int64_t experts = 1;
  double per_token = 1;  // experts of a token; fewer on average than it asks for where places are short
  double tokens =
      1;  // of each place that a rank sends on average: what is sent has per_token copies of a token, and places that stay empty
  std::int64_t groups = 1, groups_per_token = 1;
  double imbalance = 1;  // places of the fullest expert over the mean: the layouts have as many for all
  double map = 0;  // bytes of the map of tokens to experts, which ranks gather before they send, for each byte of tokens; 0: they do not
  bool to_experts = true;  // and not back from them
  // HybridEP alone: it copies rows in bulk, of `token` bytes of a token, and of `weight` bytes for the weight of each expert of the domain
  // that the token comes to (or their gradients, back from there), whether the token has that expert or not.
  bool bulk = false;
  base::Bytes token, weight;
  auto operator<=>(const TokenRouting&) const = default;
};

// Returns: of the exchange that brings what `producer` makes, or its gradient, to or from the input `use`; nullopt: no tokens travel to
// or from experts there.
[[nodiscard]] std::optional<TokenRouting> token_routing(const pcg::Plan& plan, std::uint32_t producer, const Use& use);

// The same of a pass. Ranks gather who of them sends which token where before they go to the experts: with HybridEP a byte for each token
// and expert (deepseek-ai/DeepEP, branch hybrid-ep, csrc/hybrid_ep/executor, allgather_routing_map), with `allgather` the weight besides,
// in the training's precision. Gradients and combine know it by then. HybridEP sends the weights of experts with the tokens, in fp32 for
// all experts of a domain (csrc/hybrid_ep/backend/hybrid_ep_backend.cuh, dispatch_kernel and combine_kernel), and their gradients back.
[[nodiscard]] std::optional<TokenRouting> forward_routing(const pcg::Plan& plan, std::uint32_t producer, const Use& use);

[[nodiscard]] std::optional<TokenRouting> backward_routing(const pcg::Plan& plan, std::uint32_t producer, const Use& use);

// Returns: how many ranks share out the experts whose tokens an operator dispatches or combines; 1: none do, or it does neither.
[[nodiscard]] std::int64_t ranks_of_experts(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);

// Returns: rows that come to a rank, for each token of its own, where one copy goes to each rank that has some of a token's experts,
// whatever the library; 1 where all do (ranks_of_experts 1), or the operator does neither.
[[nodiscard]] double rows_arriving(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);

// Returns: the mean number of parts that the experts of a token are in. `parts`: how many experts, in order, each part has.
// For n of E experts in each of D = E/n parts and k of a token: D (1 - C(E-n, k) / C(E, k)).
// Requires: the parts have all experts.
// Cost: O(parts x groups x experts of a part).
[[nodiscard]] double parts_reached(const TokenRouting& routing, std::span<const std::int64_t> parts);

// Returns: the exchange of places that all experts have alike, with the bytes of the mean expert, and the fullest waited for.
[[nodiscard]] Movement of_unequal_experts(Movement exchange, const TokenRouting& routing);

// Returns: the exchange with each all-to-all in two steps, of one copy of a token for each domain that it reaches and there one for each
// rank, after a gather of the map, if there is one; whatever else is in it stays. The exchange back has the same, as sums are made in the
// domain before they cross.
[[nodiscard]] Movement forwarded(Movement exchange, const TokenRouting& routing, const topology::Cluster& cluster);

// Returns: the exchange with each all-to-all as an all-gather of each rank's tokens, one copy of each, after one of the map, if there is
// one; back from the experts as a reduce-scatter of as much.
[[nodiscard]] Movement gathered(Movement exchange, const TokenRouting& routing);

}  // namespace sim
