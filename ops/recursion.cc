#include "ops/recursion.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "ops/column_access.h"
#include "ops/key_table.h"
#include "ops/materialize.h"
#include "ops/stored_rows.h"

namespace adjoin {
namespace {

std::vector<TypeId> TypesOf(const Schema& schema) {
  std::vector<TypeId> types;
  for (const Field& field : schema.fields) types.push_back(field.type);
  return types;
}

// What the recursion has made so far.
class AllRows {
 public:
  AllRows(const RecursionSpec& spec, const RunState& run, int64_t batch_rows)
      : spec_(spec),
        run_(run),
        batch_rows_(batch_rows),
        charge_(run.budget),
        seen_(TypesOf(spec.schema)),
        stored_(spec.schema, run) {}

  // Adds a table's rows, where the recursion is distinct those not seen before; gives those.
  absl::StatusOr<TableRef> Add(const TableRef& table) {
    TableRef fresh = table;
    if (spec_.distinct) {
      ADJOIN_ASSIGN_OR_RETURN(fresh, Unseen(*table));
    }
    BatchArena arena;
    std::vector<ColumnChunk> chunks;
    for (size_t c = 0; c < spec_.schema.fields.size(); ++c) {
      ColumnChunk& chunk = chunks.emplace_back(spec_.schema.fields[c].type);
      for (int64_t begin = 0; begin < fresh->num_rows(); begin += batch_rows_) {
        const int64_t n = std::min(batch_rows_, fresh->num_rows() - begin);
        arena.Reset();
        chunk.Append(ReadColumn(*fresh->column(static_cast<int>(c)), begin, n, arena), n);
      }
    }
    ADJOIN_RETURN_IF_ERROR(stored_.Add(std::move(chunks), fresh->num_rows()));
    return fresh;
  }

  absl::StatusOr<TableRef> Finish() { return stored_.Finish(); }

 private:
  absl::StatusOr<TableRef> Unseen(const Table& table) {
    std::vector<int64_t> rows;
    std::vector<int64_t> ids(static_cast<size_t>(batch_rows_));
    BatchArena arena;
    std::vector<Vector> keys(spec_.schema.fields.size());
    for (int64_t begin = 0; begin < table.num_rows(); begin += batch_rows_) {
      const int64_t n = std::min(batch_rows_, table.num_rows() - begin);
      arena.Reset();
      for (size_t c = 0; c < keys.size(); ++c)
        keys[c] = ReadColumn(*table.column(static_cast<int>(c)), begin, n, arena);
      int64_t next_new = seen_.size();
      seen_.FindOrAdd(keys, n, ids.data());
      for (int64_t r = 0; r < n; ++r) {
        if (ids[static_cast<size_t>(r)] != next_new) continue;
        rows.push_back(begin + r);
        ++next_new;
      }
    }
    ADJOIN_RETURN_IF_ERROR(charge_.GrowTo(seen_.bytes()));
    std::vector<ColumnRef> columns;
    for (int c = 0; c < table.num_columns(); ++c) {
      ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, TakeRows(*table.column(c), rows, run_));
      columns.push_back(std::move(column));
    }
    return Table::MakeUnchecked(spec_.schema, std::move(columns), std::ssize(rows));
  }

  const RecursionSpec& spec_;
  const RunState& run_;
  const int64_t batch_rows_;
  BudgetCharge charge_;  // of what was seen
  KeyTable seen_;
  StoredRows stored_;
};

}  // namespace

absl::Status RecursionStep::Run(RunState& state) const {
  AllRows all(spec_, state, options_.batch_rows);
  TableRef made = state.relations[static_cast<size_t>(spec_.working_slot)];
  while (true) {
    ADJOIN_ASSIGN_OR_RETURN(TableRef working, all.Add(made));
    if (working->num_rows() == 0) break;
    SetRelation(state, spec_.working_slot, std::move(working));
    if (state.control != nullptr) ADJOIN_RETURN_IF_ERROR(state.control->Check());
    for (const auto& step : spec_.body) ADJOIN_RETURN_IF_ERROR(step->Run(state));
    made = state.relations[static_cast<size_t>(spec_.body_slot)];
  }
  ADJOIN_ASSIGN_OR_RETURN(TableRef table, all.Finish());
  SetRelation(state, out_slot_, std::move(table));
  return absl::OkStatus();
}

std::string RecursionStep::Describe() const {
  std::string out = absl::StrCat("slot ", out_slot_, " = recursion from slot ", spec_.working_slot,
                                 spec_.distinct ? ", distinct" : "", ", each time:");
  for (const auto& step : spec_.body) absl::StrAppend(&out, " {", step->Describe(), "}");
  return out;
}

}  // namespace adjoin
