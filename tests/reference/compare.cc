#include "tests/reference/compare.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace adjoin::reference {
namespace {

std::string ValueText(const Value& value, TypeId type) {
  if (value.is_null()) return "NULL";
  return type == TypeId::kText ? absl::StrCat("'", value.as_text(), "'") : ToText(value, type);
}

bool Close(double a, double b, double margin) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= margin;
}

bool Same(const Value& a, const Value& b, double margin) {
  if (a.is_null() || b.is_null()) return a.is_null() && b.is_null();
  if (a.is_float() && b.is_float()) return Close(a.as_float(), b.as_float(), margin);
  return a == b;
}

// The largest finite absolute value of a column.
double Scale(const Rows& rows, size_t column) {
  double scale = 1;
  for (const Row& row : rows) {
    const Value& v = row[column];
    if (v.is_float() && std::isfinite(v.as_float()))
      scale = std::max(scale, std::fabs(v.as_float()));
  }
  return scale;
}

}  // namespace

std::string CompareRows(const Rows& expected, const Rows& actual, const std::vector<TypeId>& types,
                        double tolerance) {
  if (expected.size() != actual.size()) {
    return absl::StrCat(actual.size(), " rows instead of ", expected.size());
  }
  for (size_t c = 0; c < types.size(); ++c) {
    const double margin =
        Scale(expected, c) * (types[c] == TypeId::kFloat32 ? std::max(tolerance, 1e-4) : tolerance);
    for (size_t r = 0; r < expected.size(); ++r) {
      if (actual[r].size() != types.size())
        return absl::StrCat("row ", r, " has ", actual[r].size(), " columns");
      if (Same(expected[r][c], actual[r][c], margin)) continue;
      return absl::StrCat("row ", r, ", column ", c, ": ", ValueText(actual[r][c], types[c]),
                          " instead of ", ValueText(expected[r][c], types[c]));
    }
  }
  return "";
}

std::string RowsText(const Rows& rows, const std::vector<TypeId>& types) {
  std::string text;
  for (const Row& row : rows) {
    for (size_t c = 0; c < row.size(); ++c)
      absl::StrAppend(&text, c == 0 ? "" : " | ", ValueText(row[c], types[c]));
    text += "\n";
  }
  return text;
}

}  // namespace adjoin::reference
