#include "plan/array_rewrites.h"

#include <utility>

namespace adjoin {

const ArrayGraph& GraphOf(const std::optional<RewrittenArrays>& rewritten,
                          const ArrayGraph& graph) {
  return rewritten ? rewritten->graph : graph;
}

std::vector<int> Renumbered(const std::optional<RewrittenArrays>& rewritten,
                            std::vector<int> roots) {
  if (!rewritten) return roots;
  for (int& root : roots) root = rewritten->ids[static_cast<size_t>(root)];
  return roots;
}

void NumberBack(const std::optional<RewrittenArrays>& rewritten, ArrayProgram& program) {
  if (!rewritten) return;
  absl::flat_hash_map<int, ArrayView> views;
  for (size_t id = 0; id < rewritten->ids.size(); ++id) {
    const auto view = program.views.find(rewritten->ids[id]);
    if (view != program.views.end()) views.emplace(static_cast<int>(id), view->second);
  }
  program.views = std::move(views);
}

}  // namespace adjoin
