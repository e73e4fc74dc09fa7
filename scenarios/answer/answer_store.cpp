#include "scenarios/answer/answer_store.hpp"

#include <fmt/core.h>

#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/files/output_file.hpp"
#include "base/files/used_files.hpp"
#include "base/hash.hpp"

namespace scenarios {
namespace {

constexpr const char* kQuestion = "question";
constexpr const char* kAnswer = "answer";

}  // namespace

AnswerStore::AnswerStore(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (!std::filesystem::is_directory(folder_))
    throw base::InputError({{{},
                             folder_.string(),
                             fmt::format("answers cannot be kept here: {}", error ? error.message() : "it is no folder"),
                             "--resume takes a folder, which is made where it is missing"}});
}

std::filesystem::path AnswerStore::file_of(const std::string& question) const {
  return folder_ / fmt::format("{:016x}.json", base::hash_text(question));
}

nlohmann::json AnswerStore::find(const std::string& question) const {
  const std::filesystem::path path = file_of(question);
  base::note_input(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return nullptr;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  nlohmann::json kept = nlohmann::json::parse(text, nullptr, false);
  // Two questions may share a hash, and somebody may have written here.
  if (!kept.is_object() || kept.value(kQuestion, "") != question || !kept.contains(kAnswer)) return nullptr;
  return std::move(kept[kAnswer]);
}

void AnswerStore::keep(const std::string& question, const nlohmann::json& answer) const {
  const nlohmann::json kept = {{kQuestion, question}, {kAnswer, answer}};
  base::write_file(file_of(question), kept.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace scenarios
