// The typed client against a worker that keeps to the protocol, and against ones that do not.
#include "workers/runtime_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace soapstone::workers {
namespace {

using ::testing::HasSubstr;

class Fake : public ::testing::Test {
 protected:
  Fake() : folder_(*PrivateFolder::make()) {}

  core::Result<RuntimeWorker> start(const std::string& fault) {
    WorkerOptions options;
    options.command = {"python3", SOAPSTONE_SOURCE_DIR "/tests/workers/fake_worker.py", fault,
                       (folder_.path() / "processes").string()};
    options.run_timeout_s = 0.5;
    return RuntimeWorker::start(options);
  }

  /// Loads, and runs on 1, 2, 3.
  core::Result<std::vector<NamedTensor>> run(RuntimeWorker& worker) {
    auto model = worker.load("model.onnx", {});
    if (!model) return model.error();
    const float values[] = {1, 2, 3};
    const NamedTensor x{"x", core::Literal::floats({3}, values)};
    return worker.run(*model, std::span(&x, 1));
  }

  int processes() {
    std::ifstream file(folder_.path() / "processes");
    int count = 0;
    file >> count;
    return count;
  }

  PrivateFolder folder_;
};

TEST_F(Fake, RunsAModel) {
  auto worker = start("none");
  ASSERT_TRUE(worker.ok()) << worker.error().to_string();
  EXPECT_EQ(worker->identity().name, "Fake");
  EXPECT_EQ(worker->identity().version, "1.0");
  const auto outputs = run(*worker);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  ASSERT_EQ(outputs->size(), 1U);
  EXPECT_EQ((*outputs)[0].name, "y");
  EXPECT_THAT((*outputs)[0].value.to_doubles(), ::testing::ElementsAre(2, 4, 6));
  EXPECT_EQ(worker->restarts(), 0);
}

struct Fault {
  const char* name;
  const char* said;  ///< In the message.
};

class Faults : public Fake, public ::testing::WithParamInterface<Fault> {};

/// Each costs one restart; if it happens again it is an error that says what went wrong.
TEST_P(Faults, EndAfterOneRestart) {
  auto worker = start(GetParam().name);
  ASSERT_TRUE(worker.ok());
  const auto outputs = run(*worker);
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, core::ErrorCode::kUnavailable);
  EXPECT_THAT(outputs.error().message, HasSubstr(GetParam().said));
  EXPECT_EQ(processes(), 2);
}

TEST_P(Faults, DoNoHarmIfTheyHappenOnce) {
  auto worker = start(std::string("once:") + GetParam().name);
  ASSERT_TRUE(worker.ok());
  const auto outputs = run(*worker);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  EXPECT_THAT((*outputs)[0].value.to_doubles(), ::testing::ElementsAre(2, 4, 6));
  EXPECT_EQ(worker->restarts(), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Each, Faults,
    ::testing::Values(Fault{"crash", "crashed (signal 11)"}, Fault{"killed", "memory runs out"},
                      Fault{"exit", "something is wrong with me"}, Fault{"hang", "no answer"},
                      Fault{"half", "ended with status 0"}, Fault{"garbage", "no JSON object"},
                      Fault{"huge", "more than 1048576 bytes"},
                      Fault{"memory", "ran out of memory"}, Fault{"other_id", "another id"},
                      Fault{"no_list", "no list of outputs"},
                      Fault{"longer_dims", "is to have 20 bytes and has 12"},
                      Fault{"huge_dims", "too many elements"}, Fault{"negative_dims", "no size"},
                      Fault{"real_dims", "no size"}, Fault{"no_dims", "lacks"},
                      Fault{"unknown_type", "no element type 'f7'"},
                      Fault{"wider_type", "is to have 24 bytes and has 12"},
                      Fault{"string_type", "no element type"}, Fault{"number_name", "lacks"},
                      Fault{"other_folder", "no plain name"},
                      Fault{"absent_file", "has not written"}, Fault{"link", "has not written"}),
    [](const auto& fault) { return std::string(fault.param.name); });

TEST_F(Fake, RefusalsAreNoFaults) {
  auto worker = start("refuse");
  ASSERT_TRUE(worker.ok());
  const auto outputs = run(*worker);
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, core::ErrorCode::kUnsupported);
  EXPECT_EQ(outputs.error().message, "no kernel");
  EXPECT_EQ(processes(), 1);
}

TEST_F(Fake, HelloMustBeAnswered) {
  WorkerOptions options;
  options.command = {"/bin/sh", "-c", "while read line; do echo '{\"id\": 1, \"ok\": {}}'; done"};
  const auto worker = RuntimeWorker::start(options);
  ASSERT_FALSE(worker.ok());
  EXPECT_THAT(worker.error().message, HasSubstr("another protocol"));
}

TEST_F(Fake, NamesMustBeUtf8) {
  auto worker = start("none");
  ASSERT_TRUE(worker.ok());
  const auto model = worker->load("model\xff.onnx", {});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, core::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace soapstone::workers
