// What filters, joins and group-bys of few groups do to the rows of a batch: which ones hold or
// have a partner, their values one after another, and sums of values by group.
#include "kernels/simd.h"

namespace adjoin::ADJOIN_ISA {
namespace {

ADJOIN_INLINE uint8_t Holds(const uint8_t* holds, const uint8_t* valid, int64_t i) {
  return valid == nullptr ? holds[i] : static_cast<uint8_t>(holds[i] & valid[i]);
}

ADJOIN_INLINE int64_t SelectFrom(int64_t i, const uint8_t* holds, const uint8_t* valid, int64_t n,
                                 int32_t* rows, int64_t count) {
  for (; i < n; ++i) {
    rows[count] = static_cast<int32_t>(i);
    count += Holds(holds, valid, i);
  }
  return count;
}

// A processor fetches ahead up to a page's end, 512 values: asking for what is 2 KiB ahead took
// TPC-H q01 at scale factor 1 from 54 to 32 ms.
template <typename T>
ADJOIN_INLINE void FetchAhead(const T* x) {
  __builtin_prefetch(reinterpret_cast<const char*>(x) + 2048);
}

template <typename T>
ADJOIN_INLINE void TakeFrom(int64_t i, const T* from, const int32_t* rows, int64_t n, T* out) {
#pragma GCC unroll 4
  for (; i < n; ++i) out[i] = from[rows[i]];
}

// Row r adds to lane r % kGroupLanes of its group.
ADJOIN_INLINE void AddFrom(int64_t i, const double* x, const int64_t* group, int64_t n,
                           GroupLanes* lanes) {
  for (; i < n; ++i) {
    GroupLanes& of = lanes[group[i]];
    of.sum[i % kGroupLanes] += x[i];
    ++of.count[i % kGroupLanes];
  }
}

// Writes row i where its bit is set, and the bit.
template <typename T>
ADJOIN_INLINE int64_t SelectMarkedFrom(int64_t i, const T* x, int64_t n, int64_t low, uint32_t last,
                                       const uint64_t* marks, int32_t* rows, uint32_t* at,
                                       int64_t count) {
  for (; i < n; ++i) {
    const uint64_t bit =
        static_cast<uint64_t>(static_cast<int64_t>(x[i])) - static_cast<uint64_t>(low);
    const bool fits = bit <= last;
    const uint64_t word = marks[fits ? bit >> 6 : 0];
    rows[count] = static_cast<int32_t>(i);
    at[count] = static_cast<uint32_t>(bit);
    count += static_cast<int64_t>((word >> (bit & 63)) & (fits ? 1 : 0));
  }
  return count;
}

void Rank(const uint64_t* marks, const uint32_t* before, const uint32_t* at, int64_t n,
          int64_t* ranks) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t below = (uint64_t{1} << (at[i] & 63)) - 1;
    ranks[i] = before[at[i] >> 6] + __builtin_popcountll(marks[at[i] >> 6] & below);
  }
}

#if defined(__AVX512F__)

// Bits of rows i to i + 15, and which are up to `last`; distances are modulo 2^32, which leaves
// those of values below `low` above `last`.
ADJOIN_INLINE __m512i BitsOf(const int32_t* x, int64_t low, uint32_t last, __mmask16* fits) {
  const __m512i bits =
      _mm512_sub_epi32(_mm512_loadu_si512(x), _mm512_set1_epi32(static_cast<int32_t>(low)));
  *fits = _mm512_cmple_epu32_mask(bits, _mm512_set1_epi32(static_cast<int32_t>(last)));
  return bits;
}
ADJOIN_INLINE __m512i BitsOf(const int64_t* x, int64_t low, uint32_t last, __mmask16* fits) {
  const __m512i least = _mm512_set1_epi64(low), most = _mm512_set1_epi64(last);
  const __m512i a = _mm512_sub_epi64(_mm512_loadu_si512(x), least);
  const __m512i b = _mm512_sub_epi64(_mm512_loadu_si512(x + 8), least);
  *fits = _mm512_kunpackb(_mm512_cmple_epu64_mask(b, most), _mm512_cmple_epu64_mask(a, most));
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(a)),
                            _mm512_cvtepi64_epi32(b), 1);
}

