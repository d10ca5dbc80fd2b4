// The terminal: line editing with history, Ctrl-C, and the progress line.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "adjoin/connection.h"

namespace adjoin {

// One a process: it owns the handler of SIGINT.
class Console {
 public:
  Console();
  ~Console();  // writes the history, where lines were read
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // The next line without its end; nothing at the end of input. `interrupted` says that Ctrl-C gave
  // the line up.
  std::optional<std::string> ReadLine(const std::string& prompt, bool* interrupted);
  void AddHistory(const std::string& statement);

  // Between these two, Ctrl-C cancels what runs on `connection`, and work of more than a second
  // shows a progress line on a terminal.
  void BeginStatement(api::Connection& connection);
  void EndStatement();

 private:
  void OpenHistory();
  void ShowProgress();  // on its own thread, until the statement ends

  bool terminal_;  // standard error is one
  bool history_open_ = false;
  std::string history_file_;
  std::atomic<double> fraction_{0};
  std::thread progress_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool running_ = false;  // guarded by mutex_
};

}  // namespace adjoin
