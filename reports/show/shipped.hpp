#pragma once
// What ships with the program: the names that scenarios may use, with a line about each; and a device or framework profile by itself.

#include <string>
#include <vector>

namespace reports {

struct Shipped {
  std::string name;
  std::string about;  // half a line
};

// Each in the order of names. Cost: builds every preset, or every builtin model.
[[nodiscard]] std::vector<Shipped> shipped_clusters();
[[nodiscard]] std::vector<Shipped> shipped_models();
[[nodiscard]] std::vector<Shipped> shipped_devices();
[[nodiscard]] std::vector<Shipped> shipped_networks();
[[nodiscard]] std::vector<Shipped> shipped_frameworks();

// Returns a row each: the name, and what it is, in lines of at most `width`.
[[nodiscard]] std::string shipped_text(const std::vector<Shipped>& all, std::size_t width);
// Returns [{"name","about"}, ..].
[[nodiscard]] std::string shipped_json(const std::vector<Shipped>& all);

}  // namespace reports
