#include "ops/percentile.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/large_vector.h"
#include "ops/ordered_bits.h"
#include "ops/taken_rows.h"

namespace adjoin {
namespace {

// Where the value at a share of the way from the first to the last of `n` is: beyond the `first`
// by the `rest` of the way to the next.
struct Place {
  Place(double share, int64_t n) {
    const double place = share * (static_cast<double>(n) - 1);
    first = static_cast<int64_t>(std::floor(place));
    rest = place - std::floor(place);
  }
  int64_t first;
  double rest;
};

class Percentile final : public Accumulator {
 public:
  Percentile(bool descending, std::pmr::memory_resource* memory)
      : flip_(descending ? ~uint64_t{0} : 0),
        memory_(memory),
        codes_(LargeAllocator<uint64_t>(memory)),
        groups_(LargeAllocator<uint32_t>(memory)) {}
  void Resize(int64_t groups) override { num_groups_ = groups; }
  void Update(std::span<const Vector> args, const uint8_t* take, const int64_t* groups,
              int64_t n) override {
    const auto* x = args[0].as<double>();
    const auto* share = args[1].as<double>();
    ForEachTaken(args.data(), take, groups, n, [&](int64_t r, int64_t g) {
      share_ = share[r];
      codes_.push_back(OrderedBits(x[r]) ^ flip_);
      groups_.push_back(static_cast<uint32_t>(g));
    });
  }
  void Merge(const Accumulator& other, const int32_t* from, const int64_t* to, int64_t n) override {
    const auto& part = static_cast<const Percentile&>(other);
    if (!part.codes_.empty()) share_ = part.share_;
    if (from == nullptr) {
      codes_.insert(codes_.end(), part.codes_.begin(), part.codes_.end());
      for (uint32_t g : part.groups_)
        groups_.push_back(to == nullptr ? g : static_cast<uint32_t>(to[g]));
      return;
    }
    std::vector<int64_t> here(static_cast<size_t>(part.num_groups_), -1);
    for (int64_t i = 0; i < n; ++i) here[from[i]] = to == nullptr ? i : to[i];
    for (size_t i = 0; i < part.codes_.size(); ++i) {
      const int64_t group = here[part.groups_[i]];
      if (group < 0) continue;
      codes_.push_back(part.codes_[i]);
      groups_.push_back(static_cast<uint32_t>(group));
    }
  }
  // Codes go to their groups' places by counting.
  void Finish(TaskPool* pool) override {
    std::vector<int64_t> ends(static_cast<size_t>(num_groups_) + 1);  // in the end
    for (uint32_t g : groups_) ++ends[g + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    LargeVector<uint64_t> by_group(codes_.size(), LargeAllocator<uint64_t>(memory_));
    for (size_t i = 0; i < codes_.size(); ++i) by_group[ends[groups_[i]]++] = codes_[i];
    codes_ = {}, groups_ = {};
    values_.resize(static_cast<size_t>(num_groups_));
    has_.resize(static_cast<size_t>(num_groups_));
    constexpr int64_t kGroupsATask = 1024;
    const auto pick = [&](int64_t task) {
      const int64_t last = std::min(num_groups_, (task + 1) * kGroupsATask);
      for (int64_t g = task * kGroupsATask; g < last; ++g) {
        const int64_t begin = g == 0 ? 0 : ends[g - 1];
        if (begin == ends[g]) continue;
        has_[g] = 1;
        values_[g] = Pick({by_group.data() + begin, by_group.data() + ends[g]});
      }
      return absl::OkStatus();
    };
    const int64_t tasks = (num_groups_ + kGroupsATask - 1) / kGroupsATask;
    ForEachBlock(pool, tasks, pick).IgnoreError();
  }
  absl::StatusOr<Vector> Result(int64_t begin, int64_t, BatchArena&) const override {
    return Vector{TypeId::kFloat64, values_.data() + begin, has_.data() + begin};
  }
  // With what Finish takes.
  int64_t bytes() const override {
    const int64_t of_groups =
        num_groups_ * static_cast<int64_t>(sizeof(int64_t) + sizeof(double) + 1);
    if (memory_ != nullptr) return of_groups;
    return of_groups + static_cast<int64_t>(codes_.capacity() * sizeof(uint64_t) +
                                            groups_.capacity() * sizeof(uint32_t) +
                                            codes_.size() * sizeof(uint64_t));
  }

 private:
  // Leaves the codes in another order. REQUIRES: there are some.
  double Pick(std::span<uint64_t> codes) const {
    const Place place(share_, std::ssize(codes));
    const auto at = codes.begin() + place.first;
    std::nth_element(codes.begin(), at, codes.end());
    const double low = OfOrderedBits(*at ^ flip_);
    if (place.rest == 0) return low;
    const double high = OfOrderedBits(*std::min_element(at + 1, codes.end()) ^ flip_);
    return low + place.rest * (high - low);
  }

  const uint64_t flip_;
  std::pmr::memory_resource* const memory_;  // may be null
  double share_ = 0;                         // set where there are codes
  int64_t num_groups_ = 0;
  LargeVector<uint64_t> codes_;   // of the values that count
  LargeVector<uint32_t> groups_;  // of codes_
  std::vector<double> values_;    // by group, once finished
  std::vector<uint8_t> has_;
};

}  // namespace

std::unique_ptr<Accumulator> MakePercentile(bool descending, std::pmr::memory_resource* memory) {
  return std::make_unique<Percentile>(descending, memory);
}

}  // namespace adjoin
