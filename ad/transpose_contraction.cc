// C(p, q) = SUM over k of a(p, k) * b(k, q): a'(p, k) = SUM over q of C'(p, q) * b(k, q), which is
// again a contraction, and so for b. Whatever a is an expression of gets its own partials, at its
// own rows.
#include <algorithm>

#include "ad/reverse.h"
#include "engine/status.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

struct Side {
  const Contraction& c;
  int side;
  const ExprRef& factor() const { return side == 0 ? c.left_factor : c.right_factor; }
  const ExprRef& on(size_t k) const { return side == 0 ? c.on[k].left : c.on[k].right; }
};

// The forward mask over (left, right), rewritten for the pairs (group, other row): this side's
// columns are group keys or equal the other's join columns.
ExprRef TransposeMask(const Contraction& c, const Node& node, Side self, Side other,
                      const RowView& other_view, int groups_width) {
  if (c.mask == nullptr) return nullptr;
  const int split = node.inputs[0]->width();
  return MapColumns(c.mask, [&](const Expr& column) {
    const int side = column.index < split ? 0 : 1;
    const int own = side == 0 ? column.index : column.index - split;
    if (side == other.side) {
      return ColumnExpr(groups_width + other_view.columns[static_cast<size_t>(own)], column.type);
    }
    for (size_t k = 0; k < c.keys.size(); ++k) {
      if (c.keys[k].side == side && c.keys[k].column == own)
        return ColumnExpr(static_cast<int>(k), column.type);
    }
    for (size_t k = 0; k < c.on.size(); ++k) {
      if (self.on(k)->index == own) {
        return ColumnExpr(
            groups_width + other_view.columns[static_cast<size_t>(other.on(k)->index)],
            column.type);
      }
    }
    ADJOIN_DCHECK(false);  // plan/rules/recognise_contraction.cc admits no other column
    return ColumnExpr(column.index, column.type);
  });
}

}  // namespace

absl::Status Transposer::operator()(const Contraction& c) {
  const int num_keys = static_cast<int>(c.keys.size());
  auto it = ct.cotangents.find(num_keys);
  if (it == ct.cotangents.end()) return absl::OkStatus();
  Project small;  // the groups' keys and their cotangent
  for (int k = 0; k < num_keys; ++k) small.exprs.push_back(BaseColumn(ct.base, k));
  small.exprs.push_back(it->second);
  const NodeRef groups = planner().Make(std::move(small), {ct.base});

  for (const int side : {0, 1}) {
    const Side self{c, side}, other{c, 1 - side};
    const NodeRef& in = input(side);
    if (!ExprActivity(self.factor(), reverse.ActivityOf(in)).active) continue;
    const RowView view = reverse.ViewOf(in), other_view = reverse.ViewOf(input(1 - side));

    // The transpose's keys in the order of this side's columns: then its cells lie as the side's
    // own do.
    struct Key {
      int column;  // of the view
      ContractionKey from;
    };
    std::vector<Key> keys;
    Contraction transposed;
    for (int k = 0; k < num_keys; ++k) {
      const ContractionKey& key = c.keys[static_cast<size_t>(k)];
      if (key.side == side) {
        keys.push_back({view.columns[static_cast<size_t>(key.column)], {0, k}});
      } else {
        const ExprRef column =
            BaseColumn(other_view.node, other_view.columns[static_cast<size_t>(key.column)]);
        transposed.on.push_back({BaseColumn(groups, k), column, /*null_safe=*/true});
      }
    }
    ExprRef took_part;  // rows with a NULL join column met nothing
    for (size_t k = 0; k < c.on.size(); ++k) {
      const ExprRef own = reverse.Remap(self.on(k), view),
                    others = reverse.Remap(other.on(k), other_view);
      // A join column that is a key too: its group meets only the other's rows that it joined.
      const auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& have) {
        return have.column == own->index && have.from.side == 0;
      });
      if (key != keys.end()) {
        transposed.on.push_back({BaseColumn(groups, key->from.column), others, /*null_safe=*/true});
      } else {
        keys.push_back({own->index, {1, others->index}});
      }
      if (!c.on[k].null_safe) {
        const ExprRef present = IsNotNull(own);
        took_part =
            took_part == nullptr ? present : CallNamed("and", {took_part, present}, TypeId::kBool);
      }
    }
    std::stable_sort(keys.begin(), keys.end(),
                     [](const Key& a, const Key& b) { return a.column < b.column; });
    Lookup lookup;
    for (const Key& key : keys) {
      transposed.keys.push_back(key.from);
      lookup.left_keys.push_back(BaseColumn(view.node, key.column));
    }
    transposed.mask = TransposeMask(c, *node, self, other, other_view, groups->width());
    transposed.left_factor = BaseColumn(groups, num_keys);
    transposed.right_factor = reverse.Remap(other.factor(), other_view);
    const NodeRef sums = planner().Make(std::move(transposed), {groups, other_view.node});

    for (int k = 0; k + 1 < sums->width(); ++k) lookup.right_keys.push_back(BaseColumn(sums, k));
    const NodeRef base = planner().Make(std::move(lookup), {view.node, sums});
    const ExprRef factor = reverse.Remap(self.factor(), view);
    const ExprRef present = IsNotNull(factor);
    took_part =
        took_part == nullptr ? present : CallNamed("and", {took_part, present}, TypeId::kBool);
    ColumnCotangents by_view;
    const ExprRef d = WhenTrue(took_part, BaseColumn(base, base->width() - 1));
    ADJOIN_RETURN_IF_ERROR(Backpropagate(factor, d, reverse.ViewActivity(in, view), &by_view));
    ContributeByView(side, view, base, by_view);
  }
  return absl::OkStatus();
}

}  // namespace adjoin
