#include "ops/md5.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace adjoin {
namespace {

using State = std::array<uint32_t, 4>;
constexpr size_t kBlock = 64;

// Added in step i: the first 32 bits of the fraction of |sin(i + 1)|.
const std::array<uint32_t, kBlock>& Sines() {
  static const std::array<uint32_t, kBlock> sines = [] {
    std::array<uint32_t, kBlock> out;
    for (size_t i = 0; i < kBlock; ++i)
      out[i] = static_cast<uint32_t>(std::floor(std::abs(std::sin(double(i + 1))) * 0x1p32));
    return out;
  }();
  return sines;
}

void AddBlock(const char* block, State& state) {
  constexpr int kTurns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  std::array<uint32_t, 16> words;
  std::memcpy(words.data(), block, kBlock);  // little endian, as all machines are that we build for
  auto [a, b, c, d] = state;
  for (uint32_t i = 0; i < kBlock; ++i) {
    const uint32_t round = i / 16;
    uint32_t mixed, word;
    switch (round) {
      case 0:
        mixed = (b & c) | (~b & d), word = i;
        break;
      case 1:
        mixed = (d & b) | (~d & c), word = 5 * i + 1;
        break;
      case 2:
        mixed = b ^ c ^ d, word = 3 * i + 5;
        break;
      default:
        mixed = c ^ (b | ~d), word = 7 * i;
    }
    const uint32_t sum = a + mixed + Sines()[i] + words[word % 16];
    a = d, d = c, c = b;
    b += std::rotl(sum, kTurns[round][i % 4]);
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

}  // namespace

std::string Md5(std::string_view text) {
  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  size_t at = 0;
  for (; at + kBlock <= text.size(); at += kBlock) AddBlock(text.data() + at, state);
  // The rest, a 1, zeros up to the last 8 bytes of a block, which say how many bits there were.
  std::string end(text.substr(at));
  end.push_back('\x80');
  end.resize((end.size() + 8 + kBlock - 1) / kBlock * kBlock, '\0');
  const uint64_t bits = uint64_t{text.size()} * 8;
  std::memcpy(end.data() + end.size() - 8, &bits, 8);
  for (at = 0; at < end.size(); at += kBlock) AddBlock(end.data() + at, state);

  std::string out;
  for (uint32_t word : state) {
    for (int byte = 0; byte < 4; ++byte, word >>= 8) {
      out.push_back("0123456789abcdef"[word >> 4 & 15]);
      out.push_back("0123456789abcdef"[word & 15]);
    }
  }
  return out;
}

}  // namespace adjoin
