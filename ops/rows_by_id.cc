#include "ops/rows_by_id.h"

#include <algorithm>
#include <bit>

namespace adjoin {
namespace {

constexpr int64_t kBlockRows = int64_t{1} << 16;
// A part's ids and their rows are put in place within a near cache.
constexpr int kPartBits = 14;
constexpr int kMostPartBits = 8;

}  // namespace

std::vector<NumberedRows::Piece> NumberedRows::Pieces() const {
  const int64_t share = 2 * std::ssize(ids) / static_cast<int64_t>(parts());
  const int64_t most = std::max(kBlockRows, parts() == 1 ? 0 : share);
  std::vector<Piece> pieces;
  for (size_t p = 0; p < parts(); ++p) {
    for (int64_t begin = row_begins[p]; begin < row_begins[p + 1]; begin += most)
      pieces.push_back({p, begin, std::min(begin + most, row_begins[p + 1])});
  }
  return pieces;
}

void PlaceBlocks(std::vector<std::vector<uint32_t>>& counts, std::vector<int64_t>& begins) {
  int64_t next = 0;
  for (size_t p = 0; p + 1 < begins.size(); ++p) {
    begins[p] = next;
    for (std::vector<uint32_t>& block : counts) {
      const uint32_t count = block[p];
      block[p] = static_cast<uint32_t>(next);
      next += count;
    }
  }
  begins.back() = next;
}

NumberedRows CutByIds(LargeVector<uint32_t> ids, int64_t num_ids, TaskPool* pool) {
  const int64_t n = std::ssize(ids);
  const int bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(num_ids - 1, 0)));
  const int part_bits = n < 2 * kBlockRows ? 0 : std::clamp(bits - kPartBits, 0, kMostPartBits);
  NumberedRows cut(size_t{1} << part_bits);
  const int shift = bits - part_bits;
  for (size_t p = 0; p < cut.parts(); ++p)
    cut.id_begins[p] = std::min(num_ids, static_cast<int64_t>(p) << shift);
  cut.id_begins.back() = num_ids;
  if (part_bits == 0) {
    cut.row_begins.back() = n;
    cut.ids = std::move(ids);
    return cut;
  }
  std::vector<std::vector<uint32_t>> counts(static_cast<size_t>((n + kBlockRows - 1) / kBlockRows));
  ForEachRange(pool, n, kBlockRows, [&](int64_t begin, int64_t end) {
    std::vector<uint32_t>& count = counts[static_cast<size_t>(begin / kBlockRows)];
    count.assign(cut.parts(), 0);
    for (int64_t r = begin; r < end; ++r) {
      if (ids[r] != NumberedRows::kNone) ++count[ids[r] >> shift];
    }
  });
  PlaceBlocks(counts, cut.row_begins);
  cut.rows.resize(static_cast<size_t>(cut.row_begins.back()));
  cut.ids.resize(cut.rows.size());
  const uint32_t mask = (uint32_t{1} << shift) - 1;
  ForEachRange(pool, n, kBlockRows, [&](int64_t begin, int64_t end) {
    std::vector<uint32_t>& next = counts[static_cast<size_t>(begin / kBlockRows)];
    for (int64_t r = begin; r < end; ++r) {
      if (ids[r] == NumberedRows::kNone) continue;
      const uint32_t at = next[ids[r] >> shift]++;
      cut.rows[at] = static_cast<uint32_t>(r);
      cut.ids[at] = ids[r] & mask;
    }
  });
  return cut;
}

RowsById GroupRows(const NumberedRows& numbered, TaskPool* pool) {
  const std::vector<NumberedRows::Piece> pieces = numbered.Pieces();
  std::vector<LargeVector<uint32_t>> next(pieces.size());  // by id: rows, then where the next goes
  ForEachRange(pool, std::ssize(pieces), 1, [&](int64_t i, int64_t) {
    const NumberedRows::Piece& piece = pieces[i];
    next[i].assign(static_cast<size_t>(numbered.num_ids(piece.part)), 0);
    for (int64_t at = piece.begin; at < piece.end; ++at) {
      if (numbered.ids[at] != NumberedRows::kNone) ++next[i][numbered.ids[at]];
    }
  });
  std::vector<size_t> first_piece(numbered.parts() + 1, pieces.size());
  for (size_t i = pieces.size(); i-- > 0;) first_piece[pieces[i].part] = i;
  for (size_t p = numbered.parts(); p-- > 0;)
    first_piece[p] = std::min(first_piece[p], first_piece[p + 1]);
  RowsById grouped;
  grouped.offsets.resize(static_cast<size_t>(numbered.num_ids()) + 1);
  ForEachRange(pool, static_cast<int64_t>(numbered.parts()), 1, [&](int64_t p, int64_t) {
    auto row = static_cast<uint32_t>(numbered.row_begins[p]);
    uint32_t* offsets = grouped.offsets.data() + numbered.id_begins[p];
    for (int64_t id = 0; id < numbered.num_ids(static_cast<size_t>(p)); ++id) {
      offsets[id] = row;
      for (size_t i = first_piece[p]; i < first_piece[p + 1]; ++i) {
        const uint32_t count = next[i][id];
        next[i][id] = row;
        row += count;
      }
    }
    if (p + 1 == static_cast<int64_t>(numbered.parts())) grouped.offsets.back() = row;
  });
  grouped.rows.resize(grouped.offsets.back());
  ForEachRange(pool, std::ssize(pieces), 1, [&](int64_t i, int64_t) {
    for (int64_t at = pieces[i].begin; at < pieces[i].end; ++at) {
      const uint32_t id = numbered.ids[at];
      if (id == NumberedRows::kNone) continue;
      grouped.rows[next[i][id]++] =
          numbered.rows.empty() ? static_cast<uint32_t>(at) : numbered.rows[at];
    }
  });
  return grouped;
}

}  // namespace adjoin
