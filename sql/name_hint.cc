#include "sql/name_hint.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace adjoin {
namespace {

constexpr int kMaxDistance = 3;

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

struct Candidate {
  const RangeVariable* range;
  const RangeColumn* column;
};

}  // namespace

std::string SimilarColumnHint(const Names& names, std::string_view range, std::string_view column) {
  int best = kMaxDistance + 1;
  std::vector<Candidate> candidates;
  for (const RangeVariable& r : names.ranges) {
    if (r.name.empty()) continue;
    const int penalty = range.empty() ? 0 : EditDistance(range, r.name);
    for (const RangeColumn& c : r.columns) {
      const int distance = EditDistance(column, c.name);
      if (distance > static_cast<int>(column.size()) / 2 || distance + penalty > best) continue;
      if (distance + penalty < best) candidates.clear();
      best = distance + penalty;
      candidates.push_back({&r, &c});
    }
  }
  if (best > kMaxDistance || candidates.empty() || candidates.size() > 2) return "";
  std::string out = "Perhaps you meant to reference ";
  for (size_t i = 0; i < candidates.size(); ++i) {
    absl::StrAppend(&out, i == 0 ? "" : " or ", "the column \"", candidates[i].range->name, ".",
                    candidates[i].column->name, "\"");
  }
  return out + ".";
}

}  // namespace adjoin
