#include "imports/sources/byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/units.hpp"
#include "imports/sources/refuse.hpp"

namespace imports {
namespace {

constexpr std::size_t kPiece = 256 * 1024;

}  // namespace

ByteSource::ByteSource(const std::filesystem::path& file, std::uint64_t most)
    : name_(file.string()), left_(most), raw_(kPiece), out_(kPiece) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) refuse(name_, "is a directory, not a file");
  in_.open(file, std::ios::binary);
  if (!in_) refuse(name_, fmt::format("cannot be read: {}", std::strerror(errno)));
  read_more();
  if (inflater_.avail_in == 0) refuse(name_, "is empty");
  gzip_ = inflater_.avail_in >= 2 && raw_[0] == '\x1f' && raw_[1] == '\x8b';
  if (gzip_) BASE_CHECK(inflateInit2(&inflater_, 15 + 16) == Z_OK, "zlib does not start");
}

ByteSource::~ByteSource() {
  if (gzip_) inflateEnd(&inflater_);
}

void ByteSource::read_more() {
  in_.read(raw_.data(), static_cast<std::streamsize>(raw_.size()));
  if (in_.bad()) refuse(name_, "cannot be read to its end");
  inflater_.next_in = reinterpret_cast<Bytef*>(raw_.data());
  inflater_.avail_in = static_cast<uInt>(in_.gcount());
}

std::size_t ByteSource::inflate_into(char* to, std::size_t room) {
  inflater_.next_out = reinterpret_cast<Bytef*>(to);
  inflater_.avail_out = static_cast<uInt>(room);
  while (inflater_.avail_out == room) {
    if (inflater_.avail_in == 0) read_more();
    if (inflater_.avail_in == 0 && between_members_) return 0;
    if (inflater_.avail_in == 0) refuse(name_, "is cut short: its gzip stream does not end");
    const int status = inflate(&inflater_, Z_NO_FLUSH);
    // Files may be several gzip streams one after another (gzip's format allows it, pigz and log shippers do it).
    between_members_ = status == Z_STREAM_END;
    if (between_members_) inflateReset(&inflater_);
    else if (status != Z_OK)
      refuse(name_, fmt::format("is damaged: {}", inflater_.msg != nullptr ? inflater_.msg : "its gzip stream breaks"));
  }
  return room - inflater_.avail_out;
}

std::size_t ByteSource::fill(char* to, std::size_t room) {
  if (gzip_) return inflate_into(to, room);
  if (inflater_.avail_in == 0) read_more();
  const std::size_t n = std::min<std::size_t>(room, inflater_.avail_in);
  std::memcpy(to, inflater_.next_in, n);
  inflater_.next_in += n;
  inflater_.avail_in -= static_cast<uInt>(n);
  return n;
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

}  // namespace imports
