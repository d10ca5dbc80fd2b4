#include "engine/npy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/file.h"
#include "engine/npy_header.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

// Which columns are axes, in order, and which is the value.
struct ArrayColumns {
  std::vector<int> axes;
  int value = -1;
};

absl::StatusOr<ArrayColumns> ColumnsOfArray(const Schema& schema) {
  ArrayColumns result;
  const int count = static_cast<int>(schema.fields.size());
  result.axes = schema.dims;
  if (schema.dims.empty()) {
    for (int i = 0; i + 1 < count; ++i) result.axes.push_back(i);
  }
  if (static_cast<int>(result.axes.size()) + 1 != count) {
    return SqlError(sqlstate::kInvalidParameterValue,
                    absl::StrCat("an NPY array needs one value column besides the key, not ",
                                 schema.fields.size() - result.axes.size()));
  }
  for (int i = 0; i < count; ++i) {
    if (std::ranges::find(result.axes, i) == result.axes.end()) result.value = i;
  }
  for (int axis : result.axes) {
    const Field& field = schema.fields[static_cast<size_t>(axis)];
    if (IsInteger(field.type)) continue;
    return SqlError(
        sqlstate::kDatatypeMismatch,
        absl::StrCat("column \"", field.name, "\" is an axis of an NPY array but of type ",
                     ToAbsl(TypeName(field.type))));
  }
  return result;
}

absl::StatusOr<ColumnRef> AxisColumn(const Field& field, int64_t extent, int64_t stride, int64_t n,
                                     const std::shared_ptr<MemoryBudget>& budget) {
  const int64_t most = field.type == TypeId::kInt16   ? INT16_MAX
                       : field.type == TypeId::kInt32 ? INT32_MAX
                                                      : INT64_MAX;
  if (extent - 1 > most) {
    return SqlError(
        sqlstate::kNumericOutOfRange,
        absl::StrCat("column \"", field.name, "\" of type ", ToAbsl(TypeName(field.type)),
                     " cannot number an axis of ", extent));
  }
  return std::make_shared<const Column>(field.type, n, Column::Coordinates{0, extent, stride},
                                        budget);
}

bool NeedsReordering(const NpyHeader& header) {
  return header.fortran_order && header.shape.size() > 1;
}

// Where the elements, in C order, are in a file in Fortran order, whose first axis runs fastest.
class FortranOrder {
 public:
  explicit FortranOrder(const NpyHeader& header);
  int64_t Next();  // the place of the next element, from 0

 private:
  struct Axis {
    int64_t extent;
    int64_t stride;
    int64_t at;
  };
  std::vector<Axis> axes_;
  int64_t place_ = 0;
};

FortranOrder::FortranOrder(const NpyHeader& header) {
  int64_t stride = 1;
  for (int64_t extent : header.shape) {
    axes_.push_back({extent, stride, 0});
    stride *= extent;
  }
}

int64_t FortranOrder::Next() {
  const int64_t place = place_;
  for (size_t d = axes_.size(); d-- > 0;) {
    Axis& axis = axes_[d];
    place_ += axis.stride;
    if (++axis.at < axis.extent) break;
    place_ -= axis.stride * axis.extent;
    axis.at = 0;
  }
  return place;
}

// Whether the value converts without leaving To's range; a float that is finite stays finite.
template <typename To, typename From>
bool FitsIn(From value) {
  if constexpr (std::is_integral_v<To>) {
    return std::in_range<To>(value);
  } else if constexpr (std::is_same_v<From, double> && std::is_same_v<To, float>) {
    return !std::isfinite(value) || std::isfinite(static_cast<float>(value));
  } else {
    return true;
  }
}

template <typename To, typename From>
absl::Status Convert(const NpyHeader& header, const char* data, TypeId type, void* out) {
  To* to = static_cast<To*>(out);
  const bool reorder = NeedsReordering(header);
  if (std::is_same_v<To, From> && !reorder) {
    std::memcpy(out, data, static_cast<size_t>(header.elements) * sizeof(To));
    return absl::OkStatus();
  }
  FortranOrder order(header);
  bool fits = true;
  From culprit{};
  for (int64_t i = 0; i < header.elements; ++i) {
    const int64_t place = reorder ? order.Next() : i;
    From value;
    std::memcpy(&value, data + place * static_cast<int64_t>(sizeof(From)), sizeof(From));
    if (!FitsIn<To>(value) && fits) {
      fits = false;
      culprit = value;
    }
    to[i] = static_cast<To>(value);
  }
  if (fits) return absl::OkStatus();
  return SqlError(sqlstate::kNumericOutOfRange,
                  absl::StrCat(ToAbsl(TypeName(type)), " out of range: ", culprit));
}

