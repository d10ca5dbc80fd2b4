#include "engine/npy_header.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kAlignment = 64;  // of the data in files we write

struct TypeRow {
  std::string_view descr;  // without the byte order
  int64_t width;
  std::string_view name;
};
constexpr TypeRow kTypes[] = {
    {"b1", 1, "bool"},   {"i1", 1, "int8"},    {"i2", 2, "int16"},   {"i4", 4, "int32"},
    {"i8", 8, "int64"},  {"u1", 1, "uint8"},   {"u2", 2, "uint16"},  {"u4", 4, "uint32"},
    {"u8", 8, "uint64"}, {"f4", 4, "float32"}, {"f8", 8, "float64"},
};

const TypeRow& Row(NpyType type) { return kTypes[static_cast<int>(type)]; }

absl::Status Malformed(std::string_view why) { return SqlError(sqlstate::kBadCopyFileFormat, why); }

// Reads the literal of a Python dict with the three keys that NPY has, in any order.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  absl::StatusOr<NpyHeader> Parse() {
    if (!Take('{')) return Malformed("its header is no dictionary");
    while (!Take('}')) {
      ADJOIN_RETURN_IF_ERROR(ParseEntry());
      if (Take(',')) continue;
      if (Take('}')) break;
      return Malformed("its header is malformed");
    }
    if (seen_ != 7) return Malformed("its header lacks descr, fortran_order or shape");
    for (int64_t extent : header_.shape) {
      if (__builtin_mul_overflow(header_.elements, extent, &header_.elements)) {
        return Malformed("its shape is too large");
      }
    }
    return header_;
  }

 private:
  absl::Status ParseEntry() {
    std::string_view key;
    if (!TakeString(key) || !Take(':')) return Malformed("its header is malformed");
    if (key == "descr") {
      seen_ |= 1;
      std::string_view descr;
      if (!TakeString(descr)) return Malformed("structured arrays are not supported");
      return SetType(descr);
    }
    if (key == "fortran_order") {
      seen_ |= 2;
      header_.fortran_order = TakeWord("True");
      if (header_.fortran_order || TakeWord("False")) return absl::OkStatus();
    } else if (key == "shape") {
      seen_ |= 4;
      if (TakeShape()) return absl::OkStatus();
    }
    return Malformed(absl::StrCat("its header is malformed at ", ToAbsl(key)));
  }

  absl::Status SetType(std::string_view descr) {
    const bool has_order =
        !descr.empty() && std::string_view("<=|>").find(descr[0]) != std::string_view::npos;
    const std::string_view kind = descr.substr(has_order ? 1 : 0);
    for (const TypeRow& row : kTypes) {
      if (row.descr != kind) continue;
      if (descr[0] == '>' && row.width > 1)
        return Malformed(absl::StrCat("big-endian data is not supported: ", ToAbsl(descr)));
      header_.type = static_cast<NpyType>(&row - kTypes);
      return absl::OkStatus();
    }
    return Malformed(absl::StrCat("its element type is not supported: ", ToAbsl(descr)));
  }

  bool TakeShape() {
    if (!Take('(')) return false;
    while (!Take(')')) {
      SkipSpaces();
      int64_t extent = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) return false;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      header_.shape.push_back(extent);
      if (Take(',')) continue;
      return Take(')');
    }
    return true;
  }

  void SkipSpaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t'))
      rest_.remove_prefix(1);
  }
  bool Take(char c) {
    SkipSpaces();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeWord(std::string_view word) {
    SkipSpaces();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool TakeString(std::string_view& out) {
    SkipSpaces();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return false;
    out = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }

  std::string_view rest_;
  NpyHeader header_;
  int seen_ = 0;
};

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i - 1]);
  return value;
}

}  // namespace

int64_t NpyWidth(NpyType type) { return Row(type).width; }
std::string_view NpyName(NpyType type) { return Row(type).name; }

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view file) {
  if (file.substr(0, kMagic.size()) != kMagic) return Malformed("it is not an NPY file");
  if (file.size() < 10) return Malformed("its header is cut short");
  const int version = static_cast<uint8_t>(file[6]);
  if (version < 1 || version > 3)
    return Malformed(absl::StrCat("its NPY version is unknown: ", version));
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t start = 8 + length_bytes;
  if (file.size() < start) return Malformed("its header is cut short");
  const size_t length = LittleEndian(file.substr(8, length_bytes));
  if (file.size() - start < length) return Malformed("its header is cut short");
  ADJOIN_ASSIGN_OR_RETURN(NpyHeader header, HeaderParser(file.substr(start, length)).Parse());
  header.data_offset = static_cast<int64_t>(start + length);

  int64_t expected = 0;
  const auto present = static_cast<int64_t>(file.size()) - header.data_offset;
  if (__builtin_mul_overflow(header.elements, NpyWidth(header.type), &expected)) {
    return Malformed("its shape is too large");
  }
  if (present < expected) {
    return Malformed(absl::StrCat("its data is cut short: ", expected, " bytes expected, ", present,
                                  " present"));
  }
  if (present > expected) {
    return Malformed(absl::StrCat("it has more than its data: ", expected, " bytes expected, ",
                                  present, " present"));
  }
  return header;
}

std::string MakeNpyHeader(NpyType type, const std::vector<int64_t>& shape) {
  std::string dict = absl::StrCat("{'descr': '", NpyWidth(type) == 1 ? "|" : "<",
                                  ToAbsl(Row(type).descr), "', 'fortran_order': False, 'shape': (");
  for (int64_t extent : shape) absl::StrAppend(&dict, extent, ", ");
  if (shape.size() > 1) dict.resize(dict.size() - 2);
  if (shape.size() == 1) dict.resize(dict.size() - 1);
  dict += "), }";
  const int64_t unpadded =
      static_cast<int64_t>(dict.size()) + 11;  // magic, version, length, newline
  dict.append(static_cast<size_t>((kAlignment - unpadded % kAlignment) % kAlignment), ' ');
  dict += '\n';
  std::string header(kMagic);
  header += '\1';
  header += '\0';
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

}  // namespace adjoin
