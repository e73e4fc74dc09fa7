// Network profiles: those that ship, their text form, and what is refused.
#include <doctest/doctest.h>

#include "base/diagnostics.hpp"
#include "base/yaml/parse.hpp"
#include "profiles/network_profile.hpp"
#include "tests/about.hpp"

namespace {

using profiles::Algorithm;
using profiles::CollectiveKind;
using profiles::NetworkProfile;
using profiles::Protocol;

NetworkProfile load_network(const std::string& text) { return profiles::load_network_profile(base::parse_yaml(text, "net.yaml")); }

std::string refusal(const std::string& text) {
  try {
    (void)load_network(text);
  } catch (const base::InputError& e) { return e.what(); }
  return {};
}

const std::string kSmall =
    "foreshard: 1\nnetwork:\n  name: n\n  links:\n    nvlink:\n      ring:\n        ll: {latency: 0.5 us, efficiency: 0.25, source: \"a "
    "table\"}\n"
    "  calls:\n    all_reduce: {base: {ll: 6 us}, local: 0.5, source: \"a guess\"}\n";

}  // namespace

TEST_CASE("every network profile that ships loads under its own name, and says where each number is from") {
  REQUIRE(!profiles::network_names().empty());
  for (const std::string& name : profiles::network_names()) {
    CAPTURE(name);
    const NetworkProfile& p = profiles::network_profile(name);
    CHECK(p.name == name);
    for (const auto& [type, algorithms] : p.links)
      for (const auto& [algorithm, protocols] : algorithms)
        for (const auto& [protocol, hop] : protocols) CHECK(!hop.source.empty());
    for (const auto& [kind, call] : p.calls) CHECK(!call.source.empty());
  }
  CHECK_THROWS_WITH_AS((void)profiles::network_profile("a100-nvswich"), doctest::Contains("a100-nvswitch"), base::InputError);
}

TEST_CASE("the text form holds what was read") {
  const NetworkProfile p = load_network(kSmall);
  const profiles::NetworkHop* hop = p.find("nvlink", Algorithm::ring, Protocol::ll);
  REQUIRE(hop != nullptr);
  CHECK(hop->latency.value() == test::about(0.5e-6));
  CHECK(hop->efficiency == 0.25);
  CHECK(hop->source == "a table");
  CHECK(p.calls.at(CollectiveKind::all_reduce).base.at(Protocol::ll).value() == test::about(6e-6));
  CHECK(p.find("nvlink", Algorithm::tree, Protocol::ll) == nullptr);
  CHECK(p.find("pcie", Algorithm::ring, Protocol::ll) == nullptr);
  CHECK(p.find("nvlink", Algorithm::bulk_forwarded, Protocol::ll) == nullptr);
  NetworkProfile bulk = p;
  bulk.links["nvlink"][Algorithm::forwarded][Protocol::simple].efficiency = 0.5;
  CHECK(bulk.find("nvlink", Algorithm::bulk_forwarded, Protocol::simple)->efficiency == 0.5);
  bulk.links["nvlink"][Algorithm::bulk_forwarded][Protocol::simple] = {base::Seconds(0), 0.75, "", base::Seconds(1.5e-9),
                                                                       base::Seconds(12e-9)};
  const NetworkProfile again = load_network(profiles::to_yaml(bulk));
  const profiles::NetworkHop* rows = again.find("nvlink", Algorithm::bulk_forwarded, Protocol::simple);
  CHECK(rows->efficiency == 0.75);
  CHECK(rows->sent_row.value() == test::about(1.5e-9));
  CHECK(rows->summed_row.value() == test::about(12e-9));
  CHECK(p.knows("nvlink"));
  CHECK(!p.knows("wire"));
  for (const std::string& name : profiles::network_names()) {
    const std::string text = profiles::to_yaml(profiles::network_profile(name));
    CHECK(profiles::to_yaml(load_network(text)) == text);
  }
}

TEST_CASE("a profile that cannot be right is refused with its place") {
  const auto with = [](std::string from, const std::string& to) {
    std::string text = kSmall;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  CHECK(refusal(with("efficiency: 0.25", "efficiency: 1.5")).find("net.yaml:7:") != std::string::npos);
  CHECK(refusal(with("efficiency: 0.25", "efficiency: 0")).find("efficiency") != std::string::npos);
  CHECK(refusal(with("latency: 0.5 us", "latency: 0.5")).find("unit") != std::string::npos);
  CHECK(refusal(with("latency: 0.5 us", "latency: -1 us")).find("negative") != std::string::npos);
  CHECK(refusal(with("        ll:", "        lll:")).find("lll") != std::string::npos);
  CHECK(refusal(with("      ring:", "      wring:")).find("ring") != std::string::npos);
  CHECK(refusal(with("  name: n\n", "")).find("name") != std::string::npos);
  CHECK(refusal(with("foreshard: 1", "foreshard: 2")).find("format 2") != std::string::npos);
}