template <typename From>
absl::Status ConvertNumbers(const NpyHeader& header, const char* data, TypeId type, void* out) {
  switch (type) {
    case TypeId::kFloat32:
      return Convert<float, From>(header, data, type, out);
    case TypeId::kFloat64:
      return Convert<double, From>(header, data, type, out);
    default:
      break;
  }
  if constexpr (std::is_integral_v<From>) {
    if (type == TypeId::kInt16) return Convert<int16_t, From>(header, data, type, out);
    if (type == TypeId::kInt32) return Convert<int32_t, From>(header, data, type, out);
    if (type == TypeId::kInt64) return Convert<int64_t, From>(header, data, type, out);
  }
  return SqlError(sqlstate::kDatatypeMismatch,
                  absl::StrCat("the array holds ", ToAbsl(NpyName(header.type)), ", the column ",
                               ToAbsl(TypeName(type))));
}

absl::Status ConvertBools(const NpyHeader& header, const char* data, TypeId type, void* out) {
  if (type != TypeId::kBool) {
    return SqlError(sqlstate::kDatatypeMismatch,
                    absl::StrCat("the array holds bool, the column ", ToAbsl(TypeName(type))));
  }
  ADJOIN_RETURN_IF_ERROR((Convert<uint8_t, uint8_t>(header, data, type, out)));
  uint8_t* values = static_cast<uint8_t*>(out);
  for (int64_t i = 0; i < header.elements; ++i) values[i] = values[i] != 0 ? 1 : 0;
  return absl::OkStatus();
}

absl::Status ConvertValues(const NpyHeader& header, const char* data, TypeId type, void* out) {
  switch (header.type) {
    case NpyType::kBool:
      return ConvertBools(header, data, type, out);
    case NpyType::kInt8:
      return ConvertNumbers<int8_t>(header, data, type, out);
    case NpyType::kInt16:
      return ConvertNumbers<int16_t>(header, data, type, out);
    case NpyType::kInt32:
      return ConvertNumbers<int32_t>(header, data, type, out);
    case NpyType::kInt64:
      return ConvertNumbers<int64_t>(header, data, type, out);
    case NpyType::kUInt8:
      return ConvertNumbers<uint8_t>(header, data, type, out);
    case NpyType::kUInt16:
      return ConvertNumbers<uint16_t>(header, data, type, out);
    case NpyType::kUInt32:
      return ConvertNumbers<uint32_t>(header, data, type, out);
    case NpyType::kUInt64:
      return ConvertNumbers<uint64_t>(header, data, type, out);
    case NpyType::kFloat32:
      return ConvertNumbers<float>(header, data, type, out);
    case NpyType::kFloat64:
      return ConvertNumbers<double>(header, data, type, out);
  }
  return absl::OkStatus();
}

absl::StatusOr<TableRef> ReadArray(std::string_view file, const Schema& schema,
                                   const std::shared_ptr<MemoryBudget>& budget) {
  ADJOIN_ASSIGN_OR_RETURN(const ArrayColumns array, ColumnsOfArray(schema));
  ADJOIN_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(file));
  if (header.shape.size() != array.axes.size()) {
    return SqlError(sqlstate::kBadCopyFileFormat,
                    absl::StrCat("it has ", header.shape.size(), " axes, the table ",
                                 array.axes.size(), " key columns"));
  }
  const int64_t n = header.elements;
  std::vector<ColumnRef> columns(schema.fields.size());
  int64_t stride = n;
  for (size_t d = 0; d < array.axes.size(); ++d) {
    const auto axis = static_cast<size_t>(array.axes[d]);
    stride = n == 0 ? 0 : stride / header.shape[d];
    ADJOIN_ASSIGN_OR_RETURN(columns[axis],
                            AxisColumn(schema.fields[axis], header.shape[d], stride, n, budget));
  }
  const TypeId type = schema.fields[static_cast<size_t>(array.value)].type;
  ADJOIN_ASSIGN_OR_RETURN(auto values, Buffer::Allocate(n * WidthOf(type), budget));
  ADJOIN_RETURN_IF_ERROR(
      ConvertValues(header, file.data() + header.data_offset, type, values->mutable_data()));
  columns[static_cast<size_t>(array.value)] =
      std::make_shared<const Column>(type, n, std::move(values), nullptr);
  std::optional<GridShape> grid;
  if (!schema.dims.empty() && n > 0) {
    grid = GridShape{std::vector<int64_t>(header.shape.size(), 0), header.shape};
  }
  return Table::MakeUnchecked(schema, std::move(columns), n, std::move(grid));
}

