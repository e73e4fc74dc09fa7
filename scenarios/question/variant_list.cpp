#include "scenarios/question/variant_list.hpp"

#include <utility>

#include "base/check.hpp"

namespace scenarios {
namespace {

WhatIf nothing_changed() {
  WhatIf w;
  w.name = kBaseName;
  return w;
}

}  // namespace

VariantList::VariantList(Variant base) : base_(std::move(base)) { all_.push_back(nothing_changed()); }

VariantList::VariantList(Patchable sections, const std::vector<WhatIf>& what_ifs, std::shared_ptr<VariantLoader> loader,
                         base::Diagnostics& sink)
    : sections_(std::make_shared<const Patchable>(std::move(sections))), loader_(std::move(loader)) {
  base_ = loader_->load(sections_->document, sink);
  if (base_) all_.push_back(nothing_changed());
  const bool complete = sections_->document.entries.size() == 3;
  for (std::size_t i = 0; complete && i < what_ifs.size(); ++i) {
    const std::size_t unpatched = sink.size();
    base::Yaml changed = patched(*sections_, what_ifs[i], sink);
    if (!base_ || sink.size() != unpatched) continue;
    if (loader_->load(std::move(changed), sink)) all_.push_back(what_ifs[i]);
  }
}

base::Yaml VariantList::document(std::size_t i) const {
  base::Diagnostics sink;
  base::Yaml document = patched(*sections_, all_[i], sink);
  sink.throw_if_any();
  return document;
}

Variant VariantList::load(std::size_t i) const {
  if (i == 0) return *base_;
  base::Diagnostics sink;
  std::optional<Variant> variant = loader_->load(document(i), sink);
  sink.throw_if_any();
  BASE_CHECK(variant.has_value(), "{} was loaded before, and is no variant now", all_[i].name);
  return std::move(*variant);
}

}  // namespace scenarios
