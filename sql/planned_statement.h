// One SELECT, VALUES, INSERT, UPDATE or DELETE, from parse tree to compiled program, kept for many
// runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "engine/catalog.h"
#include "nlohmann/json.hpp"
#include "plan/node.h"
#include "plan/program.h"
#include "sql/binder.h"
#include "sql/catalog_view.h"
#include "sql/plan_report.h"
#include "sql/settings.h"

namespace adjoin {

// A catalog as the binder sees it, which notes what names meant, so that a change of meaning is
// noticed.
class RecordingCatalog final : public CatalogView {
 public:
  struct Lookup {
    std::string name;
    uint64_t id = 0;  // 0: there was nothing of that name
    std::shared_ptr<const View> view;
  };
  explicit RecordingCatalog(const CatalogState& state) : state_(state) {}
  std::optional<CatalogTable> FindTable(std::string_view name) const override;
  std::optional<StoredView> FindView(std::string_view name) const override;
  std::vector<Lookup> TakeLookups() { return std::move(lookups_); }

 private:
  const CatalogEntry* Find(std::string_view name) const;
  const CatalogState& state_;
  mutable std::vector<Lookup> lookups_;
};

// Not thread-safe. Holds no table between runs.
class PlannedStatement {
 public:
  // `text` is what the tree's locations point into. Plans nothing yet.
  PlannedStatement(nlohmann::json tree, std::string text,
                   std::vector<std::optional<TypeId>> parameter_types = {});

  // Binds and differentiates where names changed their meaning since the last time, settings
  // differ or products were ordered for other shapes; then brings `state().tables` up to date with
  // `catalog` (and bound tables), and compiles where the program does not fit them. Allocates
  // nothing when nothing has changed. Errors: those of binding and planning.
  absl::Status Prepare(const CatalogState& catalog, const Settings& settings,
                       const std::shared_ptr<MemoryBudget>& budget, ColumnCache* cache);
  // What to do about a run that had no room below `memory_limit`, where others than it can go to
  // files: sparse products cannot, and are joins from the next Prepare on, until the limit is
  // raised. False: there are none.
  bool DropSparseProducts(int64_t memory_limit);
  // Only the first half: names and types are known afterwards.
  absl::Status Bind(const CatalogState& catalog, const Settings& settings);

  // REQUIRES of the rest: Bind or Prepare went well.
  const Statement& statement() const { return statement_; }
  Program& program() { return *program_; }
  const Program& program() const { return *program_; }
  bool is_bound() const { return bound_; }
  bool has_program() const { return program_ != nullptr; }
  RunState& state() { return state_; }
  bool returns_rows() const;
  bool writes() const;  // has a sink that changes a table
  // Of the statement itself: "SELECT", "INSERT", "UPDATE" or "DELETE".
  std::string_view verb() const;
  const std::vector<std::string>& relations() const { return relations_; }
  const std::string& text() const { return text_; }
  // What EXPLAIN says. `catalog`: whose tables rows are estimated from; null: no estimates.
  // `profile`: of the last run, borrowed by the report; may be null. REQUIRES: has_program().
  PlanReport Report(const CatalogState* catalog, const RunProfile* profile) const;
  int64_t plans() const { return plans_; }
  double plan_ms() const { return plan_ms_; }

  // Reads `table` in the place of base table `name` from now on; ResetTables undoes it. Errors: see
  // adjoin/prepared.h.
  absl::Status BindTable(std::string_view name, TableRef table);
  void ResetTables();
  // Lets go of the tables of the last run; the map keeps its nodes.
  void ReleaseTables();
  // Lets go of the program's working memory; the next run makes it again.
  void ReleaseMemory();

  // Sets the moments that a statement with functions of the clock reads, for the next run.
  void SetClock(const ClockTimes& times);
  // Converts values to the statement's parameter types, into state().parameters. Constants of any
  // type.
  absl::Status SetParameters(const std::vector<ExprRef>& values);

 private:
  // The table that the next run would read there; null where there is none.
  TableRef TableFor(const CatalogState& catalog, const Scan& scan) const;
  // Its shape, noted as one that the plan rests on.
  std::optional<GridShape> ShapeOf(const CatalogState& catalog, const Scan& scan);
  // Whether tables have the shapes, and about the rows, that plans were ordered for.
  bool OrdersHold() const;
  bool IsCurrent(const CatalogState& catalog, const Settings& settings) const;
  void AddStage(std::string_view heading, const Statement& statement);
  absl::Status CollectTables();
  absl::Status ApplyBoundTables();
  bool Refresh(const CatalogState& catalog);

  nlohmann::json tree_;
  std::string text_;
  std::vector<std::optional<TypeId>> parameter_types_;
  std::vector<RecordingCatalog::Lookup> lookups_;
  std::vector<std::string> relations_;
  PlanOptions options_;
  int64_t too_little_for_sparse_ = -1;  // the largest memory_limit that sparse products ran out of
  bool weak_real_ = false;
  // What the plan was rewritten with.
  bool contraction_ = true;
  RuleUse join_order_ = RuleUse::kOn;
  bool bound_ = false;
  absl::flat_hash_map<uint64_t, std::optional<GridShape>> shapes_;  // products were ordered by,
  absl::flat_hash_map<uint64_t, int64_t> rows_;                     // joins were ordered by
  Statement statement_;
  std::vector<PlanReport::Stage> stages_;
  std::unique_ptr<Planner> planner_;  // owns the interning of statement_'s nodes
  absl::flat_hash_map<std::string, const Scan*>
      scanned_;  // base tables read; the scans are statement_'s
  absl::flat_hash_map<std::string, TableRef> bound_by_name_;  // survive planning anew
  absl::flat_hash_map<uint64_t, TableRef> bound_tables_;      // the same by today's ids
  std::unique_ptr<Program> program_;
  RunState state_;
  int64_t plans_ = 0;
  double plan_ms_ = 0;
};

}  // namespace adjoin
