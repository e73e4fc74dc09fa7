#include "reports/show/show.hpp"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

#include "pcg/models/load.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/framework_profile.hpp"
#include "profiles/network_profile.hpp"
#include "reports/layout/table.hpp"
#include "search/problem/search_result.hpp"
#include "topology/load.hpp"

namespace reports {
namespace {

std::string about_cluster(const topology::Cluster& c) {
  return fmt::format("{} x {} a node", c.node_devices(0).size(), c.devices().front().type);
}

std::string about_model(const pcg::Graph& g) {
  const double parameters = static_cast<double>(g.parameters() - g.auxiliary_parameters());
  constexpr std::array kUnits = {std::pair(1e12, "T"), std::pair(1e9, "B"), std::pair(1e6, "M"), std::pair(1e3, "k")};
  for (const auto& [size, letter] : kUnits)
    if (parameters >= size) return fmt::format("{:.3g}{} parameters", parameters / size, letter);
  return fmt::format("{} parameters", parameters);
}

std::string about_device(const profiles::DeviceProfile& d) {
  std::string peaks;
  for (const auto& [precision, peak] : d.peak)
    peaks += fmt::format("{}{} {}", peaks.empty() ? "" : ", ", pcg::to_text(precision), base::to_text(peak));
  return fmt::format("{}, {} at {}; {}", d.vendor_name, search::memory_text(d.memory), base::to_text(d.memory_bandwidth), peaks);
}

std::string about_network(const profiles::NetworkProfile& n) {
  std::string text;
  for (const auto& [type, costs] : n.links) text += (text.empty() ? "" : ", ") + type;
  text += n.calls.empty() ? "" : "; ";
  for (const auto& [kind, call] : n.calls) text += fmt::format("{}{}", kind == n.calls.begin()->first ? "" : ", ", profiles::to_text(kind));
  return text;
}

std::string about_framework(const profiles::FrameworkProfile& f) {
  constexpr std::array kHost = {"assumed", "partly assumed", "fitted to measured iterations"};
  profiles::HostCosts none;
  none.basis = f.host.basis;
  std::string text = f.host == none ? "no host times" : fmt::format("host times {}", kHost[static_cast<std::size_t>(f.host.basis)]);
  return text + fmt::format(", gradients {} with the backward pass", f.overlap_gradients ? "overlap" : "do not overlap");
}

// Each name with what is said about it.
template <class Names, class About>
std::vector<Shipped> all_of(const Names& names, About about) {
  std::vector<Shipped> all;
  for (const std::string& name : names) all.push_back({name, about(name)});
  return all;
}

}  // namespace

std::vector<Shipped> shipped_clusters() {
  return all_of(topology::preset_names(), [](const std::string& n) { return about_cluster(topology::load_cluster_argument(n)); });
}

std::vector<Shipped> shipped_models() {
  return all_of(pcg::models::builtin_names(), [](const std::string& n) { return about_model(pcg::models::builtin(n, 1)); });
}

std::vector<Shipped> shipped_devices() {
  return all_of(profiles::device_names(), [](const std::string& n) { return about_device(profiles::device_profile(n)); });
}

std::vector<Shipped> shipped_networks() {
  return all_of(profiles::network_names(), [](const std::string& n) { return about_network(profiles::network_profile(n)); });
}

std::vector<Shipped> shipped_frameworks() {
  return all_of(pcg::names<pcg::Framework>(), [i = 0](const std::string&) mutable {
    return about_framework(profiles::framework_profile(static_cast<pcg::Framework>(i++)));
  });
}

std::string shipped_text(const std::vector<Shipped>& all, std::size_t width) {
  Table table({{"name", Align::left}, {"what it is", Align::left}});
  for (const Shipped& s : all) table.row({s.name, s.about});
  return table.text(2, width);
}

std::string shipped_json(const std::vector<Shipped>& all) {
  nlohmann::ordered_json j = nlohmann::ordered_json::array();
  for (const Shipped& s : all) j.push_back({{"name", s.name}, {"about", s.about}});
  return j.dump(1) + "\n";
}

}  // namespace reports
