// Array programs that compute the same by other nodes: before steps are made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/array.h"
#include "plan/array_steps.h"

namespace adjoin {

struct RewrittenArrays {
  ArrayGraph graph;
  std::vector<int> ids;  // by array of the old graph that its roots reach: the array that it is
};

// The arrays of a graph, where they have been rewritten; else the graph's own.
const ArrayGraph& GraphOf(const std::optional<RewrittenArrays>& rewritten, const ArrayGraph& graph);
// The roots as they are there.
std::vector<int> Renumbered(const std::optional<RewrittenArrays>& rewritten,
                            std::vector<int> roots);
// Gives the program's views the numbers that arrays had before.
void NumberBack(const std::optional<RewrittenArrays>& rewritten, ArrayProgram& program);

// Of what is gathered (GatheredAxes): sums over an axis of a few indices, of arithmetic alone,
// become that many terms added up, which are computed where the sum is read; and sums over all axes
// become one over each in turn, innermost first, of which the first ones can be made with what they
// add. None: there is no such sum.
std::optional<RewrittenArrays> UnrollSums(const ArrayGraph& graph, const std::vector<int>& roots);

// What is gathered from much smaller arrays, and maps of it, are computed a second time for readers
// that need something summed over all of it first, as the backward pass does: nothing of it is kept
// until then. None: nothing is, or what would be kept takes at most `limit` bytes.
std::optional<RewrittenArrays> RecomputeGathered(const ArrayGraph& graph,
                                                 const std::vector<int>& roots, int64_t limit);

// By array, the axis that runs along the list by whose positions its cells were gathered, from a
// source much smaller; -1: none. Such arrays are many times what a query reads and gives. Not the
// rows of an embedding, of which each cell of several axes has a position.
std::vector<int> GatheredAxes(const ArrayGraph& graph, const std::vector<int>& roots);

}  // namespace adjoin
