#include "plan/pair_list.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/types.h"

namespace adjoin {
namespace {

// Integers less `low`, all of them in [low, high).
std::optional<std::vector<int32_t>> ValuesOf(const Column& column, int64_t low, int64_t high) {
  if (!IsInteger(column.type()) || column.has_nulls()) return std::nullopt;
  std::vector<int32_t> out(static_cast<size_t>(column.length()));
  bool inside = true;
  const auto read = [&](const auto* values) {
    for (size_t r = 0; r < out.size(); ++r) {
      const int64_t value = values[r];
      inside &= value >= low && value < high;
      out[r] = static_cast<int32_t>(value - low);
    }
  };
  if (column.type() == TypeId::kInt16) {
    read(column.values<int16_t>());
  } else if (column.type() == TypeId::kInt32) {
    read(column.values<int32_t>());
  } else {
    read(column.values<int64_t>());
  }
  return inside ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

struct PairList::Rows {
  std::vector<int32_t> a, b;
  size_t size() const { return a.size(); }
  std::pair<int32_t, int32_t> at(size_t row) const { return {a[row], b[row]}; }

  // Rows in the order of (a, b), equal ones as they come.
  std::vector<int32_t> Sorted() const {
    std::vector<int32_t> order(size());
    std::iota(order.begin(), order.end(), 0);
    const auto before = [this](int32_t r, int32_t q) {
      return at(static_cast<size_t>(r)) < at(static_cast<size_t>(q));
    };
    if (!std::is_sorted(order.begin(), order.end(), before))
      std::stable_sort(order.begin(), order.end(), before);
    return order;
  }

  // By row, the one that mirrors it; or a row that none does. The rows (b, ..) are met in the order
  // in which the rows (.., b) ask for them, so that each b needs to know no more than the next one.
  int64_t Match(int64_t extent, std::vector<int32_t>& mates) const {
    const std::vector<int32_t> order = Sorted();
    std::vector<int32_t> next(static_cast<size_t>(extent) + 1, 0);
    for (int32_t i : a) ++next[static_cast<size_t>(i) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    const std::vector<int32_t> begins = next;
    mates.assign(size(), -1);
    for (int32_t row : order) {
      const auto [i, j] = at(static_cast<size_t>(row));
      int32_t& mate = mates[static_cast<size_t>(row)];
      if (i == j) mate = row;
      if (i < j) {
        int32_t& candidate = next[static_cast<size_t>(j)];
        if (candidate == begins[static_cast<size_t>(j) + 1]) return row;
        const int32_t found = order[static_cast<size_t>(candidate++)];
        if (b[static_cast<size_t>(found)] != i)
          return b[static_cast<size_t>(found)] < i ? found : row;
        mate = found;
        mates[static_cast<size_t>(found)] = row;
      }
      if (mate < 0) return row;
    }
    return -1;
  }
};

bool PairList::Build(const Rows& rows, int64_t extent,
                     const std::shared_ptr<MemoryBudget>& budget) {
  std::vector<int32_t> mates;
  lone_row_ = rows.Match(extent, mates);
  if (!is_symmetric()) return true;
  for (size_t r = 0; r < rows.size(); ++r) length_ += mates[r] >= static_cast<int32_t>(r) ? 1 : 0;
  std::array<int32_t*, kParts> to;
  for (size_t p = 0; p < kParts; ++p) {
    auto buffer = Buffer::Allocate(length_ * static_cast<int64_t>(sizeof(int32_t)), budget);
    if (!buffer.ok()) return false;
    to[p] = (*buffer)->mutable_as<int32_t>();
    parts_[p] = std::make_shared<Column>(TypeId::kInt32, length_, *std::move(buffer), nullptr);
  }
  const auto end = static_cast<int32_t>(extent);
  std::vector<int32_t> met(rows.size());  // by row: its pair
  std::vector<int32_t> last_a(static_cast<size_t>(extent), -1), last_b = last_a;
  const auto is_later = [](int32_t pair, int32_t& last) {
    return std::exchange(last, pair) <= pair;
  };
  keeps_order_ = true;
  int64_t pair = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    const int32_t row = static_cast<int32_t>(r), mate = mates[r];
    const auto [i, j] = rows.at(r);
    if (mate >= row) {
      const std::array<int32_t, kParts> values = {
          row, mate, i, j, mate == row ? end : i, mate == row ? end : j};
      for (size_t p = 0; p < kParts; ++p) to[p][pair] = values[p];
      met[r] = met[static_cast<size_t>(mate)] = static_cast<int32_t>(pair++);
    }
    keeps_order_ &= is_later(met[r], last_a[static_cast<size_t>(i)]);
    keeps_order_ &= is_later(met[r], last_b[static_cast<size_t>(j)]);
  }
  return true;
}

std::shared_ptr<const PairList> PairList::Of(const ColumnRef& first, const ColumnRef& second,
                                             int64_t low, int64_t high,
                                             const std::shared_ptr<MemoryBudget>& budget,
                                             ColumnCache* cache) {
  constexpr int64_t kMost = INT32_MAX;
  if (first->length() >= kMost || high - low >= kMost) return nullptr;
  const std::string what = absl::StrCat("pairs ", low, " ", high);
  const std::array<ColumnRef, 2> columns = {first, second};
  if (cache != nullptr) {
    if (auto known = cache->Find(what, columns))
      return std::static_pointer_cast<const PairList>(std::move(known));
  }
  auto a = ValuesOf(*first, low, high), b = ValuesOf(*second, low, high);
  if (!a || !b) return nullptr;
  auto made = std::make_shared<PairList>();
  if (!made->Build({*std::move(a), *std::move(b)}, high - low, budget)) return nullptr;
  if (cache != nullptr) cache->Keep(what, columns, made);
  return made;
}

int64_t PairList::bytes() const {
  return is_symmetric() ? static_cast<int64_t>(kParts * sizeof(int32_t)) * length_ : 0;
}

}  // namespace adjoin
