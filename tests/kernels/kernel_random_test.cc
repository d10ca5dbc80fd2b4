// The random kernels against known answers of threefry-2x32, against checksums of what JAX drew
// (tests/data/init), and their normal numbers against the inverse of erf in long double.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/kernels/kernel_testing.h"

namespace adjoin {
namespace {

using Words = std::vector<int64_t>;

uint32_t Crc32(const void* data, size_t bytes) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= static_cast<const uint8_t*>(data)[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}
template <typename T>
uint32_t Crc32Of(const std::vector<T>& values) {
  return Crc32(values.data(), values.size() * sizeof(T));
}

Words Draw(const KernelTable& kernels, ScalarOp op, int64_t key, const Words& index) {
  const Words keys(index.size(), key);
  Words out(index.size());
  const void* args[3] = {keys.data(), index.data(), nullptr};
  kernels.at(op, TypeId::kInt64)(args, nullptr, out.data(), std::ssize(out));
  return out;
}

Words Count(int64_t n) {
  Words index(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) index[static_cast<size_t>(i)] = i;
  return index;
}

template <typename T>
std::vector<T> Normals(const KernelTable& kernels, const Words& words, T scale) {
  const std::vector<T> scales(words.size(), scale);
  std::vector<T> out(words.size());
  const void* args[3] = {scales.data(), words.data(), nullptr};
  kernels.at(ScalarOp::kRandomNormal, TypeOf<T>())(args, nullptr, out.data(), std::ssize(out));
  return out;
}

template <typename T>
std::vector<T> Uniforms(const KernelTable& kernels, const Words& words, T low, T high) {
  const std::vector<T> lows(words.size(), low), highs(words.size(), high);
  std::vector<T> out(words.size());
  const void* args[3] = {lows.data(), highs.data(), words.data()};
  kernels.at(ScalarOp::kRandomUniform, TypeOf<T>())(args, nullptr, out.data(), std::ssize(out));
  return out;
}

template <typename T>
std::vector<T> Lowest(const Words& words) {
  return {words.begin(), words.end()};
}

class RandomKernels : public testing::TestWithParam<const KernelTable*> {};

TEST_P(RandomKernels, ThreefryHasItsKnownAnswers) {
  struct Answer {
    uint64_t key, counter, result;
  };
  // The first three are those of its authors (Random123, kat_vectors), the others JAX's definition.
  const Answer answers[] = {{0, 0, 0x6B20015999BA4EFE},
                            {~uint64_t{0}, ~uint64_t{0}, 0x1CB996FCBB002BE7},
                            {0x13198A2E03707344, 0x243F6A8885A308D3, 0xC4923A9C483DF7A0},
                            {42, (uint64_t{1} << 32) + 5, 0x997E026648EBCD9F},
                            {42, uint64_t{7} << 32, 0x9E49857F568C35E8}};
  for (const Answer& a : answers) {
    const Words index = {static_cast<int64_t>(a.counter)};
    const auto key = static_cast<int64_t>(a.key);
    EXPECT_EQ(static_cast<uint64_t>(Draw(*GetParam(), ScalarOp::kRandomSplit, key, index)[0]),
              a.result);
    EXPECT_EQ(Draw(*GetParam(), ScalarOp::kRandomBits, key, index)[0],
              static_cast<int64_t>((a.result >> 32) ^ (a.result & 0xFFFFFFFF)));
  }
}

// A line of tests/data/init/draws.csv.
struct Drawn {
  std::string array, kind;
  int64_t key = 0, count = 0;
  double low = 0, high = 0;
  uint32_t crc = 0;
};

std::vector<Drawn> ReadDraws() {
  std::ifstream in(std::string(ADJOIN_SOURCE_DIR) + "/tests/data/init/draws.csv");
  std::vector<Drawn> draws;
  std::string line;
  std::getline(in, line);  // the header
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string field[7];
    for (std::string& f : field) std::getline(fields, f, ',');
    draws.push_back({field[0], field[1], std::stoll(field[2]), std::stoll(field[3]),
                     field[4].empty() ? 0 : std::stod(field[4]),
                     field[5].empty() ? 0 : std::stod(field[5]),
                     static_cast<uint32_t>(std::stoul(field[6]))});
  }
  return draws;
}

uint32_t CrcOf(const KernelTable& kernels, const Drawn& d) {
  const Words index = Count(d.count);
  const Words narrow = Draw(kernels, ScalarOp::kRandomBits, d.key, index);
  const Words wide = Draw(kernels, ScalarOp::kRandomSplit, d.key, index);
  if (d.kind == "bits8") return Crc32Of(Lowest<uint8_t>(narrow));
  if (d.kind == "bits16") return Crc32Of(Lowest<uint16_t>(narrow));
  if (d.kind == "bits32") return Crc32Of(Lowest<uint32_t>(narrow));
  if (d.kind == "bits64") return Crc32Of(wide);
  const auto low = static_cast<float>(d.low), high = static_cast<float>(d.high);
  if (d.kind == "uniform32") return Crc32Of(Uniforms<float>(kernels, narrow, low, high));
  if (d.kind == "uniform64") return Crc32Of(Uniforms<double>(kernels, wide, d.low, d.high));
  if (d.kind == "normal32") return Crc32Of(Normals<float>(kernels, narrow, low));
  return Crc32Of(Normals<double>(kernels, wide, d.low));
}

TEST_P(RandomKernels, DrawEveryArrayThatJaxExported) {
  const std::vector<Drawn> draws = ReadDraws();
  ASSERT_EQ(draws.size(), 108u);
  for (const Drawn& d : draws) EXPECT_EQ(CrcOf(*GetParam(), d), d.crc) << d.array;
}

TEST_P(RandomKernels, AllNormalsOfRealAreThoseOfJax) {
  Words words(size_t{1} << 23);
  for (size_t m = 0; m < words.size(); ++m) words[m] = static_cast<int64_t>(m << 9);
  const std::vector<float> normals = Normals<float>(*GetParam(), words, 1);
  EXPECT_EQ(Crc32Of(normals), 601944390u);
}

// The first and the last 512 of the 2^52 normals: both polynomials of the tails.
TEST_P(RandomKernels, NormalsOfTheTailsAreThoseOfJax) {
  Words first(512), last(512);
  for (uint64_t m = 0; m < 512; ++m) {
    first[m] = static_cast<int64_t>(m << 12);
    last[m] = static_cast<int64_t>(((uint64_t{1} << 52) - 1 - m) << 12);
  }
  EXPECT_EQ(Crc32Of(Normals<double>(*GetParam(), first, 1)), 893900942u);
  EXPECT_EQ(Crc32Of(Normals<double>(*GetParam(), last, 1)), 2417833159u);
}

// sqrt(2) erf_inv(u), by Newton's steps from a value near it; of erfc where u is near 1.
long double NormalQuantile(long double u, long double near) {
  const long double sqrt2 = std::sqrt(2.0L), factor = std::sqrt(std::acos(-1.0L)) / 2;
  long double x = std::fabs(near) / sqrt2;
  const long double a = std::fabs(u);
  for (int step = 0; step < 3; ++step) {
    const long double excess = a < 0.5L ? std::erf(x) - a : (1 - a) - std::erfc(x);
    x -= excess * factor * std::exp(x * x);
  }
  return std::copysign(x * sqrt2, u);
}

struct Worst {
  double centre = 0, tails = 0;  // below 2.5, and from there on
};

template <typename T>
Worst WorstUlps(const KernelTable& kernels, const Words& words, int unused_bits) {
  const std::vector<T> normals = Normals<T>(kernels, words, 1);
  Worst worst;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto m = static_cast<uint64_t>(words[i]) >> unused_bits;
    const int digits = std::numeric_limits<T>::digits;
    const long double f = std::ldexp(static_cast<long double>(m), 1 - digits);
    const T u = static_cast<T>(f * 2 + std::nextafter(T(-1), T(0)));
    const long double expected = NormalQuantile(u, normals[i]);
    const long double ulp =
        std::ldexp(1.0L, std::ilogb(static_cast<double>(expected)) - digits + 1);
    double& at = std::fabs(normals[i]) < T(2.5) ? worst.centre : worst.tails;
    at = std::max(at, static_cast<double>(std::fabs(normals[i] - expected) / ulp));
  }
  return worst;
}

