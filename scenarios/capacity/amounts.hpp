#pragma once
// Figures for each GPU, for each node, or for all of them together, and how a scenario writes them: "2.50 USD/gpu/h", "10.2 kW/node".

#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "base/yaml/reader.hpp"

namespace scenarios {

enum class Per { all, node, gpu };

template <class Amount>
struct Each {
  Amount amount;
  Per per = Per::all;

  // Returns the amount of so many nodes with so many GPUs together.
  [[nodiscard]] Amount of(int nodes, int gpus) const {
    switch (per) {
      case Per::all: return amount;
      case Per::node: return amount * nodes;
      case Per::gpu: return amount * gpus;
    }
    return amount;
  }
};

// Each reads an optional key: nullopt when it is absent or wrong. What is wrong (no text, no unit, another unit, below 0, beyond what any
// machine has) goes to the reader's sink, with an example of how to write it.
[[nodiscard]] std::optional<Each<base::Dollars>> read_price(base::MapReader& in, std::string_view key);       // an hour: USD/gpu/h ...
[[nodiscard]] std::optional<Each<base::Dollars>> read_capex(base::MapReader& in, std::string_view key);       // USD/node ...
[[nodiscard]] std::optional<Each<base::Dollars>> read_operations(base::MapReader& in, std::string_view key);  // a year: USD/node/year ...
[[nodiscard]] std::optional<base::Dollars> read_electricity(base::MapReader& in, std::string_view key);       // a kWh: USD/kWh, USD/MWh
[[nodiscard]] std::optional<Each<base::Watts>> read_power(base::MapReader& in, std::string_view key);         // kW/node ...
// Above 0. A bandwidth alone is that of the whole store: GB/s/node, GB/s/gpu, GB/s.
[[nodiscard]] std::optional<Each<base::BytesPerSecond>> read_store_bandwidth(base::MapReader& in, std::string_view key);

}  // namespace scenarios
