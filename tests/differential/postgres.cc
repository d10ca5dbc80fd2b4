#include "tests/differential/postgres.h"

#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace adjoin {
namespace {

constexpr char kBin[] = ADJOIN_POSTGRES_BIN;

// Starts a program, as the user `postgres` where this is root, whom PostgreSQL refuses. It dies
// with this process.
pid_t Spawn(const std::vector<std::string>& command, const std::string& log) {
  const pid_t child = fork();
  if (child != 0) return child;
  const passwd* user = geteuid() == 0 ? getpwnam("postgres") : nullptr;
  if (user != nullptr &&
      (setgroups(0, nullptr) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)) {
    _exit(126);
  }
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (std::freopen(log.c_str(), "a", stdout) == nullptr) _exit(126);
  dup2(STDOUT_FILENO, STDERR_FILENO);
  std::vector<char*> args;
  for (const std::string& word : command) args.push_back(const_cast<char*>(word.c_str()));
  args.push_back(nullptr);
  execv(args[0], args.data());
  _exit(127);
}

std::string TypeOf(Oid oid) {
  switch (oid) {
    case 16:
      return "boolean";
    case 20:
      return "bigint";
    case 21:
      return "smallint";
    case 23:
      return "integer";
    case 25:
      return "text";
    case 700:
      return "real";
    case 701:
      return "double precision";
    case 1082:
      return "date";
    case 1114:
      return "timestamp without time zone";
    case 1186:
      return "interval";
    case 1700:
      return "numeric";
    default:
      return absl::StrCat("oid ", oid);
  }
}

}  // namespace

bool Postgres::Installed() { return access(absl::StrCat(kBin, "/initdb").c_str(), X_OK) == 0; }

absl::StatusOr<std::unique_ptr<Postgres>> Postgres::Start() {
  std::unique_ptr<Postgres> out(new Postgres());
  std::string folder =
      absl::StrCat(std::filesystem::temp_directory_path().string(), "/adjoin_postgres_XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) return absl::InternalError("no temporary folder");
  out->folder_ = folder;
  if (geteuid() == 0) {
    const passwd* user = getpwnam("postgres");
    if (user == nullptr || chown(folder.c_str(), user->pw_uid, user->pw_gid) != 0) {
      return absl::InternalError("no user postgres");
    }
  }
  const std::string data = folder + "/data";
  const std::string log = folder + "/log";
  int status = 0;
  waitpid(Spawn({absl::StrCat(kBin, "/initdb"), "-D", data, "-U", "adjoin", "-A", "trust",
                 "--no-sync", "--locale=C", "--encoding=UTF8"},
                log),
          &status, 0);
  if (status != 0) return absl::InternalError(absl::StrCat("initdb ended with status ", status));
  // No TCP at all: the socket's name starts with the folder's.
  out->server_ = Spawn({absl::StrCat(kBin, "/postgres"), "-D", data, "-k", folder, "-c",
                        "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB", "-c",
                        "max_connections=4", "-c", "autovacuum=off", "-c", "jit=off"},
                       log);
  for (int tries = 0; tries < 300; ++tries) {
    PGconn* connection = PQconnectdb(absl::StrCat("host=", folder,
                                                  " user=adjoin dbname=postgres "
                                                  "options='-c statement_timeout=10s "
                                                  "-c client_min_messages=error'")
                                         .c_str());
    if (PQstatus(connection) == CONNECTION_OK) {
      out->connection_ = connection;
      return out;
    }
    PQfinish(connection);
    if (waitpid(out->server_, &status, WNOHANG) == out->server_) {
      out->server_ = -1;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return absl::InternalError("PostgreSQL did not start");
}

Postgres::~Postgres() {
  if (connection_ != nullptr) PQfinish(static_cast<PGconn*>(connection_));
  if (server_ > 0) {
    kill(server_, SIGQUIT);
    waitpid(server_, nullptr, 0);
  }
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Answer Postgres::Run(const std::string& sql) {
  PGresult* result = PQexec(static_cast<PGconn*>(connection_), sql.c_str());
  Answer out;
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY) {
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    out.sqlstate = state == nullptr ? "XX000" : state;
    out.message = PQresultErrorMessage(result);
  }
  for (int c = 0; c < PQnfields(result); ++c) out.types.push_back(TypeOf(PQftype(result, c)));
  for (int r = 0; r < PQntuples(result); ++r) {
    std::vector<std::optional<std::string>> row;
    for (int c = 0; c < PQnfields(result); ++c) {
      if (PQgetisnull(result, r, c) != 0) {
        row.emplace_back(std::nullopt);
      } else {
        row.emplace_back(PQgetvalue(result, r, c));
      }
    }
    out.rows.push_back(std::move(row));
  }
  PQclear(result);
  return out;
}

}  // namespace adjoin