TEST_P(RandomKernels, NormalsAreTheInverseOfErfWithinTheirBounds) {
  std::mt19937_64 random(20240717);
  Words narrow, wide;
  for (uint64_t m = 0; m < 32768; ++m) {  // the tails, then everywhere
    narrow.push_back(static_cast<int64_t>(m << 9));
    narrow.push_back(static_cast<int64_t>(((uint64_t{1} << 23) - 1 - m) << 9));
    wide.push_back(static_cast<int64_t>((random() >> m % 50) & ~uint64_t{4095}));
    wide.push_back(static_cast<int64_t>(~(random() >> m % 50) & ~uint64_t{4095}));
  }
  for (int i = 0; i < 100000; ++i) {
    narrow.push_back(static_cast<int64_t>(random() >> 32 & ~uint64_t{511}));
    wide.push_back(static_cast<int64_t>(random() & ~uint64_t{4095}));
  }
  const Worst real = WorstUlps<float>(*GetParam(), narrow, 9);
  const Worst wider = WorstUlps<double>(*GetParam(), wide, 12);
  EXPECT_LT(real.centre, 4.1);
  EXPECT_LT(real.tails, 92);
  EXPECT_LT(wider.centre, 30);
  EXPECT_LT(wider.tails, 7.1e5);
}

