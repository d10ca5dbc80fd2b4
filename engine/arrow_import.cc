#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/arrow.h"
#include "engine/decimal_functions.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

// Owns an imported struct and releases it.
template <typename Struct>
struct Imported {
  explicit Imported(Struct* from) : root(*from) { from->release = nullptr; }
  ~Imported() {
    if (root.release != nullptr) root.release(&root);
  }
  Imported(const Imported&) = delete;
  Imported& operator=(const Imported&) = delete;
  Struct root;
};
using Owner = std::shared_ptr<const Imported<ArrowArray>>;

constexpr std::string_view kDateFormat = "tdD";        // days
constexpr std::string_view kTimestampFormat = "tsu:";  // microseconds without a time zone
constexpr std::string_view kDecimalFormat = "d:";      // precision, scale

absl::Status Mismatch(std::string_view what, std::string_view which) {
  return SqlError(sqlstate::kDatatypeMismatch, absl::StrCat(ToAbsl(what), ": ", ToAbsl(which)));
}

bool BitAt(const void* bits, int64_t i) {
  return ((static_cast<const uint8_t*>(bits)[i >> 3] >> (i & 7)) & 1) != 0;
}

// One column on its way in: `length` elements of `array` from `offset`.
struct Source {
  const ArrowSchema& schema;
  const ArrowArray& array;
  int64_t offset;
  int64_t length;
  const Owner& owner;
  const std::shared_ptr<MemoryBudget>& budget;

  std::string_view name() const { return schema.name == nullptr ? "" : schema.name; }
  const void* buffer(int i) const { return array.buffers[i]; }
  bool is_null(int64_t i) const {
    return array.null_count != 0 && buffer(0) != nullptr && !BitAt(buffer(0), offset + i);
  }
};

absl::StatusOr<std::shared_ptr<const Buffer>> ImportValidity(const Source& in) {
  if (in.array.null_count == 0 || in.buffer(0) == nullptr || in.length == 0) return nullptr;
  const int64_t bytes = (in.length + 7) / 8;
  if (in.offset % 8 == 0) {
    return Buffer::Wrap(static_cast<const uint8_t*>(in.buffer(0)) + in.offset / 8, bytes, in.owner);
  }
  ADJOIN_ASSIGN_OR_RETURN(auto bits, Buffer::Allocate(bytes, in.budget));
  std::memset(bits->mutable_data(), 0, static_cast<size_t>(bytes));
  for (int64_t i = 0; i < in.length; ++i) {
    uint8_t& byte = bits->mutable_as<uint8_t>()[i >> 3];
    byte = static_cast<uint8_t>(byte | ((BitAt(in.buffer(0), in.offset + i) ? 1 : 0) << (i & 7)));
  }
  return bits;
}

absl::StatusOr<ColumnRef> MakeColumn(const Source& in, TypeId type,
                                     std::shared_ptr<const Buffer> values,
                                     std::shared_ptr<const Dictionary> dictionary = nullptr) {
  ADJOIN_ASSIGN_OR_RETURN(auto validity, ImportValidity(in));
  auto column =
      std::make_shared<const Column>(type, in.length, std::move(values), validity, dictionary);
  if (validity == nullptr || column->has_nulls()) return column;
  return std::make_shared<const Column>(type, in.length, column->values_buffer(), nullptr,
                                        std::move(dictionary));
}

// The elements themselves, which are of our type: shared where they are aligned.
absl::StatusOr<std::shared_ptr<const Buffer>> ShareValues(const Source& in, int64_t width) {
  const char* data = static_cast<const char*>(in.buffer(1)) + in.offset * width;
  const int64_t bytes = in.length * width;
  if (bytes > 0 && reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(width) == 0) {
    return Buffer::Wrap(data, bytes, in.owner);
  }
  ADJOIN_ASSIGN_OR_RETURN(auto values, Buffer::Allocate(bytes, in.budget));
  if (bytes > 0) std::memcpy(values->mutable_data(), data, static_cast<size_t>(bytes));
  return values;
}

