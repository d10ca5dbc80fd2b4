// Prepared statements: planned once, run many times.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "adjoin/table.h"

namespace adjoin {
class PreparedState;
}

namespace adjoin::api {

struct Result;

// Counts of a compiled program.
struct Stats {
  int steps = 0;  // materialised results and the passes that make them
  int operators = 0;
  int base_table_reads = 0;
  int contractions = 0;     // matrix products found
  int64_t arena_bytes = 0;  // working memory laid out when prepared
  int64_t bytes_between_steps = 0;
  double plan_ms = 0;  // parse, bind, differentiate, optimise, compile; of the last planning
  int64_t plans =
      0;  // how often it was planned; above 1: a table's schema, layout or extents changed
  int64_t runs = 0;
};

// A statement of one connection. Movable; may outlive the Connection object, whose session it
// keeps. Use from one thread at a time, and never while its connection runs something else.
//
// Tables are read as they are when Run is called. A table that changed its rows only is read in
// place; one whose schema, layout or extents changed, or that was dropped and created again, makes
// the next Run plan anew.
class Prepared {
 public:
  Prepared(Prepared&&) noexcept;
  Prepared& operator=(Prepared&&) noexcept;
  ~Prepared();

  // Runs it once with `parameters` for $1, $2, ..., converted to the types that the statement gave
  // them, in a transaction of its own or the connection's. On error all tables are as they were. A
  // statement that only updates whole value columns of grid tables allocates nothing from its
  // second run on, without parameters. Errors: 08P01 for a wrong number of parameters, 22P02 or
  // 22003 for an unusable one, and what the statement raises.
  absl::StatusOr<Result> Run(std::span<const Value> parameters = {});
  absl::StatusOr<Result> Run(std::initializer_list<Value> parameters);

  // From now on this statement reads `table` instead of the base table `name`; the catalog is not
  // touched and nothing is copied. Errors: 42P01 where the statement reads no base table of that
  // name; 42804 where the schemas differ (names, types and dims must agree); 0A000 where the
  // statement writes that table.
  absl::Status Bind(std::string_view name, const Table& table);
  // Forgets all bound tables.
  void Reset();

  // The number of parameters, and the names and types of the result's columns (none for a write).
  int num_parameters() const;
  std::vector<Field> result_fields() const;

  // The logical plan, the optimised plan and the program; with `analyze` also the times of the last
  // run.
  std::string Explain(bool analyze = false) const;
  Stats stats() const;

  // For the library itself.
  explicit Prepared(std::unique_ptr<PreparedState> state);

 private:
  std::unique_ptr<PreparedState> state_;
};

}  // namespace adjoin::api
