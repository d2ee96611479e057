// The progress line: what it says, how often it is written, and that nothing else gets mixed up
// with it.
#include "cli/terminal/console.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace soapstone::cli {
namespace {

using namespace std::chrono_literals;

Console::Clock::time_point fake_now;
Console::Clock::time_point read_fake_clock() { return fake_now; }

/// A console that writes to memory.
class Recorder {
 public:
  Recorder(Verbosity verbosity, bool is_terminal, int width = 80)
      : file_(open_memstream(&text_, &size_)),
        console(verbosity, file_, is_terminal, width, &read_fake_clock) {}
  ~Recorder() {
    console.finish();
    std::fclose(file_);
    std::free(text_);
  }
  std::string text() {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;

 public:
  Console console;
};

TEST(ConsoleInALog, WritesALineAStageAndOneEveryFiveSeconds) {
  Recorder log(Verbosity::kNormal, false);
  log.console.stage("searching");
  for (int i = 1; i <= 12; ++i) {
    fake_now += 1s;
    log.console.update(100 * static_cast<std::uint64_t>(i), 2000, "best 1.05x");
  }
  EXPECT_EQ(log.text(), "searching\n"
                        "searching 500 of 2,000, 100/s, best 1.05x\n"
                        "searching 1,000 of 2,000, 100/s, best 1.05x\n");
}

TEST(ConsoleInALog, LeavesOutATotalThatIsNotKnown) {
  Recorder log(Verbosity::kNormal, false);
  log.console.stage("searching");
  fake_now += 10s;
  log.console.update(5, 0, "");
  EXPECT_EQ(log.text(), "searching\nsearching 5, 0.5/s\n");
}

TEST(ConsoleOnATerminal, RewritesOneLineAndTakesItAway) {
  Recorder terminal(Verbosity::kNormal, true);
  terminal.console.stage("searching");
  fake_now += 50ms;
  terminal.console.update(1, 4, "too soon to be shown");
  fake_now += 50ms;
  terminal.console.update(2, 4, "");
  terminal.console.finish();
  EXPECT_EQ(terminal.text(),
            "\rsearching\x1b[K\rsearching [##########..........] 2 of 4\x1b[K\r\x1b[K");
}

TEST(ConsoleOnATerminal, CutsTheLineToItsWidth) {
  Recorder terminal(Verbosity::kNormal, true, 12);
  terminal.console.stage("a stage with a long name");
  EXPECT_EQ(terminal.text(), "\ra stage wi…\x1b[K");
}

TEST(ConsoleOnATerminal, MessagesStandAboveTheProgressLine) {
  Recorder terminal(Verbosity::kNormal, true);
  terminal.console.stage("reading");
  terminal.console.log(core::LogLevel::kWarning, "batch is taken to be 1");
  EXPECT_EQ(terminal.text(),
            "\rreading\x1b[K\r\x1b[Kwarning: batch is taken to be 1\n\rreading\x1b[K");
}

std::string all_levels(Verbosity verbosity) {
  Recorder log(verbosity, false);
  log.console.stage("stage");
  log.console.log(core::LogLevel::kError, "e");
  log.console.log(core::LogLevel::kWarning, "w");
  log.console.log(core::LogLevel::kInfo, "i");
  log.console.log(core::LogLevel::kDebug, "d");
  return log.text();
}

TEST(Console, VerbosityDecidesWhatIsSaid) {
  EXPECT_EQ(all_levels(Verbosity::kQuiet), "error: e\n");
  EXPECT_EQ(all_levels(Verbosity::kNormal), "stage\nerror: e\nwarning: w\ni\n");
  EXPECT_EQ(all_levels(Verbosity::kDebug), "stage\nerror: e\nwarning: w\ni\ndebug: d\n");
}

TEST(Console, LinesOfSeveralThreadsStayWhole) {
  Recorder log(Verbosity::kNormal, false);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) log.console.log(core::LogLevel::kInfo, "whole");
    });
  }
  for (auto& thread : threads) thread.join();
  std::string expected;
  for (int i = 0; i < 400; ++i) expected += "whole\n";
  EXPECT_EQ(log.text(), expected);
}

}  // namespace
}  // namespace soapstone::cli