template <typename T>
int64_t SelectMarked(const T* x, int64_t n, int64_t low, uint32_t last, const uint64_t* marks,
                     int32_t* rows, uint32_t* at) {
  int64_t count = 0, i = 0;
  __m512i row = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (; i + 16 <= n; i += 16) {
    __mmask16 fits;
    const __m512i bits = BitsOf(x + i, low, last, &fits);
    const __m512i words = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), fits,
                                                      _mm512_srli_epi32(bits, 5), marks, 4);
    const __m512i bit =
        _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(bits, _mm512_set1_epi32(31)));
    const __mmask16 mask = _mm512_test_epi32_mask(words, bit);
    _mm512_storeu_si512(rows + count, _mm512_maskz_compress_epi32(mask, row));
    _mm512_storeu_si512(at + count, _mm512_maskz_compress_epi32(mask, bits));
    count += __builtin_popcount(mask);
    row = _mm512_add_epi32(row, _mm512_set1_epi32(16));
  }
  return SelectMarkedFrom(i, x, n, low, last, marks, rows, at, count);
}

int64_t Select(const uint8_t* holds, const uint8_t* valid, int64_t n, int32_t* rows) {
  int64_t count = 0, i = 0;
  __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (; i + 16 <= n; i += 16) {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(holds + i));
    if (valid != nullptr)
      bytes = _mm_and_si128(bytes, _mm_loadu_si128(reinterpret_cast<const __m128i*>(valid + i)));
    const __mmask16 mask = _mm_test_epi8_mask(bytes, bytes);
    // Whole registers are stored: a masked store to memory is 100 cycles and more on Zen 4. What
    // is written beyond is before row i + 16.
    _mm512_storeu_si512(rows + count, _mm512_maskz_compress_epi32(mask, at));
    count += __builtin_popcount(mask);
    at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
  }
  return SelectFrom(i, holds, valid, n, rows, count);
}

// The lanes up to `last`, of which there may be none.
ADJOIN_INLINE uint32_t LanesTo(int last) { return last < 0 ? 0 : (2u << last) - 1; }

// A register's worth of rows within two registers of each other are picked out of two loads.
void Take8(const void* from, const int32_t* rows, int64_t n, void* out) {
  const auto* x = static_cast<const int64_t*>(from);
  auto* y = static_cast<int64_t*>(out);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const int32_t low = rows[i];
    const int last = rows[i + 7] - low;
    FetchAhead(x + low);
    if (last < 16) {
      const __m256i at = _mm256_sub_epi32(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i)), _mm256_set1_epi32(low));
      const __m512i a = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(LanesTo(last)), x + low);
      const __m512i b =
          _mm512_maskz_loadu_epi64(static_cast<__mmask8>(LanesTo(last - 8)), x + low + 8);
      _mm512_storeu_si512(y + i, _mm512_permutex2var_epi64(a, _mm512_cvtepi32_epi64(at), b));
    } else {
      for (int64_t j = i; j < i + 8; ++j) y[j] = x[rows[j]];
    }
  }
  TakeFrom(i, x, rows, n, y);
}

void Take4(const void* from, const int32_t* rows, int64_t n, void* out) {
  const auto* x = static_cast<const int32_t*>(from);
  auto* y = static_cast<int32_t*>(out);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const int32_t low = rows[i];
    const int last = rows[i + 15] - low;
    FetchAhead(x + low);
    if (last < 32) {
      const __m512i at = _mm512_sub_epi32(_mm512_loadu_si512(rows + i), _mm512_set1_epi32(low));
      const __m512i a = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(LanesTo(last)), x + low);
      const __m512i b =
          _mm512_maskz_loadu_epi32(static_cast<__mmask16>(LanesTo(last - 16)), x + low + 16);
      _mm512_storeu_si512(y + i, _mm512_permutex2var_epi32(a, at, b));
    } else {
      for (int64_t j = i; j < i + 16; ++j) y[j] = x[rows[j]];
    }
  }
  TakeFrom(i, x, rows, n, y);
}

