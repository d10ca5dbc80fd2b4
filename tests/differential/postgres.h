// A PostgreSQL server of the test's own: made in a temporary folder, reached by a socket there,
// gone with the object.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tests/differential/answer.h"

namespace adjoin {

class Postgres {
 public:
  // Whether the programs are installed.
  static bool Installed();
  static absl::StatusOr<std::unique_ptr<Postgres>> Start();
  ~Postgres();
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;

  // The answer of the last statement of `sql`.
  Answer Run(const std::string& sql);

 private:
  Postgres() = default;
  std::string folder_;
  pid_t server_ = -1;
  void* connection_ = nullptr;  // PGconn
};

}  // namespace adjoin
