#pragma once
// The keys of a config.json, as the classes of the `transformers` library read them: a key that is absent has its default there. Private to
// pcg/models.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml/reader.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/operators/operator.hpp"

namespace pcg::models {

// By the names that transformers has; nullopt: not known here.
[[nodiscard]] std::optional<Unary::Kind> activation_called(std::string_view name);

// Keys may be null, which means absent unless a function says otherwise. What is wrong goes into the sink of the reader.
class Config {
 public:
  Config(const base::Yaml& document, const std::string& path, base::Diagnostics& sink) : reader_(document, path, sink) {}

  std::int64_t size(std::string_view key, std::int64_t usual, std::int64_t least = 1, std::int64_t most = kMostSize);
  bool flag(std::string_view key, bool usual);
  double rate(std::string_view key, double usual);
  std::string text(std::string_view key, const std::string& usual);
  // The words, or the numbers as words, of a list; empty: absent.
  std::vector<std::string> words(std::string_view key);
  bool given(std::string_view key);
  [[nodiscard]] bool is_asked(std::string_view key) const { return asked_.contains(key); }
  // What is written at "KEY" or "KEY.KEY"; empty: nothing, or no scalar.
  [[nodiscard]] std::string word(std::string_view key) const;
  base::MapReader& reader() { return reader_; }

  // "LlamaForCausalLM" -> "ForCausalLM"; `usual` when architectures are not given.
  std::string architecture(std::string_view usual);
  // A choice among names that transformers allows here.
  Unary::Kind function(std::string_view key, Unary::Kind usual);

  // A difference of the model that is built from the config.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  // Returns: these, and one sentence that names the keys that were not asked for, where they matter. Keys of training,
  // tokens and numerics (initialisers, ids, epsilons, rotation bases) are not named, nor those that are null, false or 0.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  base::MapReader reader_;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> notes_;
};

}  // namespace pcg::models
