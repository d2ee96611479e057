// A process that answers lines, and every way in which one does not.
#include "workers/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "core/base/stop_scope.h"

namespace soapstone::workers {
namespace {

using ::testing::HasSubstr;

core::Result<WorkerProcess> shell(const std::string& script) {
  return WorkerProcess::start({"/bin/sh", "-c", script});
}

/// The answer of such a script to one line.
core::Result<std::string> answer_of(const std::string& script, double timeout_s = 10) {
  auto process = shell(script);
  if (!process) return process.error();
  return process->exchange("question", timeout_s);
}

std::string failure_of(const std::string& script, double timeout_s = 10) {
  const auto answer = answer_of(script, timeout_s);
  EXPECT_FALSE(answer.ok()) << *answer;
  if (answer) return {};
  EXPECT_EQ(answer.error().code, core::ErrorCode::kUnavailable);
  return answer.error().message;
}

TEST(WorkerProcess, AnswersLineByLine) {
  auto process = shell("while read line; do echo \"got $line\"; done");
  ASSERT_TRUE(process.ok());
  for (const char* text : {"one", "two", "three"}) {
    const auto answer = process->exchange(text, 10);
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    EXPECT_EQ(*answer, std::string("got ") + text);
  }
}

TEST(WorkerProcess, ProgramThatIsNotThere) {
  const auto process = WorkerProcess::start({"/no/such/program"});
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().code, core::ErrorCode::kUnavailable);
  EXPECT_THAT(process.error().to_string(), HasSubstr("/no/such/program: cannot be run"));
}

TEST(WorkerProcess, CrashIsNamed) {
  EXPECT_THAT(failure_of("read line; kill -SEGV $$"), HasSubstr("crashed (signal 11)"));
  EXPECT_THAT(failure_of("read line; kill -KILL $$"), HasSubstr("memory runs out"));
  EXPECT_THAT(failure_of("read line; echo 'bad day' >&2; exit 3"),
              AllOf(HasSubstr("ended with status 3"), HasSubstr("bad day")));
}

TEST(WorkerProcess, EndBeforeTheQuestionIsRead) {
  EXPECT_THAT(failure_of("exit 5"), HasSubstr("ended with status 5"));
}

TEST(WorkerProcess, SilenceEnds) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(failure_of("sleep 100", 0.3), HasSubstr("no answer within 0.3 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
}

TEST(WorkerProcess, AWishToStopEndsTheWait) {
  auto process = shell("sleep 100");
  ASSERT_TRUE(process.ok());
  core::StopToken stop;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  const core::StopScope scope(&stop);
  const auto answer = process->exchange("question", 100);
  later.join();
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, core::ErrorCode::kInterrupted);
  EXPECT_TRUE(scope.has_interrupted());
  EXPECT_FALSE(process->is_running()) << "nobody reads an answer that comes later";
}

TEST(WorkerProcess, HalfALineIsNoAnswer) {
  EXPECT_THAT(failure_of("read line; printf half; sleep 100", 0.3), HasSubstr("no answer"));
  EXPECT_THAT(failure_of("read line; printf half"), HasSubstr("ended with status 0"));
}

TEST(WorkerProcess, LinesHaveALimit) {
  const std::string write = "read line; head -c {} /dev/zero | tr '\\0' x; echo";
  const auto script = [&](const char* count) {
    std::string text = write;
    return text.replace(text.find("{}"), 2, count);
  };
  const auto just = answer_of(script("1048576"));
  ASSERT_TRUE(just.ok()) << just.error().to_string();
  EXPECT_EQ(just->size(), 1048576U);
  EXPECT_THAT(failure_of(script("1048577")), HasSubstr("more than 1048576 bytes"));
  EXPECT_THAT(failure_of("read line; cat /dev/zero"), HasSubstr("more than 1048576 bytes"));
}

TEST(WorkerProcess, MoreThanAnAnswerIsSeenNextTime) {
  auto process = shell("while read line; do printf 'a\\nb\\n'; done");
  ASSERT_TRUE(process.ok());
  ASSERT_TRUE(process->exchange("one", 10).ok());
  const auto second = process->exchange("two", 10);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("without being asked"));
  EXPECT_FALSE(process->exchange("three", 10).ok()) << "it is dead";
}

TEST(WorkerProcess, MuchOnStandardErrorBlocksNobody) {
  const auto answer = answer_of("read line; head -c 3000000 /dev/zero | tr '\\0' x >&2; echo done");
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(*answer, "done");
}

TEST(WorkerProcess, LongQuestionToOneThatDoesNotRead) {
  auto process = shell("sleep 100");
  ASSERT_TRUE(process.ok());
  const auto answer = process->exchange(std::string(8'000'000, 'x'), 0.3);
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message, HasSubstr("no answer"));
}

TEST(WorkerProcess, InterruptOfOurGroupDoesNotReachIt) {
  auto process = shell("read line; echo $$");
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(getpgid(process->id()), process->id());
  EXPECT_NE(getpgid(process->id()), getpgrp());
  EXPECT_TRUE(process->exchange("alive?", 10).ok());
}

TEST(WorkerProcess, WhatItStartedDiesWithIt) {
  pid_t grandchild = 0;
  {
    auto process = shell("sleep 1000 & echo $!; wait");
    ASSERT_TRUE(process.ok());
    // The script speaks first, which is allowed until it is asked: so ask at once.
    const auto answer = process->exchange("who?", 10);
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    grandchild = std::stoi(*answer);
    EXPECT_EQ(kill(grandchild, 0), 0);
  }
  for (int k = 0; k < 100 && kill(grandchild, 0) == 0; ++k) {
    // An orphan that nobody waits for stays as a zombie where init does not reap.
    std::string state;
    const auto path = "/proc/" + std::to_string(grandchild) + "/stat";
    FILE* const file = fopen(path.c_str(), "r");
    if (file == nullptr) break;
    char buffer[256] = {};
    (void)!fread(buffer, 1, sizeof buffer - 1, file);
    fclose(file);
    state = buffer;
    if (state.find(") Z") != std::string::npos) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_NE(kill(grandchild, 0), 0);
}

}  // namespace
}  // namespace soapstone::workers
