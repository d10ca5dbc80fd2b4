// Tables as a program sees them: results read in place, and inputs made from a program's own
// arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// The Arrow C data interface's structs; a program that exchanges Arrow data has their definitions.
struct ArrowSchema;
struct ArrowArray;

namespace adjoin {
class Table;  // the engine's own
class Column;
}  // namespace adjoin

namespace adjoin::api {

// The SQL types, and what column_data gives for each: uint8_t (0 or 1), int16_t, int32_t, int64_t,
// float, double, for TEXT int32_t codes into a dictionary (use Table::text), for DATE int32_t days
// and for TIMESTAMP int64_t microseconds since 1970-01-01, for NUMERIC Decimal; INTERVAL is read by
// value() or ToText().
enum class Type : uint8_t {
  kBoolean,
  kSmallInt,
  kInteger,
  kBigInt,
  kReal,
  kDouble,
  kText,
  kDate,
  kTimestamp,
  kInterval,
  kNumeric
};

// PostgreSQL's name: "boolean", "double precision", "timestamp without time zone", ...
std::string_view TypeName(Type type);

// One SQL value; monostate is NULL. Integers of every width are int64_t, REAL and DOUBLE PRECISION
// are double; dates, timestamps, intervals and NUMERIC are what PostgreSQL prints.
using Value = std::variant<std::monostate, bool, int64_t, double, std::string>;

__extension__ using Int128 = __int128;

// A NUMERIC in a column: coefficient() / 10^scale(). Values of NUMERIC(p, s) have the scale s.
struct [[gnu::may_alias]] Decimal {
  uint64_t low = 0;
  int64_t high = 0;
  // REQUIRES: a coefficient of at most 36 digits, 0 <= scale <= 60.
  static Decimal Of(Int128 coefficient, int scale) {
    const Int128 bits = coefficient * 64 + scale;
    return {static_cast<uint64_t>(bits), static_cast<int64_t>(bits >> 64)};
  }
  Int128 coefficient() const { return (static_cast<Int128>(high) << 64 | low) >> 6; }
  int scale() const { return static_cast<int>(low & 63); }
};

struct Field {
  std::string name;
  Type type = Type::kDouble;
  bool not_null = false;
  int precision = 0, scale = 0;  // of NUMERIC(precision, scale); 0: any
  friend bool operator==(const Field&, const Field&) = default;
};

// Columns in order, and the positions of those that form the PRIMARY KEY (the dims), in key order.
struct Schema {
  std::vector<Field> fields;
  std::vector<int> dims;
  int Find(std::string_view name) const;  // -1 where absent
  friend bool operator==(const Schema&, const Schema&) = default;
};

// The values of one column of a table to be made. Copies or borrows the caller's array.
class ColumnData {
 public:
  // Copies `values`. `valid` is one byte a row, 0 where the value is NULL; empty: no NULLs. T is
  // uint8_t (BOOLEAN), int16_t, int32_t, int64_t, float, double or Decimal.
  template <typename T>
  static absl::StatusOr<ColumnData> Copy(std::span<const T> values,
                                         std::span<const uint8_t> valid = {});
  static absl::StatusOr<ColumnData> CopyText(std::span<const std::string_view> values,
                                             std::span<const uint8_t> valid = {});

  // Uses `values` in place, without NULLs, for as long as a table made of it lives; `owner` (may be
  // null) is released then. T as in Copy. REQUIRES: nobody writes to the array meanwhile, and 64
  // readable bytes follow its end.
  template <typename T>
  static ColumnData Borrow(std::span<const T> values, std::shared_ptr<const void> owner);

  Type type() const { return type_; }
  int64_t length() const { return length_; }

 private:
  friend class Table;
  ColumnData(Type type, int64_t length, std::shared_ptr<const adjoin::Column> column);
  Type type_;
  int64_t length_;
  std::shared_ptr<const adjoin::Column> column_;
};

// A relation: immutable rows. A cheap handle on shared data: copying copies a pointer, and what it
// points to lives as long as any handle. Thread-safe. A default-made Table has no columns and no
// rows.
class Table {
 public:
  Table() = default;

  // A table of `columns`, which have equal lengths and the types of `schema`; a DATE takes int32_t
  // days, a TIMESTAMP int64_t microseconds. Rows whose dims are integers that cover a full box are
  // kept as a grid, sorted by dims. Values of NUMERIC(p, s) are rounded to it. Errors:
  // InvalidArgument for a type or length that does not fit; 22003 for a NUMERIC that does not;
  // 23505 for two rows of one key; 23502 for a NULL in a dim or NOT NULL column.
  static absl::StatusOr<Table> Make(Schema schema, std::vector<ColumnData> columns);

  // An n-dimensional array as a table: BIGINT dims named `dims` that run over 0 .. extents[i]-1,
  // and one value column named `value_name` of extents' product elements in row-major order. The
  // value column is used as it is (zero-copy when borrowed). No dims: one row. Errors:
  // InvalidArgument where sizes differ or an extent is negative, or for TEXT.
  static absl::StatusOr<Table> Grid(const std::vector<std::string>& dims,
                                    const std::vector<int64_t>& extents, ColumnData values,
                                    std::string value_name = "val");

  // Takes over an Arrow struct array (one child a column), without copying where layouts agree;
  // both structs are released, now or with the last handle. `dims` names the key columns. Errors:
  // InvalidArgument for an Arrow type that is no SQL type here; 23505, 23502 as Make.
  static absl::StatusOr<Table> FromArrow(ArrowSchema* schema, ArrowArray* array,
                                         const std::vector<std::string>& dims);

  // Fills both structs (the caller's memory, contents overwritten); the consumer calls their
  // release callbacks. Numbers are shared, booleans copied into bits, TEXT is dictionary-encoded.
  absl::Status ToArrow(ArrowSchema* schema, ArrowArray* array) const;

  Schema schema() const;
  int64_t num_rows() const;
  int num_columns() const;
  std::string_view column_name(int column) const;
  Type column_type(int column) const;

  // The extents of the dims where the rows form a full box in row-major order of the dims; else
  // nothing.
  std::optional<std::vector<int64_t>> grid_extents() const;

  // The num_rows() values of a column in place; valid while this handle or a copy lives. The value
  // under a NULL is unspecified. Errors: InvalidArgument where T is not the column's type,
  // OutOfRange for the column.
  template <typename T>
  absl::StatusOr<std::span<const T>> column_data(int column) const;

  // Arrow's bitmap, least significant bit first, 0 for NULL; empty where the column has no NULLs.
  std::span<const uint8_t> validity(int column) const;
  int64_t null_count(int column) const;

  // One value. REQUIRES: 0 <= row < num_rows(), 0 <= column < num_columns(), and for text() a TEXT
  // column.
  bool is_null(int64_t row, int column) const;
  Value value(int64_t row, int column) const;
  std::string_view text(int64_t row, int column) const;  // valid while this handle or a copy lives
  std::string ToText(int64_t row, int column) const;     // as PostgreSQL prints it; NULL: empty

  // For the library itself.
  explicit Table(std::shared_ptr<const adjoin::Table> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const adjoin::Table>& impl() const { return impl_; }

 private:
  std::shared_ptr<const adjoin::Table> impl_;
};

}  // namespace adjoin::api
