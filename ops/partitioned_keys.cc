#include "ops/partitioned_keys.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "engine/budget_charge.h"
#include "engine/status.h"
#include "ops/batch.h"

namespace adjoin {
namespace {

constexpr int64_t kBlockRows = int64_t{1} << 16;
constexpr int64_t kChunk = 4096;  // rows packed and hashed at once
// A part of 2^15 rows has 768 KiB of words and slots at most; more parts than 256 write to more
// pages at once than the TLB holds.
constexpr int kPartRowBits = 15;
constexpr int kMostPartBits = 8;

}  // namespace

// Building, ms by a table and by parts (bench/join_index_bench, AVX-512, as many different keys as
// two thirds of the rows):
//                       one thread           two threads
//     rows          BIGINT    two keys     BIGINT   two keys
//     3e5            17, 7      13, 8      14, 8      6, 5
//     1e6           26, 29     23, 34     24, 16    23, 26
//     1e7          460, 490   520, 655   304, 193   330, 225
// Of TEXT finding the strings' codes is nearly all: 2.33 s and 2.21 of 1e7 rows on two threads.
int64_t FewestPartitionedRows(int threads) {
  return threads > 1 ? int64_t{1} << 20 : std::numeric_limits<int64_t>::max();
}

class PartitionedBuild {
 public:
  PartitionedBuild(std::span<const Vector> keys, const uint8_t* valid_rows, int64_t n,
                   TaskPool* pool, const std::shared_ptr<MemoryBudget>& budget, KeyTable& table)
      : keys_(keys),
        valid_rows_(valid_rows),
        n_(n),
        pool_(pool),
        budget_(budget),
        table_(table),
        part_bits_(std::clamp<int>(std::bit_width(static_cast<uint64_t>(n) >> kPartRowBits), 1,
                                   kMostPartBits)),
        charge_(budget),
        numbered_(size_t{1} << part_bits_) {}

  absl::StatusOr<NumberedRows> Run() {
    codes_ = table_.ExpectAll(keys_, n_);
    const int64_t coded = std::ssize(codes_) - std::count(codes_.begin(), codes_.end(), nullptr);
    ADJOIN_RETURN_IF_ERROR(charge_.Add((8 * table_.num_words_ + 4 * coded) * n_));
    CutRows();
    ADJOIN_RETURN_IF_ERROR(NumberPieces());
    JoinPieces();
    const int64_t size = numbered_.num_ids();
    ADJOIN_RETURN_IF_ERROR(charge_.Add(8 * size * table_.num_words_ + 32 * size));
    CopyStored();
    words_.clear(), pieces_.clear();
    table_.scratch_ = {};  // the codes of all rows
    table_.IndexParts(numbered_.id_begins, part_bits_, pool_);
    return std::move(numbered_);
  }

 private:
  // Keys of rows that are in one part. Most parts have one piece.
  struct Piece {
    NumberedRows::Piece rows;
    KeyTable table;
    std::vector<int64_t> ids = {};  // by id of `table`: in the table of the part's first piece
    std::unique_ptr<BudgetCharge> charge = nullptr;
  };

  // Calls f(first row, how many, their words and hashes).
  template <typename F>
  void ForEachChunk(int64_t begin, int64_t end, F&& f) const {
    KeyScratch scratch;
    std::vector<Vector> slices(keys_.size());
    std::vector<const int32_t*> codes(keys_.size());
    for (int64_t at = begin; at < end; at += kChunk) {
      const int64_t m = std::min(kChunk, end - at);
      for (size_t k = 0; k < keys_.size(); ++k) {
        slices[k] = Slice(keys_[k], at);
        codes[k] = codes_[k] == nullptr ? nullptr : codes_[k] + at;
      }
      scratch.absent.assign(static_cast<size_t>(m), 0);  // of rows that are left out at most
      table_.Pack(slices, codes, m, scratch.absent.data(), scratch.words);
      table_.HashWords(m, scratch);
      f(at, m, scratch);
    }
  }
  bool IsLeftOut(int64_t row) const { return valid_rows_ != nullptr && valid_rows_[row] == 0; }

