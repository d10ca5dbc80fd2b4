// adjoin/table.h and adjoin/error.h over the engine's tables and statuses.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "adjoin/error.h"
#include "adjoin/table.h"
#include "engine/arrow.h"
#include "engine/status.h"
#include "engine/table.h"
#include "engine/text.h"
#include "sql/api_types.h"

namespace adjoin::api {

namespace {

absl::Status Invalid(std::string_view message) {
  return SqlError(sqlstate::kInvalidParameterValue, message);
}

template <typename T>
constexpr Type TypeOf() {
  if constexpr (std::is_same_v<T, uint8_t>) return Type::kBoolean;
  if constexpr (std::is_same_v<T, int16_t>) return Type::kSmallInt;
  if constexpr (std::is_same_v<T, int32_t>) return Type::kInteger;
  if constexpr (std::is_same_v<T, int64_t>) return Type::kBigInt;
  if constexpr (std::is_same_v<T, float>) return Type::kReal;
  if constexpr (std::is_same_v<T, Decimal>) return Type::kNumeric;
  return Type::kDouble;
}

// The type of the numbers that a column of a type holds: codes, days, microseconds.
Type HeldAs(Type type) {
  if (type == Type::kText || type == Type::kDate) return Type::kInteger;
  return type == Type::kTimestamp ? Type::kBigInt : type;
}

// Memory of tables that a program makes belongs to the program: not counted against a database's
// limit.
std::shared_ptr<MemoryBudget> OwnBudget() { return std::make_shared<MemoryBudget>(); }

absl::StatusOr<ColumnRef> BuildColumn(Type type, const void* values, int64_t length,
                                      std::span<const uint8_t> valid) {
  if (!valid.empty() && std::ssize(valid) != length) {
    return Invalid(absl::StrCat("validity of ", valid.size(), " rows beside ", length, " values"));
  }
  ColumnBuilder builder(ToEngine(type), OwnBudget());
  ADJOIN_RETURN_IF_ERROR(
      builder.AppendMany(values, valid.empty() ? nullptr : valid.data(), length));
  return builder.Finish();
}

// The product of the extents; an error where one is negative or the product does not fit.
absl::StatusOr<int64_t> NumCells(const std::vector<int64_t>& extents) {
  int64_t cells = 1;
  for (int64_t extent : extents) {
    if (extent < 0) return Invalid(absl::StrCat("an extent must not be negative: ", extent));
    if (__builtin_mul_overflow(cells, extent, &cells)) return Invalid("extents are too large");
  }
  return cells;
}

// The column with its values rounded to NUMERIC(p, s); itself where all are.
absl::StatusOr<ColumnRef> Rounded(ColumnRef column, NumericModifier modifier) {
  if (modifier.precision == 0) return column;
  ColumnBuilder builder(TypeId::kDecimal, OwnBudget());
  bool changed = false;
  for (int64_t row = 0; row < column->length(); ++row) {
    adjoin::Value value = column->value(row);
    if (!value.is_null()) {
      ADJOIN_ASSIGN_OR_RETURN(const adjoin::Decimal rounded,
                              adjoin::Rounded(value.as_decimal(), modifier));
      changed = changed || rounded.bits() != value.as_decimal().bits();
      value = adjoin::Value::Of(rounded);
    }
    ADJOIN_RETURN_IF_ERROR(builder.Append(value));
  }
  return changed ? builder.Finish() : column;
}

}  // namespace

std::string_view TypeName(Type type) { return adjoin::TypeName(ToEngine(type)); }

int Schema::Find(std::string_view name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

ColumnData::ColumnData(Type type, int64_t length, std::shared_ptr<const adjoin::Column> column)
    : type_(type), length_(length), column_(std::move(column)) {}

template <typename T>
absl::StatusOr<ColumnData> ColumnData::Copy(std::span<const T> values,
                                            std::span<const uint8_t> valid) {
  ADJOIN_ASSIGN_OR_RETURN(ColumnRef column,
                          BuildColumn(TypeOf<T>(), values.data(), std::ssize(values), valid));
  return ColumnData(TypeOf<T>(), std::ssize(values), std::move(column));
}

absl::StatusOr<ColumnData> ColumnData::CopyText(std::span<const std::string_view> values,
                                                std::span<const uint8_t> valid) {
  ADJOIN_ASSIGN_OR_RETURN(ColumnRef column,
                          BuildColumn(Type::kText, values.data(), std::ssize(values), valid));
  return ColumnData(Type::kText, std::ssize(values), std::move(column));
}

template <typename T>
ColumnData ColumnData::Borrow(std::span<const T> values, std::shared_ptr<const void> owner) {
  auto buffer =
      Buffer::Wrap(values.data(), static_cast<int64_t>(values.size_bytes()), std::move(owner));
  return ColumnData(TypeOf<T>(), std::ssize(values),
                    std::make_shared<Column>(ToEngine(TypeOf<T>()), std::ssize(values),
                                             std::move(buffer), nullptr));
}

absl::StatusOr<Table> Table::Make(Schema schema, std::vector<ColumnData> columns) {
  if (schema.fields.size() != columns.size()) {
    return Invalid(absl::StrCat(schema.fields.size(), " fields and ", columns.size(), " columns"));
  }
  std::vector<ColumnRef> data;
  const int64_t rows = columns.empty() ? 0 : columns[0].length();
  for (size_t i = 0; i < columns.size(); ++i) {
    const Field& field = schema.fields[i];
    const bool moments = field.type != Type::kText && columns[i].type() == HeldAs(field.type);
    if (columns[i].type() != field.type && !moments) {
      return Invalid(absl::StrCat("column \"", field.name, "\" is of type ",
                                  ToAbsl(TypeName(field.type)), " but its values are of type ",
                                  ToAbsl(TypeName(columns[i].type()))));
    }
    if (columns[i].length() != rows) {
      return Invalid(absl::StrCat("column \"", field.name, "\" has ", columns[i].length(),
                                  " values beside ", rows, " rows"));
    }
    ColumnRef column = columns[i].column_;
    if (columns[i].type() != field.type) {
      column = std::make_shared<const Column>(ToEngine(field.type), rows, column->values_buffer(),
                                              column->validity_buffer());
    }
    data.push_back(std::move(column));
  }
  ADJOIN_ASSIGN_OR_RETURN(adjoin::Schema engine_schema, ToEngine(schema));
  for (size_t i = 0; i < data.size(); ++i) {
    ADJOIN_ASSIGN_OR_RETURN(data[i], Rounded(std::move(data[i]), engine_schema.fields[i].modifier));
  }
  ADJOIN_ASSIGN_OR_RETURN(
      TableRef table,
      adjoin::Table::Make(std::move(engine_schema), std::move(data), rows, OwnBudget(), "table"));
  return Table(std::move(table));
}

absl::StatusOr<Table> Table::Grid(const std::vector<std::string>& dims,
                                  const std::vector<int64_t>& extents, ColumnData values,
                                  std::string value_name) {
  if (dims.size() != extents.size()) {
    return Invalid(absl::StrCat(dims.size(), " dims and ", extents.size(), " extents"));
  }
  if (!IsArrayType(ToEngine(values.type())))
    return Invalid("the values of a grid must be numbers or booleans");
  ADJOIN_ASSIGN_OR_RETURN(const int64_t rows, NumCells(extents));
  if (rows != values.length()) {
    return Invalid(
        absl::StrCat("the extents hold ", rows, " values, and there are ", values.length()));
  }
  Schema schema;
  std::vector<ColumnRef> columns;
  const auto budget = OwnBudget();
  int64_t inner = rows;
  for (size_t i = 0; i < dims.size(); ++i) {
    inner = extents[i] == 0 ? 0 : inner / extents[i];
    columns.push_back(std::make_shared<const Column>(
        TypeId::kInt64, rows, Column::Coordinates{0, extents[i], inner}, budget));
    schema.fields.push_back({dims[i], Type::kBigInt, true});
    schema.dims.push_back(static_cast<int>(i));
  }
  schema.fields.push_back({std::move(value_name), values.type(), false});
  columns.push_back(values.column_);
  ADJOIN_ASSIGN_OR_RETURN(adjoin::Schema engine_schema, ToEngine(schema));
  if (dims.empty())
    return Table(adjoin::Table::MakeUnchecked(std::move(engine_schema), std::move(columns), rows));
  GridShape grid{std::vector<int64_t>(dims.size(), 0), extents};
  return Table(adjoin::Table::MakeUnchecked(std::move(engine_schema), std::move(columns), rows,
                                            std::move(grid)));
}

Schema Table::schema() const { return impl_ == nullptr ? Schema{} : FromEngine(impl_->schema()); }
int64_t Table::num_rows() const { return impl_ == nullptr ? 0 : impl_->num_rows(); }
int Table::num_columns() const { return impl_ == nullptr ? 0 : impl_->num_columns(); }
std::string_view Table::column_name(int column) const {
  return impl_->schema().fields[static_cast<size_t>(column)].name;
}
Type Table::column_type(int column) const {
  return FromEngine(impl_->schema().fields[static_cast<size_t>(column)].type);
}
std::optional<std::vector<int64_t>> Table::grid_extents() const {
  if (impl_ == nullptr || !impl_->grid().has_value()) return std::nullopt;
  return impl_->grid()->extents;
}

template <typename T>
absl::StatusOr<std::span<const T>> Table::column_data(int column) const {
  if (column < 0 || column >= num_columns()) {
    return absl::OutOfRangeError(
        absl::StrCat("column is outside [0, ", num_columns(), "): ", column));
  }
  const Type type = column_type(column);
  if (HeldAs(type) != TypeOf<T>()) {
    return Invalid(absl::StrCat("column \"", ToAbsl(column_name(column)), "\" is of type ",
                                ToAbsl(TypeName(type)), ", not ", ToAbsl(TypeName(TypeOf<T>()))));
  }
  return std::span<const T>(impl_->column(column)->values<T>(), static_cast<size_t>(num_rows()));
}

std::span<const uint8_t> Table::validity(int column) const {
  const auto& buffer = impl_->column(column)->validity_buffer();
  if (buffer == nullptr) return {};
  return {buffer->as<uint8_t>(), static_cast<size_t>((num_rows() + 7) / 8)};
}
int64_t Table::null_count(int column) const { return impl_->column(column)->null_count(); }
bool Table::is_null(int64_t row, int column) const { return impl_->column(column)->is_null(row); }
Value Table::value(int64_t row, int column) const {
  return FromEngine(impl_->value(row, column), ToEngine(column_type(column)));
}
std::string_view Table::text(int64_t row, int column) const {
  return impl_->column(column)->text(row);
}
std::string Table::ToText(int64_t row, int column) const {
  return adjoin::ToText(impl_->value(row, column),
                        impl_->schema().fields[static_cast<size_t>(column)].type);
}

absl::StatusOr<Table> Table::FromArrow(ArrowSchema* schema, ArrowArray* array,
                                       const std::vector<std::string>& dims) {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef imported, ImportArrow(schema, array, OwnBudget()));
  Schema keyed = FromEngine(imported->schema());
  for (const std::string& dim : dims) {
    const int column = keyed.Find(dim);
    if (column < 0)
      return SqlError(sqlstate::kUndefinedColumn,
                      absl::StrCat("column \"", dim, "\" does not exist"));
    keyed.dims.push_back(column);
  }
  ADJOIN_ASSIGN_OR_RETURN(adjoin::Schema engine_schema, ToEngine(keyed));
  ADJOIN_ASSIGN_OR_RETURN(TableRef table,
                          adjoin::Table::Make(std::move(engine_schema), imported->columns(),
                                              imported->num_rows(), OwnBudget(), "table"));
  return Table(std::move(table));
}

absl::Status Table::ToArrow(ArrowSchema* schema, ArrowArray* array) const {
  if (impl_ == nullptr) return Invalid("a table without columns");
  return ExportArrow(impl_, OwnBudget(), schema, array);
}

#define ADJOIN_INSTANTIATE(T)                                                                 \
  template absl::StatusOr<ColumnData> ColumnData::Copy<T>(std::span<const T>,                 \
                                                          std::span<const uint8_t>);          \
  template ColumnData ColumnData::Borrow<T>(std::span<const T>, std::shared_ptr<const void>); \
  template absl::StatusOr<std::span<const T>> Table::column_data<T>(int) const;
ADJOIN_INSTANTIATE(uint8_t)
ADJOIN_INSTANTIATE(int16_t)
ADJOIN_INSTANTIATE(int32_t)
ADJOIN_INSTANTIATE(int64_t)
ADJOIN_INSTANTIATE(float)
ADJOIN_INSTANTIATE(double)
ADJOIN_INSTANTIATE(Decimal)
#undef ADJOIN_INSTANTIATE

}  // namespace adjoin::api
