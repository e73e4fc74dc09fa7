#include "profiles/imports/sources/json_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <istream>

#include "profiles/imports/sources/byte_source.hpp"

namespace imports {
namespace {

// Limits against files that would fill the memory or the stack. Names and recorded shapes in traces take kilobytes; the largest
// double has 309 digits; documents that are read whole have megabytes and nest below ten.
constexpr std::size_t kLongestString = std::size_t{16} << 20;
constexpr std::size_t kLongestWord = 400;
constexpr std::size_t kLargestDocument = std::size_t{256} << 20;
constexpr int kDeepest = 512;

bool in_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';
}

}  // namespace

void JsonSource::end_word() {
  if (word_ == "NaN" || word_ == "-NaN" || word_ == "Infinity" || word_ == "-Infinity") word_ = "null";
  out_ += word_;
  word_.clear();
}

void JsonSource::take(char c) {
  if (in_string_) {
    out_ += c;
    if (++string_length_ > kLongestString) refuse(bytes_->name(), "has a string of more than 16 MiB");
    if (escaped_) escaped_ = false;
    else if (c == '\\') escaped_ = true;
    else if (c == '"') in_string_ = false;
    return;
  }
  if (in_word(c)) {
    word_ += c;
    if (word_.size() > kLongestWord) refuse(bytes_->name(), fmt::format("has a number of more than {} characters", kLongestWord));
    return;
  }
  end_word();
  out_ += c;
  if (c == '"') in_string_ = true, string_length_ = 0;
}

JsonSource::int_type JsonSource::underflow() {
  if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
  out_.clear();
  while (out_.empty() && bytes_->sgetc() != traits_type::eof()) {
    // Only a part at a time, so that memory stays small.
    for (std::streamsize left = std::max<std::streamsize>(bytes_->in_avail(), 1); left > 0; --left)
      take(static_cast<char>(bytes_->sbumpc()));
  }
  if (out_.empty()) end_word();
  setg(out_.data(), out_.data(), out_.data() + out_.size());
  return out_.empty() ? traits_type::eof() : traits_type::to_int_type(out_[0]);
}

void refuse_json(const std::string& file, const nlohmann::json::exception& e) {
  const std::string_view what = e.what();  // "[json.exception.parse_error.101] parse error at line 1, column 9: syntax error ..."
  const std::size_t end = what.find("] ");
  std::string message(end == std::string_view::npos ? what : what.substr(end + 2));
  if (message.find("unexpected end of input") != std::string::npos || message.find("missing closing quote") != std::string::npos)
    refuse(file, "is cut short, or no JSON: " + message, "was the program that wrote it stopped before it was done?");
  refuse(file, "is no JSON: " + message);
}

bool parse_json_events(ByteSource& bytes, JsonHandler& handler) {
  JsonSource text(bytes);
  std::istream in(&text);
  return nlohmann::json::sax_parse(in, &handler);
}

nlohmann::json parse_json_document(ByteSource& bytes) {
  const std::string file = bytes.name();
  JsonSource text(bytes);
  std::string whole;
  for (int c = text.sgetc(); c != std::char_traits<char>::eof(); c = text.sgetc()) {
    std::string chunk(static_cast<std::size_t>(text.in_avail()), '\0');
    const auto n = text.sgetn(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    whole.append(chunk, 0, static_cast<std::size_t>(n));
    if (whole.size() > kLargestDocument) refuse(file, "is too large for a file of its kind: more than 256 MiB");
  }
  const auto shallow = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kDeepest) refuse(file, fmt::format("is nested more than {} deep", kDeepest));
    return true;
  };
  try {
    return nlohmann::json::parse(whole, shallow);
  } catch (const nlohmann::json::exception& e) { refuse_json(file, e); }
}

}  // namespace imports
