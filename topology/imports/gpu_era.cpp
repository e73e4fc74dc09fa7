#include "topology/imports/gpu_era.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/predicate.hpp>
#include <string>

#include "base/units.hpp"
#include "base/yaml/tree.hpp"
#include "topology/load.hpp"

namespace topology::imports {
namespace {

// Sources: those of topology/presets (data sheets of V100, A100, H100, B200; xbus from NCCL's src/graph/topo.h); P100: NVIDIA Tesla P100
// white paper (four NVLinks of 20 GB/s one way); A40 and A6000: their data sheets (112.5 GB/s both ways over four links).
const std::array<GpuEra, 8> kEras = {
    GpuEra{"P100", 60, 20, 4, 16, 6, 12.5, false, "", ""},
    GpuEra{"Titan-Xp", 0, 0, 0, 16, 6, 1.25, false, "", "titan-xp-12gb"},
    GpuEra{"V100", 70, 25, 6, 16, 10, 12.5, false, "v100-sxm2-16gb", "v100-pcie-16gb", "dgx-1v", "dgx-2"},
    GpuEra{"A100", 80, 25, 12, 32, 16, 25, false, "a100-sxm-40gb", "a100-pcie-40gb", "", "dgx-a100-80gb"},
    GpuEra{"A40", 86, 14.0625, 4, 32, 16, 25, false, "", ""},
    GpuEra{"H100", 90, 25, 18, 64, 22, 50, true, "h100-sxm-80gb", "", "", "dgx-h100"},
    GpuEra{"H200", 0, 25, 18, 64, 22, 50, true, "h200-sxm-141gb", "", "", "dgx-h200"},
    GpuEra{"B200", 100, 50, 18, 64, 40, 50, true, "b200-sxm-180gb", "", "", "dgx-b200"},
};

// The era of a device profile's name, or nullopt for a name that is not known here.
std::optional<GpuEra> era_of_type(std::string_view device_type) {
  const auto at = std::ranges::find_if(kEras, [&](const GpuEra& e) { return boost::algorithm::istarts_with(device_type, e.name); });
  return at == kEras.end() ? std::nullopt : std::optional(*at);
}

std::string generation(std::string_view device_type) { return std::string(device_type.substr(0, device_type.find('-'))); }

// GB/s of a type of link in a preset; nullopt: it has none.
std::optional<double> link_speed(std::string_view preset, std::string_view link) {
  const base::Yaml* bandwidth = preset_value(preset, {"links", link, "bandwidth"});
  const auto value = bandwidth != nullptr ? base::parse_bandwidth(bandwidth->scalar) : std::nullopt;
  return value ? std::optional(value->value() / 1e9) : std::nullopt;
}

// The machine that ships with GPUs of this generation, where this folder has no figures of its own: "pcie-l40s-4" for an l40s-48gb.
std::optional<GpuEra> era_of_preset(std::string_view device_type) {
  for (const std::string& preset : preset_names()) {
    const base::Yaml* type = preset_value(preset, {"node", "gpus", "type"});
    if (type == nullptr || generation(type->scalar) != generation(device_type)) continue;
    const base::Yaml* name = preset_value(preset, {"name"});
    GpuEra era;
    era.name = era.direct_preset = era.switched_preset = name != nullptr ? std::string_view(name->scalar) : std::string_view();
    era.nvlink_gb_s = link_speed(preset, "nvlink").value_or(0);
    era.nvlinks = era.nvlink_gb_s > 0 ? era.nvlinks : 0;
    era.pcie_gb_s = link_speed(preset, "pcie").value_or(era.pcie_gb_s);
    era.xbus_gb_s = link_speed(preset, "xbus").value_or(era.pcie_gb_s);  // as fast as PCIe at least: a bus between sockets carries it
    era.nic_gb_s = link_speed(preset, "infiniband").value_or(link_speed(preset, "ethernet").value_or(era.nic_gb_s));
    return era;
  }
  return std::nullopt;
}

}  // namespace

std::optional<GpuEra> era_of_sm(int sm) {
  const auto at = std::ranges::find_if(kEras, [&](const GpuEra& e) { return sm > 0 && e.sm == sm; });
  return at == kEras.end() ? std::nullopt : std::optional(*at);
}

std::optional<GpuEra> era_of_nvlinks(int links) {
  if (links == 6) return era_of_sm(70);
  if (links == 12) return era_of_sm(80);
  if (links == 18) return era_of_sm(90);
  return std::nullopt;
}

GpuChoice choose_gpu(const std::string& asked, const std::optional<GpuEra>& found, const std::string& by, PeerLinks links,
                     NodeSketch& sketch) {
  if (!asked.empty()) {
    auto era = era_of_type(asked);
    if (!era && (era = era_of_preset(asked)))
      sketch.note(fmt::format("Links are those of the preset {}, which has such GPUs.", era->direct_preset));
    if (!era) {
      sketch.note(fmt::format("Nothing is known here about machines with {}: NVLink of 25 GB/s and PCIe 3.0 are assumed.", asked));
    }
    return {era.value_or(found.value_or(GpuEra())), asked};
  }
  if (!found) {
    sketch.note(
        fmt::format("The file does not name the GPU: write a device profile's name for {} (or import with --gpu); NVLink of 25 GB/s "
                    "and PCIe 3.0 are assumed.",
                    kChooseGpu));
    return {GpuEra(), std::string(kChooseGpu)};
  }
  const auto type = links == PeerLinks::nvlink ? found->sxm : found->pcie;
  if (type.empty()) {
    sketch.note(fmt::format("The GPU seems to be of {}'s generation ({}), for which no device profile ships: write one's name for {}.",
                            found->name, by, kChooseGpu));
    return {*found, std::string(kChooseGpu)};
  }
  sketch.note(
      fmt::format("The GPU is concluded from {}: {}, the variant with least memory; import with --gpu if it is another.", by, type));
  return {*found, std::string(type)};
}

}  // namespace topology::imports