// Integers of another width. Every lane is written; only those that are not NULL must fit.
template <typename From, typename To>
absl::StatusOr<std::shared_ptr<Buffer>> CopyIntegers(const Source& in) {
  ADJOIN_ASSIGN_OR_RETURN(
      auto values, Buffer::Allocate(in.length * static_cast<int64_t>(sizeof(To)), in.budget));
  const char* data =
      static_cast<const char*>(in.buffer(1)) + in.offset * static_cast<int64_t>(sizeof(From));
  for (int64_t i = 0; i < in.length; ++i) {
    From value;
    std::memcpy(&value, data + i * static_cast<int64_t>(sizeof(From)), sizeof(From));
    if (!std::in_range<To>(value) && !in.is_null(i)) {
      return SqlError(
          sqlstate::kNumericOutOfRange,
          absl::StrCat("value of Arrow column \"", ToAbsl(in.name()), "\" out of range: ", value));
    }
    values->mutable_as<To>()[i] = static_cast<To>(value);
  }
  return values;
}

template <typename From, typename To>
absl::StatusOr<ColumnRef> ImportIntegers(const Source& in, TypeId type) {
  ADJOIN_ASSIGN_OR_RETURN(auto values, (CopyIntegers<From, To>(in)));
  return MakeColumn(in, type, std::move(values));
}

absl::StatusOr<ColumnRef> ImportBools(const Source& in) {
  ADJOIN_ASSIGN_OR_RETURN(auto values, Buffer::Allocate(in.length, in.budget));
  for (int64_t i = 0; i < in.length; ++i) {
    values->mutable_as<uint8_t>()[i] = BitAt(in.buffer(1), in.offset + i) ? 1 : 0;
  }
  return MakeColumn(in, TypeId::kBool, std::move(values));
}

template <typename Offset>
std::string_view TextAt(const ArrowArray& array, int64_t i) {
  const auto* offsets = static_cast<const Offset*>(array.buffers[1]);
  const auto size = static_cast<size_t>(offsets[i + 1] - offsets[i]);
  if (size == 0) return {};
  return std::string_view(static_cast<const char*>(array.buffers[2]) + offsets[i], size);
}

template <typename Offset>
absl::StatusOr<ColumnRef> ImportTexts(const Source& in) {
  ADJOIN_ASSIGN_OR_RETURN(auto codes, Buffer::Allocate(in.length * 4, in.budget));
  auto dictionary = std::make_shared<Dictionary>();
  for (int64_t i = 0; i < in.length; ++i) {
    const std::string_view text = in.is_null(i) ? "" : TextAt<Offset>(in.array, in.offset + i);
    codes->mutable_as<int32_t>()[i] = dictionary->Intern(text);
  }
  ADJOIN_RETURN_IF_ERROR(dictionary->ChargeTo(in.budget));
  return MakeColumn(in, TypeId::kText, std::move(codes), std::move(dictionary));
}

// Codes of any width as int32, before they are checked.
absl::StatusOr<std::shared_ptr<const Buffer>> ImportCodes(const Source& in) {
  switch (in.schema.format[0]) {
    case 'c':
      return CopyIntegers<int8_t, int32_t>(in);
    case 'C':
      return CopyIntegers<uint8_t, int32_t>(in);
    case 's':
      return CopyIntegers<int16_t, int32_t>(in);
    case 'S':
      return CopyIntegers<uint16_t, int32_t>(in);
    case 'i':
      return ShareValues(in, 4);
    case 'I':
      return CopyIntegers<uint32_t, int32_t>(in);
    case 'l':
      return CopyIntegers<int64_t, int32_t>(in);
    case 'L':
      return CopyIntegers<uint64_t, int32_t>(in);
    default:
      return Mismatch("unsupported type of Arrow dictionary codes", in.schema.format);
  }
}

