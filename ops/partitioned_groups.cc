#include "ops/partitioned_groups.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/status.h"
#include "engine/task_pool.h"
#include "ops/batch.h"
#include "ops/rows_by_part.h"

namespace adjoin {
namespace {

constexpr int64_t kRowsAPiece = 65536;

// The groups of a block by their parts.
class GroupsByPart {
 public:
  explicit GroupsByPart(const Groups& groups)
      : keys_(groups.Keys(arena_)),
        by_part_(PartsOf(keys_, groups.size()).data(), groups.size(), kRowParts, arena_) {}
  std::span<const Vector> keys() const { return keys_; }
  std::span<const int32_t> Of(size_t part) const { return by_part_.Of(part); }

 private:
  static std::vector<uint8_t> PartsOf(std::span<const Vector> keys, int64_t n) {
    std::vector<uint8_t> parts(static_cast<size_t>(n));
    KeyHasher hasher;
    FindRowParts(keys, n, hasher, parts.data());
    return parts;
  }
  BatchArena arena_;
  const std::vector<Vector> keys_;
  const RowsByPart by_part_;
};

// One part's groups, while blocks are added to them.
class PartBuilder {
 public:
  // Room is made for `most_groups`: nine of ten rows were one when they were left.
  PartBuilder(const HashAggregateSpec& spec, size_t part, int64_t most_groups)
      : spec_(spec), part_(part), groups_(std::make_unique<Groups>(spec, /*ordered=*/true)) {
    groups_->Reserve(most_groups);
  }

  // `groups`: those of the block. Its first row is `base` among all.
  void Add(const BlockOfGroups& block, const GroupsByPart& groups, int64_t base) {
    GroupValues values(spec_, /*in_sequence=*/true);
    groups_of_block_.clear();
    AddGroups(*block.groups, groups, base, values);
    if (block.rows != nullptr) {
      block.rows->Read(
          part_, arena_, [&](std::span<const Vector> columns, int64_t* numbers, int64_t n) {
            for (int64_t r = 0; r < n; ++r) numbers[r] += base;
            const auto keys = columns.first(static_cast<size_t>(spec_.num_keys));
            values.Add(columns, NumberInBlock(groups_->Find(keys, numbers, n), values), n, arena_);
          });
    }
    groups_->values().Merge(values, nullptr, groups_of_block_.data(), std::ssize(groups_of_block_));
    for (int64_t group : groups_of_block_) number_[group] = -1;
  }
  int64_t bytes() const { return groups_->bytes(); }
  std::unique_ptr<Groups> Finish() {
    groups_->Finish(nullptr);
    return std::move(groups_);
  }

 private:
  void AddGroups(const Groups& from, const GroupsByPart& groups, int64_t base,
                 GroupValues& values) {
    constexpr size_t kChunk = 4096;
    std::vector<Vector> keys(groups.keys().size());
    for (std::span<const int32_t> ids = groups.Of(part_); !ids.empty();) {
      const std::span<const int32_t> some = ids.first(std::min(kChunk, ids.size()));
      const auto n = static_cast<int64_t>(some.size());
      ids = ids.subspan(some.size());
      arena_.Reset();
      for (size_t k = 0; k < keys.size(); ++k)
        keys[k] = Take(groups.keys()[k], some.data(), n, arena_);
      int64_t* order = arena_.Make<int64_t>(n);
      for (int64_t i = 0; i < n; ++i) order[i] = base + some[i];
      const int64_t* numbers = NumberInBlock(groups_->Find(keys, order, n), values);
      values.Merge(from.values(), some.data(), numbers, n);
    }
  }

  // What groups are among those that the block has, which `values` gets room for.
  const int64_t* NumberInBlock(std::span<const int64_t> groups, GroupValues& values) {
    number_.resize(static_cast<size_t>(groups_->size()), -1);
    int64_t* numbers = arena_.Make<int64_t>(std::ssize(groups));
    for (size_t r = 0; r < groups.size(); ++r) {
      int32_t& number = number_[groups[r]];
      if (number < 0) {
        number = static_cast<int32_t>(groups_of_block_.size());
        groups_of_block_.push_back(groups[r]);
      }
      numbers[r] = number;
    }
    values.Resize(std::ssize(groups_of_block_));
    return numbers;
  }

  const HashAggregateSpec& spec_;
  const size_t part_;
  std::unique_ptr<Groups> groups_;
  BatchArena arena_;
  std::vector<int64_t> groups_of_block_;  // in the order they came
  LargeVector<int32_t> number_;           // of groups in the block; -1: it has none such
};

// Vectors one after another.
class Pieces {
 public:
  // `coded`: text is codes, and stays so.
  Pieces(TypeId type, bool coded, int64_t n, BatchArena& arena)
      : arena_(arena), coded_(coded), n_(n), vector_{type} {
    width_ = coded ? int64_t{sizeof(int32_t)} : VectorWidth(type);
    values_ = static_cast<std::byte*>(arena.Allocate(n * width_));
    if (coded) {
      vector_.codes = reinterpret_cast<const int32_t*>(values_);
    } else {
      vector_.data = values_;
    }
  }
  void Append(const Vector& values, int64_t n) {
    const void* from = coded_ ? values.codes : WithViews(values, n, arena_).data;
    std::memcpy(values_ + size_ * width_, from, static_cast<size_t>(n * width_));
    if (coded_) vector_.column = values.column;
    if (values.valid != nullptr && valid_ == nullptr) {
      valid_ = arena_.Make<uint8_t>(n_);
      std::fill_n(valid_, n_, uint8_t{1});
      vector_.valid = valid_;
    }
    if (values.valid != nullptr) std::copy_n(values.valid, n, valid_ + size_);
    size_ += n;
  }
  const Vector& vector() const { return vector_; }

