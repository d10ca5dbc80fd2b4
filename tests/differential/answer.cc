#include "tests/differential/answer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/date_time.h"
#include "engine/decimal.h"

namespace adjoin {
namespace {

using Row = std::vector<std::optional<std::string>>;

std::string RowText(const Row& row) {
  return absl::StrJoin(row, " | ", [](std::string* out, const std::optional<std::string>& v) {
    absl::StrAppend(out, v.has_value() ? *v : "NULL");
  });
}

// Differences that README.md's "Conventions" describe, by PostgreSQL's error or ours.
struct Explained {
  bool ours;  // which side fails
  const char* sqlstate;
  const char* message_part;
  const char* reason;
};
constexpr Explained kExplained[] = {
    {false, "22003", "value out of range: overflow", "floating overflow is an infinity"},
    {false, "22003", "value out of range: underflow", "floating underflow is 0"},
    {true, "22003", "value overflows numeric format", "a NUMERIC has 36 digits here"},
    {false, "42804", "could not determine polymorphic type", "a string literal alone is TEXT here"},
    {false, "0A000", "cannot convert infinity to", "constants fail where a row needs them"},
    {false, "0A000", "FULL JOIN is only supported with", "PostgreSQL lacks other FULL JOINs"},
};

const char* ExplainedFailure(const Answer& failed, bool ours) {
  for (const Explained& known : kExplained) {
    if (known.ours == ours && failed.sqlstate == known.sqlstate &&
        absl::StrContains(failed.message, known.message_part)) {
      return known.reason;
    }
  }
  return nullptr;
}

bool IsData(const Answer& answer) { return absl::StartsWith(answer.sqlstate, "22"); }

Verdict CompareFailures(const Answer& ours, const Answer& postgres, std::string& why) {
  why = postgres.sqlstate;
  if (ours.sqlstate == "0A000") {
    if (postgres.sqlstate != "0A000") why = ours.message;
    return postgres.sqlstate == "0A000" ? Verdict::kBothFail : Verdict::kNotSupported;
  }
  // Which of several rows fails first is open.
  if (ours.sqlstate == postgres.sqlstate || (IsData(ours) && IsData(postgres))) {
    return Verdict::kBothFail;
  }
  const bool ours_alone = ours.failed();
  const char* reason = nullptr;
  if (!(ours.failed() && postgres.failed())) {
    reason = ExplainedFailure(ours_alone ? ours : postgres, ours_alone);
  }
  why = reason != nullptr
            ? reason
            : absl::StrCat("ours: ", ours.failed() ? ours.message : "no error", " [", ours.sqlstate,
                           "]; PostgreSQL: ", postgres.failed() ? postgres.message : "no error");
  return reason != nullptr ? Verdict::kExplained : Verdict::kDifferent;
}

bool IsFloat(const std::string& type) { return type == "double precision" || type == "real"; }

bool SameValue(const std::optional<std::string>& a, const std::optional<std::string>& b,
               const std::string& type) {
  if (a == b) return true;
  if (!a.has_value() || !b.has_value() || !IsFloat(type)) return false;
  const double x = std::strtod(a->c_str(), nullptr);
  const double y = std::strtod(b->c_str(), nullptr);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) return x == y;
  const double tolerance = type == "real" ? 1e-6 : 1e-9;
  return std::abs(x - y) <= tolerance * std::max({std::abs(x), std::abs(y), 1e-3});
}

bool SameRow(const Row& a, const Row& b, const std::vector<std::string>& types) {
  for (size_t c = 0; c < types.size(); ++c) {
    if (!SameValue(a[c], b[c], types[c])) return false;
  }
  return true;
}

// Floats that agree within the tolerance alone must sort alike, so rows sort by the rest first,
// then by floats of nine digits, and by all of their digits where these are the same.
void SortRows(std::vector<Row>& rows, const std::vector<std::string>& types) {
  const auto text = [&](const Row& row) {
    Row out;
    for (size_t c = 0; c < types.size(); ++c) {
      if (!IsFloat(types[c])) out.push_back(row[c]);
    }
    return out;
  };
  const auto floats = [&](const Row& row, bool rounded) {
    std::vector<double> out;
    for (size_t c = 0; c < types.size(); ++c) {
      if (!IsFloat(types[c])) continue;
      const double value = row[c].has_value() ? std::strtod(row[c]->c_str(), nullptr) + 0.0 : 0;
      out.push_back(!row[c].has_value() ? 0 : std::isnan(value) ? 1 : 2);
      if (out.back() != 2) continue;
      out.push_back(rounded ? std::strtod(absl::StrFormat("%.9g", value).c_str(), nullptr) : value);
    }
    return out;
  };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const Row left = text(a), right = text(b);
    if (left != right) return left < right;
    const auto x = floats(a, true), y = floats(b, true);
    return x != y ? x < y : floats(a, false) < floats(b, false);
  });
}

// Equal intervals and equal NUMERICs print in several ways, and which of them a MIN or a group
// shows is open: one way for all.
std::string OneText(const std::string& text, const std::string& type) {
  if (type == "interval") {
    const absl::StatusOr<Interval> interval = ParseInterval(text);
    if (!interval.ok()) return text;
    const __int128 span = interval->span();
    return absl::StrCat(static_cast<int64_t>(span / kMicrosecondsPerDay), " days ",
                        static_cast<int64_t>(span % kMicrosecondsPerDay), " us");
  }
  if (type == "numeric") {
    const absl::StatusOr<Decimal> decimal = ParseDecimal(text);
    return decimal.ok() ? ToText(Normalized(*decimal)) : text;
  }
  return text;
}

std::vector<Row> WithOneText(std::vector<Row> rows, const std::vector<std::string>& types) {
  for (Row& row : rows) {
    for (size_t c = 0; c < types.size(); ++c) {
      if (row[c].has_value()) row[c] = OneText(*row[c], types[c]);
    }
  }
  return rows;
}

}  // namespace

std::string Answer::ToString() const {
  if (failed()) return absl::StrCat("  ", sqlstate, " ", message, "\n");
  std::string out = absl::StrCat("  ", absl::StrJoin(types, " | "), "\n");
  constexpr size_t kShown = 30;
  for (size_t r = 0; r < std::min(rows.size(), kShown); ++r) {
    absl::StrAppend(&out, "  ", RowText(rows[r]), "\n");
  }
  if (rows.size() > kShown) absl::StrAppend(&out, "  ... ", rows.size(), " rows\n");
  return out;
}

Verdict Compare(const Answer& ours, const Answer& postgres, bool ordered, std::string& why) {
  if (ours.failed() || postgres.failed()) return CompareFailures(ours, postgres, why);
  if (ours.types != postgres.types) {
    why = absl::StrCat("types: ", absl::StrJoin(ours.types, ", "), " against ",
                       absl::StrJoin(postgres.types, ", "));
    return Verdict::kDifferent;
  }
  if (ours.rows.size() != postgres.rows.size()) {
    why = absl::StrCat(ours.rows.size(), " rows against ", postgres.rows.size());
    return Verdict::kDifferent;
  }
  std::vector<Row> left = WithOneText(ours.rows, ours.types);
  std::vector<Row> right = WithOneText(postgres.rows, ours.types);
  if (!ordered) {
    SortRows(left, ours.types);
    SortRows(right, ours.types);
  }
  for (size_t r = 0; r < left.size(); ++r) {
    if (SameRow(left[r], right[r], ours.types)) continue;
    why = absl::StrCat("row ", RowText(left[r]), " against ", RowText(right[r]));
    return Verdict::kDifferent;
  }
  return Verdict::kSame;
}

}  // namespace adjoin