// A lane depends on its arguments alone: whatever n is, and where the result lies over the words.
TEST_P(RandomKernels, LanesAreOnTheirOwn) {
  const Words index = Count(1100);
  const Words words = Draw(*GetParam(), ScalarOp::kRandomSplit, 7, index);
  const std::vector<double> normals = Normals<double>(*GetParam(), words, 0.5);
  const std::vector<double> uniforms = Uniforms<double>(*GetParam(), words, -2, 5);
  const std::vector<float> real = Normals<float>(*GetParam(), words, 0.5);
  for (const int64_t n : TestSizes()) {
    const Words some(words.begin(), words.begin() + n), at(index.begin(), index.begin() + n);
    EXPECT_EQ(Draw(*GetParam(), ScalarOp::kRandomSplit, 7, at), some);
    EXPECT_EQ(Normals<double>(*GetParam(), some, 0.5),
              std::vector<double>(normals.begin(), normals.begin() + n));
    EXPECT_EQ(Uniforms<double>(*GetParam(), some, -2, 5),
              std::vector<double>(uniforms.begin(), uniforms.begin() + n));
    const std::vector<float> scales(static_cast<size_t>(n), 0.5f);
    Unaligned<int64_t> place(some);
    const void* args[3] = {scales.data(), place.data(), nullptr};
    GetParam()->at(ScalarOp::kRandomNormal, TypeId::kFloat32)(args, nullptr, place.data(), n);
    EXPECT_EQ(std::memcmp(place.data(), real.data(), static_cast<size_t>(n) * sizeof(float)), 0);
    EXPECT_TRUE(place.Intact());
  }
}

TEST_P(RandomKernels, UniformNumbersStayBelowHighAndShowWhatIsNoNumber) {
  const Words words = {0, -1, 1 << 9};
  const auto huge = Uniforms<float>(*GetParam(), words, -1e38f, 1e38f);
  EXPECT_EQ(huge[0], -1e38f);
  EXPECT_LT(huge[1], 1e38f);
  for (double v : Uniforms<double>(*GetParam(), words, 0, std::nan(""))) EXPECT_TRUE(std::isnan(v));
  for (double v : Uniforms<double>(*GetParam(), words, std::nan(""), 1)) EXPECT_TRUE(std::isnan(v));
  for (double v : Normals<double>(*GetParam(), words, std::nan(""))) EXPECT_TRUE(std::isnan(v));
}

INSTANTIATE_TEST_SUITE_P(AllVariants, RandomKernels,
                         testing::ValuesIn(SupportedKernels().begin(), SupportedKernels().end()),
                         [](const auto& variant) { return std::string(variant.param->isa); });

}  // namespace
}  // namespace adjoin