// Arrow's dictionaries may repeat texts and have garbage codes under NULLs; ours may not.
absl::StatusOr<ColumnRef> ImportDictionary(const Source& in) {
  const ArrowArray* texts = in.array.dictionary;
  const std::string_view format = in.schema.dictionary->format;
  if (texts == nullptr || (format != "u" && format != "U")) {
    return Mismatch("unsupported type of Arrow dictionary values", format);
  }
  if (texts->null_count > 0) return Mismatch("Arrow dictionary has NULLs, in column", in.name());
  ADJOIN_ASSIGN_OR_RETURN(auto codes, ImportCodes(in));
  auto dictionary = std::make_shared<Dictionary>();
  std::vector<int32_t> new_codes;
  for (int64_t i = 0; i < texts->length; ++i) {
    const int64_t at = texts->offset + i;
    new_codes.push_back(dictionary->Intern(format == "u" ? TextAt<int32_t>(*texts, at)
                                                         : TextAt<int64_t>(*texts, at)));
  }
  ADJOIN_RETURN_IF_ERROR(dictionary->ChargeTo(in.budget));
  const auto* old_codes = codes->as<int32_t>();
  bool as_they_are = dictionary->size() == static_cast<int32_t>(new_codes.size());
  for (int64_t i = 0; i < in.length; ++i) {
    const bool known = old_codes[i] >= 0 && old_codes[i] < std::ssize(new_codes);
    if (!known && !in.is_null(i))
      return Mismatch("code outside its Arrow dictionary, in column", in.name());
    as_they_are = as_they_are && known;
  }
  if (as_they_are) return MakeColumn(in, TypeId::kText, std::move(codes), std::move(dictionary));
  ADJOIN_ASSIGN_OR_RETURN(auto mapped, Buffer::Allocate(in.length * 4, in.budget));
  for (int64_t i = 0; i < in.length; ++i) {
    mapped->mutable_as<int32_t>()[i] =
        in.is_null(i) ? dictionary->Intern("") : new_codes[static_cast<size_t>(old_codes[i])];
  }
  return MakeColumn(in, TypeId::kText, std::move(mapped), std::move(dictionary));
}

// decimal128 of one scale: d:precision,scale, and ,128 where the bits are named.
absl::StatusOr<ColumnRef> ImportDecimals(const Source& in) {
  std::string_view numbers = std::string_view(in.schema.format).substr(2);
  if (numbers.ends_with(",128")) numbers.remove_suffix(4);
  const size_t comma = numbers.find(',');
  int precision = 0, scale = 0;
  const bool read = comma != std::string_view::npos &&
                    absl::SimpleAtoi(ToAbsl(numbers.substr(0, comma)), &precision) &&
                    absl::SimpleAtoi(ToAbsl(numbers.substr(comma + 1)), &scale);
  if (!read || scale < 0 || scale > Decimal::kMaxScale)
    return Mismatch(absl::StrCat("unsupported Arrow type of column \"", ToAbsl(in.name()), "\""),
                    in.schema.format);
  ADJOIN_ASSIGN_OR_RETURN(auto values, Buffer::Allocate(in.length * 16, in.budget));
  const char* data = static_cast<const char*>(in.buffer(1)) + in.offset * 16;
  for (int64_t i = 0; i < in.length; ++i) {
    __int128 coefficient = 0;
    if (!in.is_null(i)) std::memcpy(&coefficient, data + i * 16, 16);
    ADJOIN_ASSIGN_OR_RETURN(values->mutable_as<Decimal>()[i], decimal::Fitted(coefficient, scale));
  }
  return MakeColumn(in, TypeId::kDecimal, std::move(values));
}

absl::StatusOr<ColumnRef> ShareColumn(const Source& in, TypeId type) {
  ADJOIN_ASSIGN_OR_RETURN(auto values, ShareValues(in, WidthOf(type)));
  return MakeColumn(in, type, std::move(values));
}

