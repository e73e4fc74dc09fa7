#pragma once
// The base of a scenario and its what-ifs. A sweep has thousands, each with a cluster or a model of megabytes: a what-if is therefore kept
// as what it changes, and loaded where it is looked at.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/question/variant.hpp"
#include "scenarios/question/what_if.hpp"

namespace scenarios {

// The scenario itself among its variants; no what-if may be called so.
inline constexpr std::string_view kBaseName = "base";

class VariantList {
 public:
  VariantList() = default;
  // The base alone, which nothing is asked about.
  explicit VariantList(Variant base);
  // Puts every problem of the base, and of every what-if where the base has none, into `sink`; the list is empty where the base has any.
  // What-ifs of sections that are missing are patched and not loaded: the same problems would come again.
  VariantList(Patchable sections, const std::vector<WhatIf>& what_ifs, std::shared_ptr<VariantLoader> loader, base::Diagnostics& sink);

  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // The base first, which is called kBaseName and changes nothing, then the what-ifs in order.
  [[nodiscard]] const WhatIf& operator[](std::size_t i) const { return all_[i]; }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }

  // Requires: !empty().
  [[nodiscard]] const Variant& base() const { return *base_; }
  // Returns the sections of a variant as they are written, with its changes. Requires: i < size(), and a list that was loaded.
  [[nodiscard]] base::Yaml document(std::size_t i) const;
  // Returns a variant. Requires: as document(). Throws: base::InputError where a file of it has changed since. Cost: that of a cluster or a
  // model, unless one of the last few variants has the same.
  [[nodiscard]] Variant load(std::size_t i) const;

 private:
  std::shared_ptr<const Patchable> sections_;
  std::shared_ptr<VariantLoader> loader_;
  std::optional<Variant> base_;
  std::vector<WhatIf> all_;
};

}  // namespace scenarios
