#include "console.h"

#include <editline/readline.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace adjoin {
namespace {

// What a signal handler can reach.
std::atomic<api::Connection*> g_running{nullptr};
std::atomic<bool> g_interrupted{false};

void OnInterrupt(int) {
  g_interrupted.store(true);
  if (api::Connection* running = g_running.load()) {
    running->Cancel();
  } else if (isatty(STDIN_FILENO) == 0) {
    _exit(130);  // a script between two statements: as without a handler
  }
}

}  // namespace

Console::Console() : terminal_(isatty(STDERR_FILENO) != 0) {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;  // no SA_RESTART: Ctrl-C ends a read
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

Console::~Console() {
  if (history_open_ && !history_file_.empty()) write_history(history_file_.c_str());
}

void Console::OpenHistory() {
  constexpr int kStatementsKept = 1000;
  history_open_ = true;
  rl_readline_name = "adjoin";
  using_history();
  stifle_history(kStatementsKept);
  const char* home = std::getenv("HOME");
  if (home == nullptr) return;
  history_file_ = std::string(home) + "/.adjoin_history";
  read_history(history_file_.c_str());
}

std::optional<std::string> Console::ReadLine(const std::string& prompt, bool* interrupted) {
  if (!history_open_) OpenHistory();
  g_interrupted.store(false);
  char* line = readline(prompt.c_str());
  *interrupted = g_interrupted.exchange(false);
  if (line == nullptr) return *interrupted ? std::optional<std::string>("") : std::nullopt;
  std::string text(line);
  std::free(line);
  return text;
}

void Console::AddHistory(const std::string& statement) { add_history(statement.c_str()); }

void Console::BeginStatement(api::Connection& connection) {
  if (terminal_) {
    fraction_.store(0);
    running_ = true;
    connection.SetProgressCallback([this](double fraction) {
      fraction_.store(fraction, std::memory_order_relaxed);
      return true;
    });
    progress_ = std::thread([this] { ShowProgress(); });
  }
  g_running.store(&connection);
}

void Console::EndStatement() {
  g_running.store(nullptr);
  if (!progress_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  ended_.notify_one();
  progress_.join();
}

void Console::ShowProgress() {
  using std::chrono::milliseconds;
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  const auto ended = [this] { return !running_; };
  if (ended_.wait_for(lock, milliseconds(1000), ended)) return;
  do {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double percent = fraction_.load(std::memory_order_relaxed) * 100;
    std::fprintf(stderr, "\r%3.0f%%  %.1f s  (Ctrl-C cancels)\033[K", percent, seconds);
    std::fflush(stderr);
  } while (!ended_.wait_for(lock, milliseconds(100), ended));
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace adjoin
