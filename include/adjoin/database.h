// The database: tables in memory, shared by connections.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "adjoin/connection.h"

namespace adjoin {
class DatabaseState;
}

namespace adjoin::api {

struct Options {
  int threads = 0;  // of one statement; 0: one a processor
  int64_t memory_limit =
      0;  // bytes of all tables and runs together; 0: no limit. Past it: error 53200
  // Where statements put rows that have no room below the limit, in files without names;
  // connections may SET adjoin.temp_directory. Empty: nowhere.
  std::string temp_directory = "";
};

// A handle on one in-memory database. Copies are the same database, which lives as long as a handle
// or a connection. Thread-safe.
class Database {
 public:
  // An empty database. Errors: InvalidArgument for a negative or absurd option.
  static absl::StatusOr<Database> Open(const Options& options = {});

  // A new session with default settings. Statements of different connections run side by side:
  // readers see the last committed state and never wait; writers take turns.
  Connection Connect() const;

  // Bytes now in use, and the most that were since ResetPeak. Beside these freed memory, up to a
  // sixteenth of the machine's, is kept for the next statements; it goes back to the system with a
  // database.
  int64_t memory_used() const;
  int64_t memory_peak() const;
  void ResetPeak() const;

 private:
  explicit Database(std::shared_ptr<DatabaseState> state);
  std::shared_ptr<DatabaseState> state_;
};

}  // namespace adjoin::api