template <int kGroups>
void AddByGroup(const double* x, const int64_t* group, int64_t n, GroupLanes* lanes) {
  static_assert(kGroupLanes == 8);
  __m512d sum[kGroups];
  __m512i count[kGroups];
  for (int g = 0; g < kGroups; ++g) {
    sum[g] = _mm512_loadu_pd(lanes[g].sum);
    count[g] = _mm512_loadu_si512(lanes[g].count);
  }
  const __m512i one = _mm512_set1_epi64(1);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m512d values = _mm512_loadu_pd(x + i);
    const __m512i of = _mm512_loadu_si512(group + i);
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) {
      const __mmask8 mask = _mm512_cmpeq_epi64_mask(of, _mm512_set1_epi64(g));
      sum[g] = _mm512_mask_add_pd(sum[g], mask, sum[g], values);
      count[g] = _mm512_mask_add_epi64(count[g], mask, count[g], one);
    }
  }
  for (int g = 0; g < kGroups; ++g) {
    _mm512_storeu_pd(lanes[g].sum, sum[g]);
    _mm512_storeu_si512(lanes[g].count, count[g]);
  }
  AddFrom(i, x, group, n, lanes);
}

#else

template <typename T>
int64_t SelectMarked(const T* x, int64_t n, int64_t low, uint32_t last, const uint64_t* marks,
                     int32_t* rows, uint32_t* at) {
  return SelectMarkedFrom(0, x, n, low, last, marks, rows, at, 0);
}

#if defined(__AVX2__)

// By mask, the positions of its bits, and whatever.
struct Positions {
  uint8_t of[256][8];
  constexpr Positions() : of() {
    for (int mask = 0; mask < 256; ++mask) {
      int count = 0;
      for (int bit = 0; bit < 8; ++bit) {
        if ((mask >> bit & 1) != 0) of[mask][count++] = static_cast<uint8_t>(bit);
      }
    }
  }
};
constexpr Positions kPositions;

int64_t Select(const uint8_t* holds, const uint8_t* valid, int64_t n, int32_t* rows) {
  int64_t count = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(holds + i));
    if (valid != nullptr)
      bytes = _mm_and_si128(bytes, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(valid + i)));
    const int absent = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
    const int mask = ~absent & 0xFF;
    const __m128i positions =
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kPositions.of[mask]));
    // What is written beyond is before row i + 8.
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows + count),
                        _mm256_add_epi32(_mm256_cvtepu8_epi32(positions),
                                         _mm256_set1_epi32(static_cast<int32_t>(i))));
    count += __builtin_popcount(static_cast<unsigned>(mask));
  }
  return SelectFrom(i, holds, valid, n, rows, count);
}

// Eight rows that follow each other are copied.
template <typename T>
ADJOIN_INLINE void TakeRuns(const void* from, const int32_t* rows, int64_t n, void* out) {
  const auto* x = static_cast<const T*>(from);
  auto* y = static_cast<T*>(out);
  const __m256i step = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i));
    FetchAhead(x + rows[i]);
    const __m256i run = _mm256_add_epi32(_mm256_set1_epi32(rows[i]), step);
    if (_mm256_movemask_epi8(_mm256_cmpeq_epi32(at, run)) == -1) {
      constexpr int kVectors = static_cast<int>(8 * sizeof(T) / sizeof(__m256i));
      const T* source = x + rows[i];
      for (int v = 0; v < kVectors; ++v) {
        constexpr int kStep = static_cast<int>(sizeof(__m256i) / sizeof(T));
        _mm256_storeu_si256(
            reinterpret_cast<__m256i*>(y + i + v * kStep),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + v * kStep)));
      }
    } else {
      for (int64_t j = i; j < i + 8; ++j) y[j] = x[rows[j]];
    }
  }
  TakeFrom(i, x, rows, n, y);
}
void Take4(const void* from, const int32_t* rows, int64_t n, void* out) {
  TakeRuns<int32_t>(from, rows, n, out);
}
void Take8(const void* from, const int32_t* rows, int64_t n, void* out) {
  TakeRuns<int64_t>(from, rows, n, out);
}

