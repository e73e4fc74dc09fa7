#include "reports/show/show.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <ranges>

#include "pcg/models/load.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/framework_profile.hpp"
#include "profiles/network_profile.hpp"
#include "reports/layout/table.hpp"
#include "search/problem/search_result.hpp"
#include "topology/load.hpp"

namespace reports {
namespace {

std::string about_cluster(const std::string& name) {
  const topology::Cluster c = topology::load_cluster_argument(name);
  return fmt::format("{} x {} a node", c.node_devices(0).size(), c.devices().front().type);
}

std::string about_model(const std::string& name) {
  const pcg::Graph g = pcg::models::builtin(name, 1);
  const double parameters = static_cast<double>(g.parameters() - g.auxiliary_parameters());
  constexpr std::array kUnits = {std::pair(1e12, "T"), std::pair(1e9, "B"), std::pair(1e6, "M"), std::pair(1e3, "k")};
  for (const auto& [size, letter] : kUnits)
    if (parameters >= size) return fmt::format("{:.3g}{} parameters", parameters / size, letter);
  return fmt::format("{} parameters", parameters);
}

std::string about_device(const std::string& name) {
  const profiles::DeviceProfile& d = profiles::device_profile(name);
  const auto peak = [](const auto& p) { return fmt::format("{} {}", pcg::to_text(p.first), base::to_text(p.second)); };
  return fmt::format("{}, {} at {}; {}", d.vendor_name, search::memory_text(d.memory), base::to_text(d.memory_bandwidth),
                     fmt::join(d.peak | std::views::transform(peak), ", "));
}

std::string about_network(const std::string& name) {
  const profiles::NetworkProfile& n = profiles::network_profile(name);
  const auto kind = [](const auto& call) { return profiles::to_text(call.first); };
  return fmt::format("{}{}{}", fmt::join(n.links | std::views::keys, ", "), n.calls.empty() ? "" : "; ",
                     fmt::join(n.calls | std::views::transform(kind), ", "));
}

std::string about_framework(const std::string& name) {
  const profiles::FrameworkProfile& f = profiles::framework_profile(*pcg::named<pcg::Framework>(name));
  constexpr std::array kHost = {"assumed", "partly assumed", "fitted to measured iterations"};
  profiles::HostCosts none;
  none.basis = f.host.basis;
  std::string text = f.host == none ? "no host times" : fmt::format("host times {}", kHost[static_cast<std::size_t>(f.host.basis)]);
  return text + fmt::format(", gradients {} with the backward pass", f.overlap_gradients ? "overlap" : "do not overlap");
}

// Each name with what is said about it.
std::vector<Shipped> all_of(const std::vector<std::string>& names, std::string (*about)(const std::string& name)) {
  std::vector<Shipped> all;
  for (const std::string& name : names) all.push_back({name, about(name)});
  return all;
}

}  // namespace

std::vector<Shipped> shipped_clusters() { return all_of(topology::preset_names(), about_cluster); }
std::vector<Shipped> shipped_models() { return all_of(pcg::models::builtin_names(), about_model); }
std::vector<Shipped> shipped_devices() { return all_of(profiles::device_names(), about_device); }
std::vector<Shipped> shipped_networks() { return all_of(profiles::network_names(), about_network); }
std::vector<Shipped> shipped_frameworks() { return all_of(pcg::names<pcg::Framework>(), about_framework); }

std::string shipped_text(const std::vector<Shipped>& all, std::size_t width) {
  Table table({left("name"), left("what it is")});
  for (const Shipped& s : all) table.row({s.name, s.about});
  return table.text(2, width);
}

std::string shipped_json(const std::vector<Shipped>& all) {
  nlohmann::ordered_json j = nlohmann::ordered_json::array();
  for (const Shipped& s : all) j.push_back({{"name", s.name}, {"about", s.about}});
  return j.dump(1) + "\n";
}

}  // namespace reports
