#pragma once
// JSON text read in parts from untrusted files. Python writes NaN and Infinity, which JSON does not have: they become null. Strings of more
// than 16 MiB and numbers of more than 400 characters are refused, so that no single token can fill the memory. Private to this folder.

#include <nlohmann/json.hpp>
#include <streambuf>
#include <string>

#include "profiles/imports/sources/byte_source.hpp"

namespace imports {

class JsonSource final : public std::streambuf {
 public:
  explicit JsonSource(ByteSource& bytes) : bytes_(&bytes) {}

 protected:
  int_type underflow() override;

 private:
  void take(char c);
  void end_word();

  ByteSource* bytes_;
  std::string out_;   // text that is ready to be read
  std::string word_;  // a number, true, false, null, NaN ... that has not ended yet
  std::size_t string_length_ = 0;
  bool in_string_ = false, escaped_ = false;
};

// Runs nlohmann's event parser. Returns false when the handler stopped it, which it may do by returning false.
// Throws: base::InputError naming file, line and column when the text is no JSON, is cut short, or nests deeper than 512.
using JsonHandler = nlohmann::json_sax<nlohmann::json>;
[[nodiscard]] bool parse_json_events(ByteSource& bytes, JsonHandler& handler);
// Returns the whole document, for files that are small.
// Throws: as above, also when it is larger than 256 MiB.
[[nodiscard]] nlohmann::json parse_json_document(ByteSource& bytes);
// A handler's parse_error must call this.
// Throws: base::InputError.
[[noreturn]] void refuse_json(const std::string& file, const nlohmann::json::exception& e);

}  // namespace imports
