// The share rule: an array that is asked for again is the one that there is, across forward,
// backward and all statements of a training step. Planner does the same for operators.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace adjoin {

struct ArrayNode;

class SharedArrays {
 public:
  // Not `share`: what reads nothing (a table's column, a constant) is one array nevertheless.
  explicit SharedArrays(bool share) : share_(share) {}
  // The array of `nodes` that equals `node`; -1: there is none, and it is to become the next one.
  int Find(const std::vector<ArrayNode>& nodes, const ArrayNode& node);
  // How often `id` was found.
  int found(int id) const {
    const auto it = found_.find(id);
    return it == found_.end() ? 0 : it->second;
  }

 private:
  bool share_;
  absl::flat_hash_map<uint64_t, std::vector<int>> by_hash_;
  absl::flat_hash_map<int, int> found_;
};

}  // namespace adjoin
