// Binding: PostgreSQL's parse tree to logical plans.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/date_time.h"
#include "nlohmann/json.hpp"
#include "plan/node.h"
#include "sql/catalog_view.h"

namespace adjoin {

// The moments of ClockTime.
using ClockTimes = std::array<Timestamp, kClockTimes>;

struct BindOptions {
  bool weak_real = false;  // SET adjoin.float_promotion = weak (scalar_functions.h)
  std::string_view text;   // what the tree's locations are offsets into; must outlive the call
  std::vector<std::optional<TypeId>>
      parameter_types;  // as PREPARE declares them; missing ones follow from their use
  // Where given, the names of the tables and views that the text reads or writes directly, each
  // once (what a stored view depends on); not those inside the views it reads.
  std::vector<std::string>* relations = nullptr;
  // Of expressions that are run at once, as BindConstants' are.
  std::optional<ClockTimes> times;
};

// Whether `tree` is a statement that Bind takes: SELECT, VALUES, INSERT, UPDATE or DELETE.
bool IsBindable(const nlohmann::json& tree);

// Binds {"SelectStmt": ...}, InsertStmt, UpdateStmt or DeleteStmt. Output 0 of the result is the
// statement's own (a ResultSink for SELECT and VALUES, with result_names; else its DML sink); the
// data-modifying items of its WITH clauses follow in their order. `parameters` has a type for each
// $n up to the highest one used or declared. The plans may hold Derivative nodes;
// ad::ResolveDerivatives takes those away.
//
// Errors are PostgreSQL's, in wording, SQLSTATE and position (characters of options.text); what the
// engine lacks is 0A000. Errors inside a stored view carry no position.
absl::StatusOr<Statement> Bind(const nlohmann::json& tree, const CatalogView& catalog,
                               const BindOptions& options, Planner& planner);

// Binds expressions that read no tables, each cast to its type as an assignment would be: the
// arguments of EXECUTE, values of SET. `trees` is a JSON array. No type given: the expression's
// own.
absl::StatusOr<std::vector<ExprRef>> BindConstants(const nlohmann::json& trees,
                                                   const std::vector<std::optional<TypeId>>& types,
                                                   const BindOptions& options);

}  // namespace adjoin