  // Histogram, prefix sum and stable scatter of row numbers and words.
  void CutRows() {
    const int shift = 64 - part_bits_;
    std::vector<std::vector<uint32_t>> next(
        static_cast<size_t>((n_ + kBlockRows - 1) / kBlockRows));
    ForEachRange(pool_, n_, kBlockRows, [&](int64_t begin, int64_t end) {
      std::vector<uint32_t>& counts = next[static_cast<size_t>(begin / kBlockRows)];
      counts.assign(numbered_.parts(), 0);
      ForEachChunk(begin, end, [&](int64_t first, int64_t m, const KeyScratch& scratch) {
        for (int64_t i = 0; i < m; ++i)
          counts[scratch.hashes[i] >> shift] += IsLeftOut(first + i) ? 0 : 1;
      });
    });
    PlaceBlocks(next, numbered_.row_begins);
    const auto kept = static_cast<size_t>(numbered_.row_begins.back());
    numbered_.rows.resize(kept), numbered_.ids.resize(kept);
    words_.resize(static_cast<size_t>(table_.num_words_));
    for (LargeVector<uint64_t>& word : words_) word.resize(kept);
    ForEachRange(pool_, n_, kBlockRows, [&](int64_t begin, int64_t end) {
      uint32_t* to = next[static_cast<size_t>(begin / kBlockRows)].data();
      ForEachChunk(begin, end, [&](int64_t first, int64_t m, const KeyScratch& scratch) {
        for (int64_t i = 0; i < m; ++i) {
          if (IsLeftOut(first + i)) continue;
          const uint32_t at = to[scratch.hashes[i] >> shift]++;
          numbered_.rows[at] = static_cast<uint32_t>(first + i);
          for (size_t w = 0; w < words_.size(); ++w)
            words_[w][at] = scratch.words[static_cast<int64_t>(w) * m + i];
        }
      });
    });
  }

  // A part that has most of the rows has them of few keys, or it would not: its pieces' tables are
  // small.
  absl::Status NumberPieces() {
    for (const NumberedRows::Piece& rows : numbered_.Pieces()) {
      pieces_.push_back({rows, table_.EmptyCopy()});
      pieces_.back().charge = std::make_unique<BudgetCharge>(budget_);
    }
    return ForEachBlock(pool_, std::ssize(pieces_), [&](int64_t i) {
      Piece& piece = pieces_[static_cast<size_t>(i)];
      std::vector<int64_t> ids(kChunk);
      for (int64_t at = piece.rows.begin; at < piece.rows.end; at += kChunk) {
        const int64_t m = std::min(kChunk, piece.rows.end - at);
        piece.table.FindOrAddWords(words_, at, m, ids.data());
        for (int64_t j = 0; j < m; ++j) numbered_.ids[at + j] = static_cast<uint32_t>(ids[j]);
        ADJOIN_RETURN_IF_ERROR(piece.charge->GrowTo(piece.table.bytes()));
      }
      return absl::OkStatus();
    });
  }

  // Adds the keys of a part's later pieces to those of its first.
  void JoinPieces() {
    Piece* first = nullptr;
    for (Piece& piece : pieces_) {
      if (piece.rows.begin == numbered_.row_begins[piece.rows.part]) {
        first = &piece;
      } else {
        piece.ids = first->table.AddStored(piece.table);
      }
      numbered_.id_begins[piece.rows.part + 1] = first->table.size();
    }
    for (size_t p = 0; p < numbered_.parts(); ++p)
      numbered_.id_begins[p + 1] += numbered_.id_begins[p];
  }

  void CopyStored() {
    table_.size_ = numbered_.num_ids();
    table_.stored_.resize(static_cast<size_t>(table_.size_ * table_.num_words_));
    ForEachRange(pool_, std::ssize(pieces_), 1, [&](int64_t i, int64_t) {
      const Piece& piece = pieces_[static_cast<size_t>(i)];
      if (piece.ids.empty()) {
        std::copy(
            piece.table.stored_.begin(), piece.table.stored_.end(),
            table_.stored_.begin() + numbered_.id_begins[piece.rows.part] * table_.num_words_);
      } else {
        for (int64_t at = piece.rows.begin; at < piece.rows.end; ++at)
          numbered_.ids[at] = static_cast<uint32_t>(piece.ids[numbered_.ids[at]]);
      }
    });
  }

  const std::span<const Vector> keys_;
  const uint8_t* const valid_rows_;
  const int64_t n_;
  TaskPool* const pool_;
  const std::shared_ptr<MemoryBudget>& budget_;
  KeyTable& table_;
  const int part_bits_;
  BudgetCharge charge_;
  std::vector<const int32_t*> codes_;         // by key, of all rows
  std::vector<LargeVector<uint64_t>> words_;  // of rows as they are numbered
  std::vector<Piece> pieces_;
  NumberedRows numbered_;
};

absl::StatusOr<NumberedRows> AddByParts(std::span<const Vector> keys, const uint8_t* valid_rows,
                                        int64_t n, TaskPool* pool,
                                        const std::shared_ptr<MemoryBudget>& budget,
                                        KeyTable& table) {
  return PartitionedBuild(keys, valid_rows, n, pool, budget, table).Run();
}

}  // namespace adjoin
