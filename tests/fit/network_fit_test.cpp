// Fits of network profiles: what made-up rows were made with comes back, outliers or not; and public tables, where they are at hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/diagnostics.hpp"
#include "base/yaml/parse.hpp"
#include "profiles/fit/kernel_calibration.hpp"
#include "profiles/fit/network_fit.hpp"
#include "sim/collectives/plan_collective.hpp"
#include "tests/about.hpp"
#include "tests/fit/converted.hpp"
#include "tests/shared_data.hpp"
#include "topology/load.hpp"

namespace {

using fit::NetworkResidual;
using measured::CollectiveMeasurement;
using profiles::Algorithm;
using profiles::CollectiveKind;
using profiles::NetworkProfile;
using profiles::Protocol;

topology::Cluster dgx() {
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml("{preset: dgx-a100-80gb, nodes: 1}", "t"), "cluster"), "cluster");
}

// A library of two protocols on NVLink, under the name that the preset asks for.
NetworkProfile library(double ll_hop, double ll_share, double simple_hop, double simple_share, double ll_base, double simple_base,
                       double local) {
  NetworkProfile p;
  p.name = "a100-nvswitch";
  p.links["nvlink"][Algorithm::ring] = {{Protocol::ll, {base::Seconds(ll_hop), ll_share, "guess"}},
                                        {Protocol::simple, {base::Seconds(simple_hop), simple_share, "guess"}}};
  p.links["pcie"][Algorithm::ring] = {{Protocol::simple, {base::Seconds(7e-6), 0.77, "guess"}}};
  p.calls[CollectiveKind::all_reduce] = {
      {{Protocol::ll, base::Seconds(ll_base)}, {Protocol::simple, base::Seconds(simple_base)}}, local, ""};
  return p;
}

std::vector<CollectiveMeasurement> rows_of(const NetworkProfile& truth) {
  const topology::Cluster cluster = dgx();
  sim::CollectiveConfig config;
  config.network = &truth;
  std::vector<CollectiveMeasurement> rows;
  for (const int n : {2, 4, 8})
    for (double bytes = 1024; bytes < 2e9; bytes *= 1.7) {
      const auto time = sim::plan_collective(CollectiveKind::all_reduce, base::Bytes(bytes),
                                             cluster.node_devices(0).first(static_cast<std::size_t>(n)), cluster, config)
                            .estimate;
      rows.push_back({"dgx-a100-80gb", 1, n, CollectiveKind::all_reduce, base::Bytes(bytes), time, "made.csv:1"});
    }
  return rows;
}

double mean_error(std::span<const NetworkResidual> residuals, double at_least, bool held_out_only) {
  double sum = 0;
  int rows = 0;
  for (const NetworkResidual& r : residuals) {
    if (r.row->bytes.value() < at_least || (held_out_only && !r.held_out)) continue;
    sum += std::abs(r.error());
    ++rows;
  }
  return rows == 0 ? 0 : sum / rows;
}

}  // namespace

TEST_CASE("rows made by a profile give the profile back, from a start that is wrong by half") {
  const NetworkProfile truth = library(0.4e-6, 0.3, 4e-6, 0.8, 8e-6, 20e-6, 0.4), start = library(0.8e-6, 0.5, 2e-6, 0.6, 5e-6, 30e-6, 0.2);
  const auto rows = rows_of(truth);
  const fit::NetworkFit fit = fit::fit_network(start, rows);
  CHECK(mean_error(fit.residuals, 0, false) < 0.01);
  CHECK(mean_error(fit.residuals, 0, true) < 0.01);
  for (const Protocol p : {Protocol::ll, Protocol::simple}) {
    const auto &got = *fit.profile.find("nvlink", Algorithm::ring, p), &want = *truth.find("nvlink", Algorithm::ring, p);
    CHECK(got.efficiency == test::about(want.efficiency, 0.05));
    CHECK(got.latency.value() == test::about(want.latency.value(), 0.15));
    CHECK(got.source.find("fitted") == 0);
  }
  // No row tells of PCIe: as it was.
  CHECK(fit.profile.find("pcie", Algorithm::ring, Protocol::simple)->efficiency == 0.77);
  CHECK(fit.profile.find("pcie", Algorithm::ring, Protocol::simple)->source == "guess");
}

TEST_CASE("one row in ten three times too slow does not bend the fit") {
  const NetworkProfile truth = library(0.4e-6, 0.3, 4e-6, 0.8, 8e-6, 20e-6, 0.4);
  auto rows = rows_of(truth);
  for (std::size_t i = 0; i < rows.size(); i += 10) rows[i].time = rows[i].time * 3;
  const NetworkProfile fitted = fit::fit_network(truth, rows).profile;
  CHECK(fitted.find("nvlink", Algorithm::ring, Protocol::simple)->efficiency == test::about(0.8, 0.05));
}

TEST_CASE("rows of other clusters take no part in residuals") {
  const NetworkProfile truth = library(0.4e-6, 0.3, 4e-6, 0.8, 8e-6, 20e-6, 0.4);
  auto rows = rows_of(truth);
  rows.push_back({"dgx-1v", 1, 4, CollectiveKind::all_reduce, base::Bytes(1e6), base::Seconds(1), "made.csv:9"});
  rows.push_back({"nowhere", 1, 4, CollectiveKind::all_reduce, base::Bytes(1e6), base::Seconds(1), "made.csv:10"});
  const auto residuals = fit::compare_network(truth, rows);
  CHECK(residuals.size() == rows.size() - 2);
  CHECK(mean_error(residuals, 0, false) < 1e-9);
  NetworkProfile other = truth;
  other.name = "other";
  CHECK_THROWS_AS((void)fit::compare_network(other, rows), base::InputError);
}

TEST_CASE("a fifth is kept aside, the same rows whatever table they are in") {
  int held = 0, all = 0;
  for (const int gpus : {2, 4, 8, 16})
    for (double bytes = 1024; bytes < 1e9; bytes *= 1.05)
      for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
        const CollectiveMeasurement a{"x", 1, gpus, kind, base::Bytes(bytes), base::Seconds(1), "a:1"};
        const CollectiveMeasurement b{"y", 2, gpus, kind, base::Bytes(bytes), base::Seconds(2), "b:7"};
        CHECK(fit::is_held_out(a) == fit::is_held_out(b));
        held += fit::is_held_out(a) ? 1 : 0;
        ++all;
      }
  CHECK(held > all / 10);
  CHECK(held < all * 3 / 10);
}

// What must hold of the profiles that ship, on public tables that do not. Errors are means over all rows of 1 MB and more.
TEST_CASE("profiles that ship against public tables (needs shared data)" * test::needs("collectives")) {
  measured::Measurements all;
  for (const char* const name :
       {"aiconfigurator_nccl_intranode.csv", "vtrain_nccl_allreduce_a100_v100.csv", "nccl_tests_public_tables.csv"}) {
    const auto m = test::converted(std::string("collectives/") + name);
    all.collectives.insert(all.collectives.end(), m.collectives.begin(), m.collectives.end());
  }
  for (const char* const name : {"v100-nvlink", "a100-nvswitch", "h100-nvswitch", "h200-nvswitch", "b200-nvswitch", "nvl72"}) {
    const auto residuals = fit::compare_network(profiles::network_profile(name), all.collectives);
    const double error = mean_error(residuals, 1e6, false), held_out = mean_error(residuals, 1e6, true);
    MESSAGE(std::string(name) << ": " << 100 * error << " % of all, " << 100 * held_out << " % of those kept aside");
    CHECK(error < 0.10);
    CHECK(held_out < 0.12);
  }
}