absl::StatusOr<ColumnRef> ImportColumn(const Source& in) {
  if (in.schema.dictionary != nullptr) return ImportDictionary(in);
  const std::string_view format = in.schema.format;
  if (format == kDateFormat) return ShareColumn(in, TypeId::kDate);
  if (format == kTimestampFormat) return ShareColumn(in, TypeId::kTimestamp);
  if (format.starts_with(kDecimalFormat)) return ImportDecimals(in);
  switch (format.size() == 1 ? format[0] : '\0') {
    case 'b':
      return ImportBools(in);
    case 'c':
      return ImportIntegers<int8_t, int16_t>(in, TypeId::kInt16);
    case 'C':
      return ImportIntegers<uint8_t, int16_t>(in, TypeId::kInt16);
    case 's':
      return ShareColumn(in, TypeId::kInt16);
    case 'S':
      return ImportIntegers<uint16_t, int32_t>(in, TypeId::kInt32);
    case 'i':
      return ShareColumn(in, TypeId::kInt32);
    case 'I':
      return ImportIntegers<uint32_t, int64_t>(in, TypeId::kInt64);
    case 'l':
      return ShareColumn(in, TypeId::kInt64);
    case 'L':
      return ImportIntegers<uint64_t, int64_t>(in, TypeId::kInt64);
    case 'f':
      return ShareColumn(in, TypeId::kFloat32);
    case 'g':
      return ShareColumn(in, TypeId::kFloat64);
    case 'u':
      return ImportTexts<int32_t>(in);
    case 'U':
      return ImportTexts<int64_t>(in);
    default:
      return Mismatch(absl::StrCat("unsupported Arrow type of column \"", ToAbsl(in.name()), "\""),
                      format);
  }
}

absl::Status CheckRecordBatch(const ArrowSchema& schema, const ArrowArray& array) {
  if (std::string_view(schema.format) != "+s") {
    return Mismatch("an Arrow record batch is a struct (+s), not", schema.format);
  }
  if (schema.n_children != array.n_children) {
    return Mismatch("Arrow schema and array differ in their children",
                    absl::StrCat(schema.n_children, " and ", array.n_children));
  }
  if (array.null_count != 0 && array.n_buffers > 0 && array.buffers[0] != nullptr) {
    for (int64_t i = 0; i < array.length; ++i) {
      if (!BitAt(array.buffers[0], array.offset + i))
        return Mismatch("an Arrow row is NULL as a whole", absl::StrCat(i));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckChild(const ArrowSchema& schema, const ArrowArray& array, int64_t rows) {
  const bool is_text =
      schema.dictionary == nullptr && (*schema.format == 'u' || *schema.format == 'U');
  const std::string_view name = schema.name == nullptr ? "" : schema.name;
  if (array.length < rows) return Mismatch("Arrow column is shorter than its batch", name);
  // Nested and other types have another number of buffers: their import names the format.
  const bool is_flat =
      std::string_view("bcCsSiIlLfguU").find(*schema.format) != std::string_view::npos ||
      schema.format == kDateFormat || schema.format == kTimestampFormat ||
      std::string_view(schema.format).starts_with(kDecimalFormat);
  if (is_flat && array.n_buffers != (is_text ? 3 : 2))
    return Mismatch("Arrow column lacks buffers", name);
  if (is_flat && rows > 0 && array.buffers[1] == nullptr)
    return Mismatch("Arrow column lacks values", name);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TableRef> ImportArrow(ArrowSchema* schema, ArrowArray* array,
                                     std::shared_ptr<MemoryBudget> budget) {
  const Imported<ArrowSchema> types(schema);
  const Owner owner = std::make_shared<const Imported<ArrowArray>>(array);
  const ArrowArray& root = owner->root;
  ADJOIN_RETURN_IF_ERROR(CheckRecordBatch(types.root, root));
  Schema result;
  std::vector<ColumnRef> columns;
  for (int64_t c = 0; c < root.n_children; ++c) {
    const ArrowSchema& type = *types.root.children[c];
    const ArrowArray& child = *root.children[c];
    ADJOIN_RETURN_IF_ERROR(CheckChild(type, child, root.offset + root.length));
    const Source in{type, child, root.offset + child.offset, root.length, owner, budget};
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, ImportColumn(in));
    const bool not_null = (type.flags & ARROW_FLAG_NULLABLE) == 0 && !column->has_nulls();
    result.fields.push_back({std::string(in.name()), column->type(), not_null});
    columns.push_back(std::move(column));
  }
  return Table::MakeUnchecked(std::move(result), std::move(columns), root.length);
}

}  // namespace adjoin