template <int kGroups>
void AddByGroup(const double* x, const int64_t* group, int64_t n, GroupLanes* lanes) {
  static_assert(kGroupLanes == 8);
  __m256d sum[kGroups][2];
  __m256i count[kGroups][2];
  for (int g = 0; g < kGroups; ++g) {
    for (int h = 0; h < 2; ++h) {
      sum[g][h] = _mm256_loadu_pd(lanes[g].sum + 4 * h);
      count[g][h] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lanes[g].count + 4 * h));
    }
  }
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const __m256d values = _mm256_loadu_pd(x + i + 4 * h);
      const __m256i of = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(group + i + 4 * h));
#pragma GCC unroll 8
      for (int g = 0; g < kGroups; ++g) {
        const __m256i mask = _mm256_cmpeq_epi64(of, _mm256_set1_epi64x(g));
        // No lane is -0, so that adding 0 leaves it as it is.
        sum[g][h] = _mm256_add_pd(sum[g][h], _mm256_and_pd(_mm256_castsi256_pd(mask), values));
        count[g][h] = _mm256_sub_epi64(count[g][h], mask);
      }
    }
  }
  for (int g = 0; g < kGroups; ++g) {
    for (int h = 0; h < 2; ++h) {
      _mm256_storeu_pd(lanes[g].sum + 4 * h, sum[g][h]);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes[g].count + 4 * h), count[g][h]);
    }
  }
  AddFrom(i, x, group, n, lanes);
}

#else

int64_t Select(const uint8_t* holds, const uint8_t* valid, int64_t n, int32_t* rows) {
  return SelectFrom(0, holds, valid, n, rows, 0);
}
template <typename T>
void TakeAll(const void* from, const int32_t* rows, int64_t n, void* out) {
  const auto* x = static_cast<const T*>(from);
  auto* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; i += 8) {
    FetchAhead(x + rows[i]);
    TakeFrom(i, x, rows, i + 8 < n ? i + 8 : n, y);
  }
}
void Take4(const void* from, const int32_t* rows, int64_t n, void* out) {
  TakeAll<int32_t>(from, rows, n, out);
}
void Take8(const void* from, const int32_t* rows, int64_t n, void* out) {
  TakeAll<int64_t>(from, rows, n, out);
}
template <int>
void AddByGroup(const double* x, const int64_t* group, int64_t n, GroupLanes* lanes) {
  AddFrom(0, x, group, n, lanes);
}

#endif
#endif

void SumByGroup(const double* x, const int64_t* group, int64_t n, int64_t groups,
                GroupLanes* lanes) {
  if (groups <= 2) return AddByGroup<2>(x, group, n, lanes);
  if (groups <= 4) return AddByGroup<4>(x, group, n, lanes);
  AddByGroup<kMostGroupLanes>(x, group, n, lanes);
}

}  // namespace

void FillSelection(KernelTable* table) {
  table->select = Select;
  table->take_4 = Take4;
  table->take_8 = Take8;
  table->select_marked_4 = SelectMarked<int32_t>;
  table->select_marked_8 = SelectMarked<int64_t>;
  table->rank = Rank;
  table->sum_by_group = SumByGroup;
}

}  // namespace adjoin::ADJOIN_ISA
