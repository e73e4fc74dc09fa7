#pragma once
// Typed indices. Strong ids: dense from 0, never reused; the owner keeps a std::vector<T> indexed by id.value.

#include <array>
#include <compare>
#include <concepts>
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

// Returns: an element by an index that need not be a std::size_t.
// Requires: 0 <= i < size.
template <class Elements, std::integral Index>
[[nodiscard]] constexpr decltype(auto) nth(Elements&& elements, Index i) {
  return elements[static_cast<std::size_t>(i)];
}

// One value per enumerator of an enum whose values run from 0 to `Last`: an array that only the enum can index.
template <class Enum, Enum Last, class T>
class ByEnum {
 public:
  [[nodiscard]] static constexpr std::size_t size() { return static_cast<std::size_t>(Last) + 1; }

  [[nodiscard]] constexpr T& operator[](Enum e) { return values_[static_cast<std::size_t>(e)]; }
  [[nodiscard]] constexpr const T& operator[](Enum e) const { return values_[static_cast<std::size_t>(e)]; }

  // In the order of the enumerators.
  [[nodiscard]] constexpr auto begin() { return values_.begin(); }
  [[nodiscard]] constexpr auto end() { return values_.end(); }
  [[nodiscard]] constexpr auto begin() const { return values_.begin(); }
  [[nodiscard]] constexpr auto end() const { return values_.end(); }

  bool operator==(const ByEnum&) const = default;

 private:
  std::array<T, static_cast<std::size_t>(Last) + 1> values_{};
};

}  // namespace base

template <class Tag>
struct std::hash<base::Id<Tag>> {
  std::size_t operator()(const base::Id<Tag>& id) const noexcept { return std::hash<std::uint32_t>{}(id.value); }
};
