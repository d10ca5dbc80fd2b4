// The passes of array_steps.h: what is stored, in which loops, in which tiles, by which
// expressions, where. One object compiles one program; each pass reads what those before it have
// left. Their files: array_storage (with the rules array_inline and array_store), array_loops,
// array_tiles, array_expressions, array_stack, array_work, array_stages, array_steps.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ops/array_contract.h"
#include "ops/array_gather.h"
#include "ops/row_program.h"
#include "plan/array.h"
#include "plan/array_regions.h"
#include "plan/array_steps.h"
#include "plan/step_cost.h"

namespace adjoin {

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape);

// Rough cost of one cell, in additions.
inline constexpr int kTranscendental = 12;
int AdditionsOf(ScalarOp op);

// Of an array's own operation over its whole space.
StepWork WorkOfNode(const ArrayGraph& graph, int id);

class ArrayCompiler {
 public:
  ArrayCompiler(const ArrayGraph& graph, const std::vector<int>& roots, size_t outputs,
                const PlanOptions& options, int first_step)
      : graph_(graph),
        roots_(roots),
        outputs_(outputs),
        options_(options),
        step_number_(first_step) {}

  ArrayProgram Compile();

  // A map of more than work_mem / 8 (32 MiB) is computed again in each reader's blocks and never
  // written: all pairs of a few thousand points stay in cache that way. Nor is more than that kept
  // of what is gathered (array_rewrites.h).
  static constexpr int64_t kLargestStoredShare = 8;

 private:
  // ---- What is stored.

  void FindReaders();
  void ChooseStored();

  // Of a map of that cost: what fits neither memory nor a reader, then the rule that it is for.
  bool IsStored(size_t id, int cost) const;
  // One reader, which visits each cell once.
  bool IsReadOnce(size_t id) const;
  bool Inlines(int cost) const;  // of what is read once: inside its reader (array_inline.cc)
  bool Stores(int cost) const;   // of what is read more than once (array_store.cc)

  // Past this a fused expression spills its block registers out of L1.
  static constexpr int kMostFusedCost = 400;

  // Inputs that are used as they lie; validity bitmaps are unpacked by a step.
  void AddInputs();

  // Of a region, only what others read is written to memory.
  void ChooseWritten();

  // CASE WHEN mask THEN x ELSE 0 END stands in for x where x is only read under the mask: one of
  // them is written.
  void FindTwin(int id, const std::vector<int>& region_of);

  // The array that holds the cells that are read of this one.
  int Held(int id) const;

  // ---- Steps, with arrays still by id.

  // A step that is to be built once its buffers have been placed.
  struct Pending {
    int id = -1;  // the array it stores; -1: a region's
    int region = -1;
    std::vector<int> stores;                    // every array it writes
    std::vector<int> reads;                     // every stored array or input it reads
    std::vector<int> loops;                     // the iteration space's axes, rows first
    size_t row_loops = 0;                       // how many of them are rows
    int64_t outer = 1, reduced = 1, inner = 1;  // of a reduction over rows
    int tiled = -1;                             // the axis that it is tiled along
    StepWork work;
    double load = 0;                    // of one that can be in a stage (array_stages.cc)
    std::optional<RowProgram> program;  // of a region or reduction, its arrays not placed
    std::vector<Pending> stacked;       // the steps that it does as well (array_stack.cc)
    bool sums = false;                  // they are products that its own is added to
    bool turned = false;                // of one that is stacked: a is its second factor
  };
  void Emit(const ArrayUnit& unit);

  // Whether the step depends on structure alone: it runs once a program.
  bool IsOnce(const Pending& p) const;

  // What computing `id` reads, outside its region.
  void AddReads(int id, const ArrayRegion* region, Pending& p);

  // Strides of a stored array over a space of `rank` axes, 0 along those that it lacks.
  std::vector<int64_t> Along(const ArrayOperand& o, size_t rank);

  // The axes of a space in the order in which the largest array that is read lies in memory.
  std::vector<int> MemoryOrder(const std::vector<int64_t>& extents,
                               const std::vector<std::vector<int64_t>>& loads) const;

