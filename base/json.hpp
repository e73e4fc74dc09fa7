#pragma once
// JSON of types that nlohmann's library does not know: quantities, ids, one value per enumerator, std::optional and std::variant. It serves
// the answers that worker processes hand back (base/processes/worker_pool.hpp); what users read is written by reports/.
// Keeps: every finite double to the last bit (the library writes the shortest text that reads back the same). JSON has no infinity and no
// NaN: both are written as null, and reading a number from null throws nlohmann::json::type_error.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "base/ids.hpp"
#include "base/units.hpp"

namespace base {

template <class Tag>
void to_json(nlohmann::json& j, const Quantity<Tag>& q) {
  j = q.value();
}
template <class Tag>
void from_json(const nlohmann::json& j, Quantity<Tag>& q) {
  q = Quantity<Tag>(j.get<double>());
}

template <class Tag>
void to_json(nlohmann::json& j, const Id<Tag>& id) {
  j = id.value;
}
template <class Tag>
void from_json(const nlohmann::json& j, Id<Tag>& id) {
  j.get_to(id.value);
}

// A list, in the order of the enumerators.
template <class Enum, Enum Last, class T>
void to_json(nlohmann::json& j, const ByEnum<Enum, Last, T>& values) {
  j = nlohmann::json::array();
  for (const T& value : values) j.push_back(value);
}
template <class Enum, Enum Last, class T>
void from_json(const nlohmann::json& j, ByEnum<Enum, Last, T>& values) {
  std::size_t i = 0;
  for (T& value : values) j.at(i++).get_to(value);
}

}  // namespace base

// A list of no or one value: null would be taken for a number that JSON cannot hold.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(json& j, const std::optional<T>& value) {
    j = json::array();
    if (value) j.push_back(*value);
  }
  static void from_json(const json& j, std::optional<T>& value) {
    value = j.empty() ? std::nullopt : std::optional<T>(j.at(0).template get<T>());
  }
};

// The number of the alternative, and its value.
template <class... T>
struct nlohmann::adl_serializer<std::variant<T...>> {
  static void to_json(json& j, const std::variant<T...>& value) {
    j = json::array({value.index(), std::visit([](const auto& x) { return json(x); }, value)});
  }
  template <std::size_t I = 0>
  static void from_json(const json& j, std::variant<T...>& value) {
    using Alternative = std::variant_alternative_t<I, std::variant<T...>>;
    if (j.at(0).get<std::size_t>() == I) value.template emplace<I>(j.at(1).get<Alternative>());
    else if constexpr (I + 1 < sizeof...(T)) from_json<I + 1>(j, value);
  }
};