 private:
  BatchArena& arena_;
  const bool coded_;
  const int64_t n_;
  Vector vector_;
  int64_t width_;
  std::byte* values_;
  uint8_t* valid_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace

absl::StatusOr<PartitionedGroups> PartitionedGroups::Make(
    const HashAggregateSpec& spec, std::vector<std::unique_ptr<BlockOfGroups>> blocks,
    const RunState& run) {
  PartitionedGroups all;
  all.spec_ = &spec;
  all.parts_.resize(kRowParts);
  std::vector<std::unique_ptr<GroupsByPart>> groups(blocks.size());
  ADJOIN_RETURN_IF_ERROR(ForEachBlock(run.pool, std::ssize(blocks), [&](int64_t b) {
    groups[b] = std::make_unique<GroupsByPart>(*blocks[b]->groups);
    return absl::OkStatus();
  }));
  std::vector<int64_t> bases;
  int64_t num_rows = 0;
  for (const auto& block : blocks) {
    bases.push_back(num_rows);
    num_rows += block->num_rows;
  }
  all.charge_ = std::make_unique<BudgetCharge>(run.budget);
  ADJOIN_RETURN_IF_ERROR(all.charge_->Add(num_rows * int64_t{sizeof(uint16_t)}));
  all.part_of_row_.assign(static_cast<size_t>(num_rows), 0);
  const auto add_part = [&](int64_t p) -> absl::Status {
    if (run.control != nullptr) ADJOIN_RETURN_IF_ERROR(run.control->Check());
    Part& part = all.parts_[p];
    part.charge = std::make_unique<BudgetCharge>(run.budget);
    int64_t most = 0;  // groups, nearly
    for (size_t b = 0; b < blocks.size(); ++b) {
      most += std::ssize(groups[b]->Of(static_cast<size_t>(p)));
      if (blocks[b]->rows != nullptr) most += blocks[b]->rows->RowsOf(static_cast<size_t>(p));
    }
    PartBuilder builder(spec, static_cast<size_t>(p), most);
    for (size_t b = 0; b < blocks.size(); ++b) {
      builder.Add(*blocks[b], *groups[b], bases[b]);
      ADJOIN_RETURN_IF_ERROR(part.charge->GrowTo(builder.bytes()));
    }
    const int64_t bytes = builder.bytes();
    part.groups = builder.Finish();
    part.charge->Release(bytes - part.groups->bytes());
    for (int64_t row : part.groups->first_rows())
      all.part_of_row_[row] = static_cast<uint16_t>(p + 1);
    return absl::OkStatus();
  };
  ADJOIN_RETURN_IF_ERROR(ForEachBlock(run.pool, kRowParts, add_part));
  all.NumberPieces(num_rows);
  for (int c = 0; c < std::ssize(spec.schema.fields); ++c)
    all.dictionaries_.push_back(all.CommonDictionary(c));
  return all;
}

void PartitionedGroups::NumberPieces(int64_t num_rows) {
  Begin at{0, std::vector<int64_t>(parts_.size())};
  for (int64_t begin = 0; begin < num_rows; begin += kRowsAPiece) {
    begins_.push_back(at);
    const int64_t end = std::min(num_rows, begin + kRowsAPiece);
    for (int64_t row = begin; row < end; ++row) {
      if (part_of_row_[row] == 0) continue;
      ++at.of_part[part_of_row_[row] - 1];
      ++at.group;
    }
  }
  begins_.push_back(at);
}

absl::Status PartitionedGroups::Read(
    int64_t piece, absl::FunctionRef<void(int column, const Vector& values)> f) const {
  const Begin& from = begins_[static_cast<size_t>(piece)];
  const Begin& to = begins_[static_cast<size_t>(piece) + 1];
  const int64_t n = to.group - from.group;
  BatchArena place_arena, arena;
  // The parts' groups stand one part after another; rows[i] is where group i of the piece is.
  auto* rows = place_arena.Make<int32_t>(n);
  std::vector<int32_t> next(parts_.size());
  for (size_t p = 1; p < parts_.size(); ++p)
    next[p] = next[p - 1] + static_cast<int32_t>(to.of_part[p - 1] - from.of_part[p - 1]);
  int64_t i = 0;
  for (int64_t row = piece * kRowsAPiece; i < n; ++row) {
    if (part_of_row_[row] != 0) rows[i++] = next[part_of_row_[row] - 1]++;
  }
  for (int c = 0; c < std::ssize(spec_->schema.fields); ++c) {
    arena.Reset();
    Pieces all(spec_->schema.fields[static_cast<size_t>(c)].type, DictionaryOf(c) != nullptr, n,
               arena);
    for (size_t p = 0; p < parts_.size(); ++p) {
      const int64_t m = to.of_part[p] - from.of_part[p];
      if (m == 0) continue;
      ADJOIN_ASSIGN_OR_RETURN(const Vector values,
                              parts_[p].groups->Column(c, from.of_part[p], m, arena));
      all.Append(values, m);
    }
    f(c, Gather(all.vector(), rows, n, arena));
  }
  return absl::OkStatus();
}

std::shared_ptr<const Dictionary> PartitionedGroups::CommonDictionary(int column) const {
  std::shared_ptr<const Dictionary> dictionary;
  for (const Part& part : parts_) {
    if (part.groups->size() == 0) continue;
    std::shared_ptr<const Dictionary> of_part = part.groups->DictionaryOf(column);
    if (of_part == nullptr || (dictionary != nullptr && of_part != dictionary)) return nullptr;
    dictionary = std::move(of_part);
  }
  return dictionary;
}

}  // namespace adjoin