  // Orders a region's loops, decides its rows where no reduction has, and lays out what it writes
  // in that order.
  void OrderRegion(const ArrayRegion& region, Pending& p);

  // A map without reductions: rows along which some operand is one value, else none (every cell is
  // a row).
  static std::vector<bool> ChooseRows(const std::vector<int64_t>& extents,
                                      const std::vector<std::vector<int64_t>>& loads,
                                      const std::vector<int>& order);

  // Orders a reduction's loops after its largest operand's memory: [outer, reduced, inner], where
  // `inner` are the last output axes, if they step less far than the reduced ones.
  void OrderReduction(int id, Pending& p);

  // ---- Tiles.

  // Steps that run tile by tile. Members have numbers in pending_ and each its own tiled axis.
  struct TiledSteps {
    std::map<size_t, int> members;
    int64_t extent = 0, tile = 0;
    absl::flat_hash_map<int, int> axis_of;  // by array that is stored tile by tile
    std::set<int> local;                    // arrays that only members read
  };
  class Tiler;
  void FormTiles();
  void MakeLocal(int id, const TiledSteps& tiled);

  // ---- Stacks.

  void FormStacks();
  void SumProducts();
  // Whether the step can be several.
  bool CanStack(const Pending& p) const;
  // Whether two products have the same extents, run along their arrays in the same way and leave
  // out the same cells; `turned`: of q with its factors exchanged.
  bool IsSameProduct(const Pending& p, const Pending& q, bool turned);
  // Whether q is one to stack on p; then q.turned is how.
  bool Stacks(const Pending& p, Pending& q);
  // Whether nothing in the arena lives longer if the step runs later or earlier: a random table's.
  bool IsFree(const Pending& p) const;
  // Makes a step and those of its shape that can be beside it one. Whether there are any.
  bool StackOn(size_t first);
  // Makes steps (ascending) one, before all that needs one of them.
  void Stack(const std::vector<size_t>& members);
  // Takes the steps, of which no tiling has one, off the list.
  void Erase(size_t first, size_t last);

  // ---- Work: what is predicted of steps and rules (step_cost.h).

  // The share of a mask's cells that a staircase keeps; 1 where it is none.
  double KeptBy(const ArrayOperand& mask) const;
  // Of an array's own operation over what masks leave of its space, whoever runs it.
  StepWork OwnWork(int id) const;
  // What computing a stored array takes cell by cell, with what is computed inside it. `seen`: what
  // the step has computed already.
  void AddWork(int id, StepWork& work, absl::flat_hash_set<int>& seen) const;
  StepWork WorkOf(const Pending& p) const;
  double CopyUs(int id, double times) const;  // its bytes, read or written that often
  void NoteRules();
  void NoteInline();
  void NoteStore();
  void NoteShare();
  void NoteContractions();
  void NoteStacks();
  void NoteTilesAndStages();
  void Note(std::string_view rule, std::string did, double saved_us);

  // ---- Stages.

  void FormStages();
  double LoadOf(const Pending& p) const;
  bool Reads(const Pending& p, const absl::flat_hash_set<int>& arrays) const {
    return std::any_of(p.reads.begin(), p.reads.end(),
                       [&](int id) { return arrays.contains(Owner(id)); });
  }
  // Makes steps (ascending) neighbours: what does not need them runs before them, what does, after.
  // Where they then begin.
  size_t BringTogether(const std::vector<size_t>& members);

  // ---- Expressions, once addresses are known.

  struct Fusion {
    RowProgramBuilder& builder;
    const std::vector<int>& loops;  // the space's axes in the order of the program's
    size_t row_loops;
    const ArrayRegion* region;  // null: a single reduction's
    ArrayOperand cut;           // the mask at whose end rows end, over the space; none: whole
    absl::flat_hash_map<std::pair<int, std::vector<int>>, RowProgramBuilder::Id> known;
  };
  static RowProgramBuilder MakeBuilder(const Pending& p, const std::vector<int64_t>& extents);

  // The array `id`, whose axes run along the space's axes `axes`.
  RowProgramBuilder::Id FuseNode(Fusion& f, int id, const std::vector<int>& axes);

