// Numbers for distinct values, from 0 in first-seen order, where a key's own bits do not say
// whether two are equal.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/arena.h"

namespace adjoin {

// Ids of strings, in first-seen order. Not thread-safe while adding; Find may run at once with
// Find.
class TextTable {
 public:
  int32_t FindOrAdd(std::string_view text);
  int32_t Find(std::string_view text) const;  // -1 where absent
  std::string_view at(int32_t code) const { return entries_[static_cast<size_t>(code)]; }

 private:
  struct Recent {
    const char* text = nullptr;
    int32_t code = -1;
  };
  size_t Slot(std::string_view text, uint32_t hash) const;
  void Grow();
  std::vector<std::string_view> entries_;
  std::vector<uint64_t> slots_;  // hash << 32 | code + 1; 0 is empty
  std::vector<Recent> recent_;   // codes by address, to be checked: views of one dictionary repeat
  TextArena arena_;
};

}  // namespace adjoin
