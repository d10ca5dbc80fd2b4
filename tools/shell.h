// The shell: runs scripts and typed lines on one connection.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "adjoin/connection.h"
#include "console.h"
#include "output.h"

namespace adjoin {

class Shell {
 public:
  // `console` outlives the shell.
  Shell(api::Connection connection, OutputFormat format, Console& console);

  // Run a text (-c) or a file ("-": standard input), statement by statement, up to the first error,
  // which is printed. False on an error. \q ends the text, and the session.
  bool RunText(std::string_view text, const std::string& source = "");
  bool RunFile(const std::string& path);
  // Reads lines until \q or the end of input; errors are printed and the session goes on.
  void RunInteractive();
  bool quitting() const { return quit_; }

 private:
  bool RunStatements(std::string_view sql, const std::string& source, int first_line);
  bool RunStatement(const std::string& sql, const std::string& source, int line);
  bool RunOnce(const std::string& sql, const std::string& source, int line, bool print,
               double* milliseconds);
  bool RunCommand(std::string_view line, const std::string& source);
  void PrintError(const absl::Status& status, const std::string& sql, const std::string& source,
                  int line);
  bool CommandFailed(const std::string& message, const std::string& source);
  bool ListRelations();
  bool DescribeRelation(const std::string& name, const std::string& source);
  bool SetRepeat(const std::string& argument, const std::string& source);

  api::Connection connection_;
  OutputFormat format_;
  Console& console_;
  bool timing_ = false;
  int repeat_ = 1;  // runs of the next statement
  bool quit_ = false;
  int include_depth_ = 0;  // of \i
};

}  // namespace adjoin