  // How an array lies along a program's loops, the row loops alone for a value a row.
  ArrayLoad AlongLoops(const Fusion& f, int id, const std::vector<int>& axes, bool per_row);
  RowProgramBuilder::Id AddLoad(Fusion& f, int id, const std::vector<int>& axes);

  // ---- Rows that end where a mask does: a causal softmax needs the cells j <= i alone.

  // Shorter rows are cheaper whole, several a block.
  static constexpr int64_t kShortestCutRow = 256;

  // The mask that a value is chosen by, and the constant that it is elsewhere. The axes are those
  // of `o`.
  ArrayOperand ChosenBy(const ArrayOperand& o, double* elsewhere) const;
  static ArrayOperand Renamed(ArrayOperand o, const std::vector<int>& axes);

  // The mask outside of which no cell of the region matters: reductions find their identity there,
  // and what is stored is either not read or 0. None where some cell does, or rows are short.
  ArrayOperand CutMask(const ArrayRegion& region, const Pending& p) const;
  bool HasCells(int member, const ArrayRegion& region, const Pending& p) const;
  void BuildPrograms();
  RowProgram BuildRegion(const Pending& p, const ArrayRegion& region);
  RowProgram BuildReduction(const Pending& p);

  // ---- Buffers.

  void AddInput(int id);
  const std::vector<int64_t>& StridesOf(int id);

  // The array whose memory `id` is in: itself, or what it is a view of.
  int Owner(int id) const;
  int64_t BytesOf(int id) const;
  int64_t BytesAnIndex(int id);

  // Places each stored array in one arena: largest first, at the lowest place free over its
  // lifetime.
  void LayOut();
  ArrayAddress AddressOf(int id);

  // ---- Steps.

  void BuildSteps();
  std::unique_ptr<Step> BuildStep(Pending& p);
  static int64_t TiledExtent(const Pending& p, const std::vector<int64_t>& space);
  std::string ShapeOf(int id) const;
  RowProgram Placed(Pending& p);
  std::unique_ptr<Step> BuildRows(Pending& p);
  std::unique_ptr<Step> BuildReduce(Pending& p, const ArrayNode& n, const std::string& shape);
  std::string Label(std::string_view kind, const std::string& shape, const Pending& p) const;
  // Whether a product's mask cannot be left to zeros in its factors: it may meet what is not
  // finite.
  bool ChecksMask(const ArrayNode& product) const;
  std::vector<ContractStep::Product> ProductsOf(const Pending& p);  // in their order
  std::unique_ptr<Step> BuildContract(const Pending& p, const ArrayNode& n,
                                      const std::string& shape);
  // Of the operands from `first` on.
  std::vector<ArrayIndex> BuildIndices(const ArrayNode& n, size_t first, size_t rank,
                                       const std::vector<int64_t>& strides);
  std::unique_ptr<Step> BuildGather(const Pending& p, const ArrayNode& n, const std::string& shape);
  std::unique_ptr<Step> BuildScatter(const Pending& p, const ArrayNode& n,
                                     const std::string& shape);
  const ArrayGraph& graph_;
  const std::vector<int>& roots_;
  size_t outputs_;
  const PlanOptions& options_;
  int step_number_;
  std::vector<bool> reached_, forced_, stored_, written_;
  std::vector<bool> once_;  // made of constants and parameters alone
  std::vector<int> cost_;   // of maps, of a cell: in additions, with what is computed inside them
  std::vector<int> gathered_axes_;  // by array (array_rewrites.h): it is large, and made by tiles
  std::vector<std::vector<int>> readers_;
  std::vector<ArrayOperand> read_cells_;  // by id
  ArrayPlan plan_;
  std::vector<Pending> pending_;
  absl::flat_hash_map<int, int> input_base_, output_base_;
  absl::flat_hash_map<int, int> twin_;           // by array that is not written
  absl::flat_hash_set<int> by_tile_;             // arrays that are stored tile by tile
  absl::flat_hash_map<int, int64_t> tile_of_;    // of them, which have memory for so many indices
  std::map<int, std::vector<int64_t>> strides_;  // references stay valid
  absl::flat_hash_map<int, ArrayAddress> address_;
  ArrayProgram program_;
};

}  // namespace adjoin
