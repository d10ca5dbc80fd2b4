// From the nodes of a region, or of a reduction, to a row program; and where its rows may end.
#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/array_compiler.h"

namespace adjoin {

RowProgramBuilder ArrayCompiler::MakeBuilder(const Pending& p,
                                             const std::vector<int64_t>& extents) {
  std::vector<int64_t> rows, cells;
  for (size_t i = 0; i < p.loops.size(); ++i)
    (i < p.row_loops ? rows : cells).push_back(extents[static_cast<size_t>(p.loops[i])]);
  return RowProgramBuilder(std::move(rows), std::move(cells));
}

RowProgramBuilder::Id ArrayCompiler::FuseNode(Fusion& f, int id, const std::vector<int>& axes) {
  const std::pair<int, std::vector<int>> key{id, axes};
  if (auto it = f.known.find(key); it != f.known.end()) return it->second;
  const ArrayNode& n = graph_.node(id);
  const bool here = f.region != nullptr && f.region->axes.contains(id);
  RowProgramBuilder::Id out;
  if (n.op == ArrayOp::kConstant) {
    out = f.builder.Constant(n.constant, n.type);
  } else if (n.op == ArrayOp::kParameter && (here || !stored_[static_cast<size_t>(id)])) {
    out = n.valid ? f.builder.ParameterIsValid(n.column) : f.builder.Parameter(n.column, n.type);
  } else if (n.op == ArrayOp::kMap && (here || !stored_[static_cast<size_t>(id)])) {
    std::vector<ArrayOperand> operands;
    for (const ArrayOperand& o : n.operands) operands.push_back(Renamed(o, axes));
    // Cells where the mask is false are not computed.
    const int only = n.scalar == ScalarOp::kSelect && operands[0] == f.cut ? 1
                     : n.scalar == ScalarOp::kAnd && operands[0] == f.cut  ? 1
                     : n.scalar == ScalarOp::kAnd && operands[1] == f.cut  ? 0
                                                                           : -1;
    if (only >= 0) {
      const ArrayOperand& o = operands[static_cast<size_t>(only)];
      const RowProgramBuilder::Id same = FuseNode(f, o.array, o.axes);
      f.known.emplace(key, same);
      return same;
    }
    std::vector<RowProgramBuilder::Id> args;
    for (const ArrayOperand& o : operands) args.push_back(FuseNode(f, o.array, o.axes));
    out = n.scalar == ScalarOp::kCount ? f.builder.Cast(args[0], n.type)
                                       : f.builder.Map(n.scalar, n.type, args);
  } else if (n.op == ArrayOp::kReduce && here) {
    const std::vector<int>& space = f.region->axes.find(id)->second;
    std::vector<int> operand_axes;
    for (int axis : n.operands[0].axes) operand_axes.push_back(space[static_cast<size_t>(axis)]);
    out = f.builder.Reduce(static_cast<ArrayReduction>(n.reduce),
                           FuseNode(f, n.operands[0].array, operand_axes));
  } else {
    out = AddLoad(f, id, axes);
  }
  f.known.emplace(key, out);
  return out;
}

ArrayLoad ArrayCompiler::AlongLoops(const Fusion& f, int id, const std::vector<int>& axes,
                                    bool per_row) {
  ArrayLoad load{{RowProgram::kUnplaced, Held(id)}, graph_.node(id).type, {}};
  const std::vector<int64_t> strides = Along({id, axes}, f.loops.size());
  for (size_t i = 0; i < (per_row ? f.row_loops : f.loops.size()); ++i)
    load.strides.push_back(strides[static_cast<size_t>(f.loops[i])]);
  return load;
}

RowProgramBuilder::Id ArrayCompiler::AddLoad(Fusion& f, int id, const std::vector<int>& axes) {
  bool per_row = true;
  const std::vector<int64_t> strides = Along({id, axes}, f.loops.size());
  for (size_t i = f.row_loops; i < f.loops.size(); ++i)
    per_row = per_row && strides[static_cast<size_t>(f.loops[i])] == 0;
  return f.builder.Load(AlongLoops(f, id, axes, per_row), per_row);
}

ArrayOperand ArrayCompiler::ChosenBy(const ArrayOperand& o, double* elsewhere) const {
  const ArrayNode& n = graph_.node(o.array);
  ArrayOperand mask;
  if (n.op != ArrayOp::kMap) return mask;
  *elsewhere = 0;
  if (n.scalar == ScalarOp::kCount) {  // a cast keeps 0, 1 and infinities
    mask = ChosenBy(n.operands[0], elsewhere);
  } else if (n.scalar == ScalarOp::kSelect) {
    const ArrayNode& other = graph_.node(n.operands[2].array);
    if (other.op != ArrayOp::kConstant || !other.constant.is_float()) return mask;
    *elsewhere = other.constant.as_float();
    mask = graph_.StairsAround(n.operands[0]);
  } else if (n.scalar == ScalarOp::kAnd) {
    std::vector<int> own;
    for (size_t k = 0; k < n.shape.size(); ++k) own.push_back(static_cast<int>(k));
    mask = graph_.StairsAround({o.array, own});
  }
  for (int& axis : mask.axes) axis = o.axes[static_cast<size_t>(axis)];
  return mask;
}

ArrayOperand ArrayCompiler::Renamed(ArrayOperand o, const std::vector<int>& axes) {
  for (int& axis : o.axes) axis = axes[static_cast<size_t>(axis)];
  return o;
}

ArrayOperand ArrayCompiler::CutMask(const ArrayRegion& region, const Pending& p) const {
  ArrayOperand cut;
  const auto agrees = [&](const ArrayOperand& mask) {
    if (mask.array < 0) return false;
    if (cut.array < 0) cut = mask;
    return mask == cut;
  };
  if (p.row_loops + 1 != p.loops.size() ||
      region.extents[static_cast<size_t>(p.loops.back())] < kShortestCutRow)
    return {};
  for (int member : region.members) {
    const ArrayNode& n = graph_.node(member);
    const std::vector<int>& axes = region.axes.find(member)->second;
    double elsewhere = 0;
    if (n.op == ArrayOp::kReduce) {
      const ArrayOperand mask = ChosenBy(Renamed(n.operands[0], axes), &elsewhere);
      const bool identity = n.reduce == ReduceOp::kMax
                                ? elsewhere == -HUGE_VAL
                                : n.reduce == ReduceOp::kSum && elsewhere == 0;
      if (!identity || !agrees(mask)) return {};
    } else if (written_[static_cast<size_t>(member)] && HasCells(member, region, p)) {
      const ArrayOperand read = Renamed(read_cells_[static_cast<size_t>(member)], axes);
      if (read.array >= 0 && agrees(read)) continue;
      if (!agrees(ChosenBy({member, axes}, &elsewhere)) || elsewhere != 0) return {};
    }
  }
  const Staircase stairs = graph_.StaircaseOf(cut);
  return stairs.present() && stairs.along == p.loops.back() ? cut : ArrayOperand{};
}

bool ArrayCompiler::HasCells(int member, const ArrayRegion& region, const Pending& p) const {
  const std::vector<int>& axes = region.axes.find(member)->second;
  const size_t rank = graph_.node(member).shape.size();
  return std::any_of(axes.begin(), axes.begin() + static_cast<ptrdiff_t>(rank), [&](int axis) {
    return std::find(p.loops.begin() + static_cast<ptrdiff_t>(p.row_loops), p.loops.end(), axis) !=
           p.loops.end();
  });
}

void ArrayCompiler::BuildPrograms() {
  for (Pending& p : pending_) {
    if (p.region >= 0) {
      p.program = BuildRegion(p, plan_.regions[static_cast<size_t>(p.region)]);
    } else if (graph_.node(p.id).op == ArrayOp::kReduce) {
      p.program = BuildReduction(p);
    }
  }
}

RowProgram ArrayCompiler::BuildRegion(const Pending& p, const ArrayRegion& region) {
  RowProgramBuilder builder = MakeBuilder(p, region.extents);
  Fusion f{builder, p.loops, p.row_loops, &region, CutMask(region, p), {}};
  if (f.cut.array >= 0) {
    const Staircase stairs = graph_.StaircaseOf(f.cut);
    const auto of = std::find(p.loops.begin(), p.loops.end(), stairs.of);
    builder.CutRows(static_cast<size_t>(of - p.loops.begin()), stairs.ends);
  }
  for (int member : region.members) {
    std::vector<int> axes = region.axes.find(member)->second;
    axes.resize(graph_.node(member).shape.size());
    RowProgramBuilder::Id id = FuseNode(f, member, axes);
    if (!written_[static_cast<size_t>(member)]) continue;
    const bool cells = HasCells(member, region, p);
    id = cells ? builder.Cells(id) : builder.Rows(id);
    const bool read = read_cells_[static_cast<size_t>(member)].array < 0;
    builder.Store(id, AlongLoops(f, member, axes, !cells), /*all_read=*/read);
  }
  return std::move(builder).Build();
}

RowProgram ArrayCompiler::BuildReduction(const Pending& p) {
  const ArrayNode& n = graph_.node(p.id);
  RowProgramBuilder builder = MakeBuilder(p, n.space);
  Fusion f{builder, p.loops, p.row_loops, nullptr, {}, {}};
  builder.Expose(FuseNode(f, n.operands[0].array, n.operands[0].axes));
  return std::move(builder).Build();
}

}  // namespace adjoin
