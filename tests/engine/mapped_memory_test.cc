#include "engine/mapped_memory.h"

#include <filesystem>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace adjoin {
namespace {

TEST(MappedMemoryTest, LargePiecesAreFilesAndSmallOnesMemory) {
  MappedMemory memory(std::filesystem::temp_directory_path());
  std::pmr::vector<int64_t> small(100, 7, &memory), large(1 << 20, &memory);
  EXPECT_EQ(std::accumulate(large.begin(), large.end(), int64_t{0}), 0);
  std::iota(large.begin(), large.end(), 0);
  large.resize(3 << 19);  // moves to another file
  EXPECT_EQ(large[(1 << 20) - 1], (1 << 20) - 1);
  EXPECT_EQ(large.back(), 0);
  EXPECT_EQ(small[99], 7);
  EXPECT_EQ(memory.bytes(), 800);
  small = std::pmr::vector<int64_t>(&memory);
  EXPECT_EQ(memory.bytes(), 0);
  EXPECT_TRUE(memory.status().ok()) << memory.status();
}

TEST(MappedMemoryTest, SaysWhereNoFileCouldBeHad) {
  MappedMemory memory("/nowhere");
  std::pmr::vector<int64_t> small(100, &memory);
  EXPECT_TRUE(memory.status().ok());
  std::pmr::vector<int64_t> large(1 << 20, 1, &memory);
  EXPECT_EQ(large.back(), 1);
  EXPECT_NE(memory.status().message().find("could not create temporary file"), std::string::npos)
      << memory.status();
}

}  // namespace
}  // namespace adjoin