NpyType NpyTypeOf(TypeId type) {
  switch (type) {
    case TypeId::kBool:
      return NpyType::kBool;
    case TypeId::kInt16:
      return NpyType::kInt16;
    case TypeId::kInt32:
      return NpyType::kInt32;
    case TypeId::kInt64:
      return NpyType::kInt64;
    case TypeId::kFloat32:
      return NpyType::kFloat32;
    default:
      return NpyType::kFloat64;
  }
}

absl::Status NotAnArray(std::string_view why) {
  return SqlError(sqlstate::kInvalidParameterValue,
                  absl::StrCat("cannot write NPY: ", ToAbsl(why)));
}

// The extents of the array that `table` is, after checking that it is one.
absl::StatusOr<std::vector<int64_t>> ShapeOf(const Table& table, const ArrayColumns& array) {
  const Column& values = *table.column(array.value);
  const std::string& name = table.schema().fields[static_cast<size_t>(array.value)].name;
  if (!IsArrayType(values.type())) {
    return NotAnArray(
        absl::StrCat("column \"", name, "\" is of type ", ToAbsl(TypeName(values.type()))));
  }
  if (values.has_nulls()) return NotAnArray(absl::StrCat("column \"", name, "\" has NULLs"));
  if (array.axes.empty()) {
    if (table.num_rows() == 1) return std::vector<int64_t>();
    return NotAnArray(
        absl::StrCat("without key columns there must be one row, not ", table.num_rows()));
  }
  if (table.num_rows() == 0) return std::vector<int64_t>(array.axes.size(), 0);
  if (!table.grid().has_value()) return NotAnArray("the key columns do not form a grid");
  for (size_t d = 0; d < array.axes.size(); ++d) {
    const int64_t origin = table.grid()->origins[d];
    if (origin == 0) continue;
    const std::string& axis = table.schema().fields[static_cast<size_t>(array.axes[d])].name;
    return NotAnArray(absl::StrCat("column \"", axis, "\" starts at ", origin, ", not 0"));
  }
  return table.grid()->extents;
}

// `table` itself, or with all columns but the last as its key.
absl::StatusOr<TableRef> WithKey(const Table& table, const ArrayColumns& array,
                                 const std::shared_ptr<MemoryBudget>& budget) {
  Schema schema = table.schema();
  if (schema.dims.empty()) schema.dims = array.axes;
  if (table.grid().has_value() || schema.dims.empty()) {
    return Table::MakeUnchecked(std::move(schema), table.columns(), table.num_rows(), table.grid());
  }
  auto keyed = Table::Make(std::move(schema), table.columns(), table.num_rows(), budget);
  if (keyed.ok() || SqlStateOf(keyed.status()) == sqlstate::kOutOfMemory) return keyed;
  return NotAnArray(absl::StrCat(keyed.status().message(), " (", DetailOf(keyed.status()), ")"));
}

}  // namespace

absl::StatusOr<TableRef> ReadNpy(const std::string& path, const Schema& schema,
                                 std::shared_ptr<MemoryBudget> budget) {
  ADJOIN_ASSIGN_OR_RETURN(const auto file, InputFile::Open(path));
  auto table = ReadArray(file->bytes(), schema, budget);
  if (table.ok()) return table;
  return SqlErrorWithDetail(
      SqlStateOf(table.status()),
      absl::StrCat("could not read \"", path, "\" as NPY: ", table.status().message()),
      DetailOf(table.status()), HintOf(table.status()));
}

absl::Status WriteNpy(const Table& table, const std::string& path,
                      std::shared_ptr<MemoryBudget> budget) {
  ADJOIN_ASSIGN_OR_RETURN(const ArrayColumns array, ColumnsOfArray(table.schema()));
  ADJOIN_ASSIGN_OR_RETURN(const TableRef keyed, WithKey(table, array, budget));
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, ShapeOf(*keyed, array));
  const Column& values = *keyed->column(array.value);
  ADJOIN_ASSIGN_OR_RETURN(const auto file, OutputFile::Create(path));
  ADJOIN_RETURN_IF_ERROR(file->Write(MakeNpyHeader(NpyTypeOf(values.type()), shape)));
  const auto bytes = static_cast<size_t>(values.length() * WidthOf(values.type()));
  ADJOIN_RETURN_IF_ERROR(
      file->Write(std::string_view(static_cast<const char*>(values.data()), bytes)));
  return file->Commit();
}

}  // namespace adjoin
