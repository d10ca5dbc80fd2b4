// adjoin: the command-line shell.
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "adjoin/database.h"
#include "adjoin/error.h"
#include "calibrate.h"
#include "engine/file.h"
#include "engine/status.h"
#include "shell.h"
#include "sql/cost_file.h"
#include "sql/settings.h"

namespace {

struct Arguments {
  int threads = 0;
  std::string memory_limit;
  std::string temp_directory;
  std::string trace;
  adjoin::OutputFormat format = adjoin::OutputFormat::kTable;
  std::vector<std::string> commands;
  std::vector<std::string> files;
  std::string costs;  // of calibrate; empty: standard output
};

void Declare(CLI::App& app, Arguments& arguments) {
  static const std::map<std::string, adjoin::OutputFormat> kFormats = {
      {"table", adjoin::OutputFormat::kTable},
      {"csv", adjoin::OutputFormat::kCsv},
      {"json", adjoin::OutputFormat::kJson}};
  app.add_option("--threads", arguments.threads,
                 "threads of a statement (default: one a processor)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--memory-limit", arguments.memory_limit,
                 "most memory of tables and statements, e.g. 4GB");
  app.add_option("--temp-directory", arguments.temp_directory,
                 "where statements put what memory has no room for")
      ->option_text("DIR");
  app.add_option("--trace", arguments.trace,
                 "write the time of statements and steps for Perfetto or chrome://tracing")
      ->option_text("FILE");
  app.add_option("--format", arguments.format, "how results are printed: table, csv or json")
      ->transform(CLI::CheckedTransformer(kFormats, CLI::ignore_case).description(""))
      ->option_text("FORMAT");
  app.add_option("-c,--command", arguments.commands, "run SQL and leave; may come several times")
      ->option_text("SQL")
      ->allow_extra_args(false);
  app.add_option("-f,--file", arguments.files,
                 "run a file of SQL and leave (- is standard input); may come several times")
      ->option_text("FILE")
      ->allow_extra_args(false);
  app.add_subcommand("calibrate",
                     "measure what steps cost on this machine, for SET adjoin.costs = 'FILE'")
      ->add_option("FILE", arguments.costs, "what to write (default: standard output)");
  app.footer(
      "Without -c and -f: reads statements from the terminal or standard input.\nExit code 1 after "
      "an error.");
}

// Runs -c and -f in the order of the command line, up to the first error.
bool RunInOrder(const CLI::App& app, const Arguments& arguments, adjoin::Shell& shell) {
  size_t command = 0;
  size_t file = 0;
  for (const CLI::Option* option : app.parse_order()) {
    if (shell.quitting()) return true;
    if (option->check_name("-c")) {
      if (!shell.RunText(arguments.commands[command++])) return false;
    } else if (option->check_name("-f")) {
      if (!shell.RunFile(arguments.files[file++])) return false;
    }
  }
  return true;
}

int Run(const CLI::App& app, const Arguments& arguments) {
  adjoin::api::Options options;
  options.threads = arguments.threads;
  options.temp_directory = arguments.temp_directory;
  if (!arguments.memory_limit.empty()) {
    const auto bytes = adjoin::ParseBytes(arguments.memory_limit, 1);
    if (!bytes.has_value() || *bytes == 0) {
      std::fprintf(stderr, "adjoin: --memory-limit is no size such as 512MB or 4GB: %s\n",
                   arguments.memory_limit.c_str());
      return 1;
    }
    options.memory_limit = *bytes;
  }
  const auto database = adjoin::api::Database::Open(options);
  if (!database.ok()) {
    std::fputs(adjoin::api::FormatError(database.status()).c_str(), stderr);
    return 1;
  }
  adjoin::Console console;
  adjoin::api::Connection connection = database->Connect();
  if (const absl::Status traced = connection.Trace(arguments.trace); !traced.ok()) {
    std::fputs(adjoin::api::FormatError(traced).c_str(), stderr);
    return 1;
  }
  adjoin::Shell shell(std::move(connection), arguments.format, console);
  if (!arguments.commands.empty() || !arguments.files.empty())
    return RunInOrder(app, arguments, shell) ? 0 : 1;
  if (isatty(STDIN_FILENO) == 0) return shell.RunFile("-") ? 0 : 1;
  shell.RunInteractive();
  return 0;
}

absl::Status Calibrate(const std::string& path) {
  ADJOIN_ASSIGN_OR_RETURN(const adjoin::StepCosts costs, adjoin::MeasureCosts());
  const std::string text = adjoin::CostsToJson(costs);
  if (path.empty()) {
    std::fputs(text.c_str(), stdout);
    return absl::OkStatus();
  }
  ADJOIN_ASSIGN_OR_RETURN(const auto file, adjoin::OutputFile::Create(path));
  ADJOIN_RETURN_IF_ERROR(file->Write(text));
  return file->Commit();
}

}  // namespace

int main(int argc, char** argv) {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  CLI::App app("Adjoin: an embedded relational engine that differentiates SQL queries.", "adjoin");
  Arguments arguments;
  Declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (app.got_subcommand("calibrate")) {
    const absl::Status done = Calibrate(arguments.costs);
    if (!done.ok()) std::fputs(adjoin::api::FormatError(done).c_str(), stderr);
    return done.ok() ? 0 : 1;
  }
  return Run(app, arguments);
}
