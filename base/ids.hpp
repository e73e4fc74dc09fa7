#pragma once
// Strong ids: dense from 0, never reused; the owner keeps a std::vector<T> indexed by id.value.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace base {

template <class Tag>
struct Id {
  std::uint32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}
  auto operator<=>(const Id&) const = default;
};

// One GPU of a cluster, numbered node by node: what a mapping names and a topology describes.
using DeviceId = Id<struct DeviceTag>;

}  // namespace base

template <class Tag>
struct std::hash<base::Id<Tag>> {
  std::size_t operator()(const base::Id<Tag>& id) const noexcept { return std::hash<std::uint32_t>{}(id.value); }
};
