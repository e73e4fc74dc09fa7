#pragma once
// Small measurement files that the tests make themselves, of the forms that other tools write.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/imports/traces/trace.hpp"

namespace made {

// A folder of its own, gone afterwards.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::filesystem::path write(const std::string& name, std::string_view bytes) const;
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] std::string gzipped(std::string_view text);
[[nodiscard]] std::string bytes_of(const std::filesystem::path& file);

[[nodiscard]] imports::ImportedTrace import_text(std::string_view bytes);
// What is said of a file that is refused, without the folder; "" when it is not refused.
[[nodiscard]] std::string refusal(std::string_view bytes);

// One training step on an A100: a matmul, an all-gather and an all-reduce, a copy.
[[nodiscard]] std::string kineto();
// An export with one kernel, one collective, one copy and one NVTX range.
[[nodiscard]] std::string nsys();
void run_sql(const std::filesystem::path& file, const std::vector<std::string>& statements);
// all_reduce_perf on 4 ranks of 2 hosts.
[[nodiscard]] std::string nccl_tests();
// A rank with a matmul, an all-reduce and a host operation.
[[nodiscard]] std::string chakra();

}  // namespace made
