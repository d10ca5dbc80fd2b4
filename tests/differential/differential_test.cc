// Runs generated queries on the engine and on a PostgreSQL server of its own, and compares answers.
//
//   differential_test [--first-seed N] [--seeds N] [--queries N]
//
// A seed is one set of tables and --queries queries on it. A difference is printed with its seed
// and the smallest query and rows that still show it.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "adjoin/database.h"
#include "adjoin/error.h"
#include "tests/differential/answer.h"
#include "tests/differential/generate_query.h"
#include "tests/differential/postgres.h"

namespace adjoin {
namespace {

struct Options {
  int first_seed = 1;
  int seeds = 30;
  int queries = 100;
};

struct Counts {
  int same = 0;
  std::map<std::string, int> both_fail;  // by PostgreSQL's SQLSTATE
  int different = 0;
  std::map<std::string, int> explained;
  std::map<std::string, int> not_supported;
};

constexpr char kDrop[] = "DROP TABLE IF EXISTS t0, t1, t2, t3;\n";

class Engine {
 public:
  explicit Engine(const api::Database& database) : connection_(database.Connect()) {}

  Answer Run(const std::string& sql) {
    Answer out;
    const absl::StatusOr<api::Result> result = connection_.Query(sql);
    if (!result.ok()) {
      out.sqlstate = api::SqlState(result.status());
      out.message = std::string(result.status().message());
      return out;
    }
    const api::Table& table = result->rows;
    for (int c = 0; c < table.num_columns(); ++c) {
      out.types.emplace_back(api::TypeName(table.column_type(c)));
    }
    for (int64_t r = 0; r < table.num_rows(); ++r) {
      std::vector<std::optional<std::string>> row;
      for (int c = 0; c < table.num_columns(); ++c) {
        row.push_back(table.is_null(r, c) ? std::nullopt : std::optional(table.ToText(r, c)));
      }
      out.rows.push_back(std::move(row));
    }
    return out;
  }

 private:
  api::Connection connection_;
};

class Differential {
 public:
  Differential(Engine engine, Postgres& postgres)
      : engine_(std::move(engine)), postgres_(postgres) {}

  void RunSeed(int seed, int queries) {
    RandomChoice choice(static_cast<uint64_t>(seed));
    const std::vector<GeneratedTable> tables = GenerateTables(choice);
    Sql create;
    for (const GeneratedTable& table : tables) create.parts.push_back(table.create);
    if (!Create(create)) return;
    // Every other set of tables in batches that these few rows fill.
    engine_.Run(seed % 2 == 0 ? "SET adjoin.batch_rows = 3" : "RESET adjoin.batch_rows");
    QueryGenerator generator(tables, choice);
    for (int i = 0; i < queries; ++i) {
      const GeneratedQuery query = generator.Generate();
      std::string why;
      switch (CompareOn(query.sql, query.ordered, why)) {
        case Verdict::kSame:
          ++counts_.same;
          break;
        case Verdict::kBothFail:
          ++counts_.both_fail[why];
          break;
        case Verdict::kExplained:
          ++counts_.explained[why];
          break;
        case Verdict::kNotSupported:
          ++counts_.not_supported[why];
          break;
        case Verdict::kDifferent:
          ++counts_.different;
          Report(absl::StrCat("seed ", seed, ", query ", i), create, query);
          Create(create);
      }
    }
  }

  const Counts& counts() const { return counts_; }

 private:
  bool Create(const Sql& create) {
    const std::string sql = kDrop + create.ToString();
    const Answer ours = engine_.Run(sql);
    const Answer theirs = postgres_.Run(sql);
    if (!ours.failed() && !theirs.failed()) return true;
    if (ours.sqlstate != theirs.sqlstate) {
      ++counts_.different;
      std::cout << "tables differ:\n" << sql << ours.ToString() << theirs.ToString();
    }
    return false;
  }

  Verdict CompareOn(const Sql& query, bool ordered, std::string& why) {
    const std::string sql = query.ToString();
    const Answer ours = engine_.Run(sql);
    const Answer theirs = postgres_.Run(sql);
    return Compare(ours, theirs, ordered, why);
  }

  std::string States(const Sql& query) {
    const std::string sql = query.ToString();
    return absl::StrCat(engine_.Run(sql).sqlstate, "/", postgres_.Run(sql).sqlstate);
  }

  void Report(const std::string& where, const Sql& create, const GeneratedQuery& query) {
    // A smaller query that fails in another way shows another thing.
    std::string why;
    const std::string states = States(query.sql);
    const auto query_differs = [&](const Sql& candidate) {
      return CompareOn(candidate, query.ordered, why) == Verdict::kDifferent &&
             States(candidate) == states;
    };
    const Sql small_query = Shrink(query.sql, query_differs);
    const Sql small_create = Shrink(create, [&](const Sql& candidate) {
      return Create(candidate) && query_differs(small_query);
    });
    Create(small_create);
    query_differs(small_query);
    const std::string sql = small_query.ToString();
    std::cout << "---- " << where << ": " << why << "\n"
              << small_create.ToString() << sql << ";\nours:\n"
              << engine_.Run(sql).ToString() << "PostgreSQL:\n"
              << postgres_.Run(sql).ToString() << std::flush;
  }

  Engine engine_;
  Postgres& postgres_;
  Counts counts_;
};

void Print(const char* what, const std::map<std::string, int>& counts) {
  for (const auto& [why, count] : counts)
    std::cout << what << ": " << count << " x " << why << "\n";
}

int Run(const Options& options) {
  if (!Postgres::Installed()) {
    std::cout << "PostgreSQL 15 is not installed (Debian package postgresql-15): nothing compared\n"
              << "0 passed, " << (std::getenv("CI") != nullptr ? 1 : 0) << " failed, 1 skipped\n";
    return std::getenv("CI") != nullptr ? 1 : 0;
  }
  const absl::StatusOr<std::unique_ptr<Postgres>> postgres = Postgres::Start();
  if (!postgres.ok()) {
    std::cout << postgres.status().message() << "\n0 passed, 1 failed\n";
    return 1;
  }
  const absl::StatusOr<api::Database> database = api::Database::Open({.threads = 1});
  if (!database.ok()) return 1;
  Differential differential(Engine(*database), **postgres);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < options.seeds; ++i) {
    differential.RunSeed(options.first_seed + i, options.queries);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const Counts& counts = differential.counts();
  Print("explained", counts.explained);
  Print("not supported", counts.not_supported);
  int passed = counts.same;
  for (const auto& [state, count] : counts.both_fail) passed += count;
  Print("errors on both sides", counts.both_fail);
  std::cout << options.seeds * options.queries << " queries in " << seconds.count() << " s\n"
            << passed << " passed, " << counts.different << " failed\n";
  return counts.different == 0 && passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace adjoin

int main(int argc, char** argv) {
  adjoin::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    int* value = name == "--first-seed" ? &options.first_seed
                 : name == "--seeds"    ? &options.seeds
                 : name == "--queries"  ? &options.queries
                                        : nullptr;
    if (value == nullptr || !absl::SimpleAtoi(argv[i + 1], value)) {
      std::cerr << "usage: differential_test [--first-seed N] [--seeds N] [--queries N]\n";
      return 2;
    }
  }
  return adjoin::Run(options);
}
