#include "profiles/imports/sources/byte_source.hpp"

#include <fmt/format.h>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/diagnostics.hpp"
#include "base/files/text_file.hpp"
#include "base/files/used_files.hpp"
#include "base/units.hpp"

namespace imports {
namespace {

namespace io = boost::iostreams;

// Read at once: far more than a call costs, far less than memory.
constexpr std::size_t kPart = 256 * 1024;

// Whether a file begins as gzip's do (RFC 1952, section 2.3.1). Only steps within the buffer, so pipes can be read too.
bool is_gzip(std::filebuf& file) {
  if (file.sgetc() != 0x1f) return false;
  const bool is = file.snextc() == 0x8b;
  file.sungetc();
  return is;
}

// Boost reports a stream that ends too early in two forms, by where it ends.
bool is_cut_short(const io::gzip_error& e) {
  return e.error() == io::gzip::bad_footer || (e.error() == io::gzip::zlib_error && e.zlib_error_code() == io::zlib::buf_error);
}

std::string_view damage_of(const io::gzip_error& e) {
  if (e.error() == io::gzip::bad_crc) return "incorrect data check";
  if (e.error() == io::gzip::bad_header) return "a gzip header is wrong or cut short";
  return "its gzip stream breaks";
}

}  // namespace

ByteSource::ByteSource(const std::filesystem::path& file, std::uint64_t most) : name_(base::name_of_input(file)), left_(most), out_(kPart) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) refuse(name_, "is a directory, not a file");
  base::note_input(file);
  if (file_.open(base::is_standard_input(file) ? "/dev/stdin" : file, std::ios::in | std::ios::binary) == nullptr)
    refuse(name_, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (file_.sgetc() == traits_type::eof()) refuse(name_, "is empty");
  if (!is_gzip(file_)) return;
  // Boost reads several gzip streams one after another, too: gzip's format allows them, pigz and log shippers write them.
  auto inflated = std::make_unique<io::filtering_istreambuf>();
  inflated->push(io::gzip_decompressor());
  inflated->push(file_);
  inflated_ = std::move(inflated);
}

std::size_t ByteSource::fill(char* to, std::size_t room) {
  try {
    std::streambuf& bytes = inflated_ ? *inflated_ : file_;
    return static_cast<std::size_t>(bytes.sgetn(to, static_cast<std::streamsize>(room)));
  } catch (const io::gzip_error& e) {
    if (is_cut_short(e)) refuse(name_, "is cut short: its gzip stream does not end");
    refuse(name_, fmt::format("is damaged: {}", damage_of(e)));
  } catch (const std::ios_base::failure&) { refuse(name_, "cannot be read to its end"); }
}

ByteSource::int_type ByteSource::underflow() {
  if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
  const std::size_t n = fill(out_.data(), out_.size());
  if (n > left_) refuse(name_, "is too large to import", "write a trace of a few iterations only");
  left_ -= n;
  setg(out_.data(), out_.data(), out_.data() + n);
  return n == 0 ? traits_type::eof() : traits_type::to_int_type(out_[0]);
}

std::string ByteSource::peek(std::size_t count) {
  std::size_t have = static_cast<std::size_t>(egptr() - gptr());
  if (have > 0 && gptr() != out_.data()) std::memmove(out_.data(), gptr(), have);
  while (have < count) {
    const std::size_t n = fill(out_.data() + have, out_.size() - have);
    if (n == 0) break;
    have += n;
    left_ -= std::min<std::uint64_t>(left_, n);
  }
  setg(out_.data(), out_.data(), out_.data() + have);
  return {out_.data(), std::min(count, have)};
}

std::string ByteSource::rest(std::size_t most) {
  std::string text;
  for (int_type c = underflow(); c != traits_type::eof(); c = underflow()) {
    text.append(gptr(), egptr());
    setg(eback(), egptr(), egptr());
    if (text.size() > most)
      refuse(name_, fmt::format("is too large to import: more than {}", base::to_text(base::Bytes(static_cast<double>(most)))));
  }
  return text;
}

void refuse(const std::string& file, std::string message, std::string hint, int line) {
  const auto source = std::make_shared<const base::Source>(base::Source{file, {}});
  // The first line of an empty text would be quoted as an empty line, so line 1 is said in words.
  if (line == 1) message = "line 1: " + message;
  const base::Mark mark{source, line == 1 ? 0 : line, 1};
  throw base::InputError({base::Diagnostic{mark, {}, std::move(message), std::move(hint)}});
}

}  // namespace imports
