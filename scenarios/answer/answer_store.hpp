#pragma once
// Answers kept in a folder, so that work that was cut off goes on where it was (`--resume`). An answer is found by its question: a text
// that holds all that the answer depends on. Several processes may keep answers in one folder at once.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace scenarios {

class AnswerStore {
 public:
  // Makes the folder where it is not there. Throws: base::InputError where that fails, or the name is that of a file.
  explicit AnswerStore(std::filesystem::path folder);

  // Returns what was kept for the question; null: nothing, or what is there is no whole answer to it.
  [[nodiscard]] nlohmann::json find(const std::string& question) const;
  // Cost: the answer is on the disk when this returns (base/files/output_file.hpp). Throws: base::InputError when it cannot be written.
  void keep(const std::string& question, const nlohmann::json& answer) const;

 private:
  [[nodiscard]] std::filesystem::path file_of(const std::string& question) const;

  std::filesystem::path folder_;
};

}  // namespace scenarios
