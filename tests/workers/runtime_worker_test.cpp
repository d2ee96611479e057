// The typed client against a worker that keeps to the protocol, and against ones that do not.
#include "workers/runtime_worker.h"

#include <chrono>
#include <thread>

#include "core/base/stop_scope.h"
#include "tests/workers/fake.h"

namespace soapstone::workers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(Fake, RunsTimesAndProfilesAModel) {
  auto worker = start("none");
  ASSERT_TRUE(worker.ok()) << worker.error().to_string();
  EXPECT_EQ(worker->identity().name, "Fake");
  EXPECT_EQ(worker->identity().version, "1.0");
  EXPECT_THAT(worker->identity().providers, ElementsAre("CPU"));
  const auto model = loaded(*worker);
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  for (const char* verb : {"run", "time", "profile"}) {
    const auto outputs = ask(*worker, *model, verb);
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    EXPECT_THAT(*outputs, ElementsAre(2, 4, 6)) << verb;
  }
  EXPECT_EQ(worker->restarts(), 0);
}

TEST_F(Fake, KernelsAreReadInFull) {
  auto worker = start("none");
  ASSERT_TRUE(worker.ok());
  const auto profile = worker->profile(*loaded(*worker), 5);
  ASSERT_TRUE(profile.ok()) << profile.error().to_string();
  ASSERT_EQ(profile->kernels.size(), 1U);
  const RuntimeKernel& kernel = profile->kernels[0];
  EXPECT_EQ(kernel.name, "twice");
  EXPECT_EQ(kernel.op, "Mul");
  EXPECT_THAT(kernel.inputs, ElementsAre("x", "two"));
  EXPECT_THAT(kernel.outputs, ElementsAre("y"));
  EXPECT_THAT(kernel.origins, ElementsAre("a", "b"));
}

TEST_F(Fake, RoundsAreWithinBounds) {
  auto worker = start("none");
  ASSERT_TRUE(worker.ok());
  const std::size_t model = *loaded(*worker);
  const std::size_t models[] = {model, model};
  const auto count = [&](int rounds) {
    const auto samples = worker->time(models, rounds, 1e6);
    return samples ? samples->at(1).cpu_us.size() : 0;
  };
  EXPECT_EQ(count(-1), 3U);
  EXPECT_EQ(count(7), 7U);
  EXPECT_EQ(count(1'000'000), 5000U);
  const std::vector<std::size_t> many(4000, model);
  EXPECT_EQ(worker->time(many, 3, 1e6).error().code, core::ErrorCode::kUnsupported);
  EXPECT_TRUE(worker->time({}, 3, 1e6)->empty());
}

struct Fault {
  const char* name;
  const char* said;  ///< In the message.
  std::string verb() const { return std::string(name).substr(0, std::string(name).find(':')); }
};

class Faults : public Fake, public ::testing::WithParamInterface<Fault> {
 protected:
  /// The answer to the verb that is faulty; prepare() and load() are on the way to all others.
  core::Result<std::vector<double>> answer_of(RuntimeWorker& worker) {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t model, loaded(worker));
    return ask(worker, model, GetParam().verb());
  }
};

/// Each costs one restart; if it happens again it is an error that says what went wrong.
TEST_P(Faults, EndAfterOneRestart) {
  auto worker = start(GetParam().name);
  ASSERT_TRUE(worker.ok());
  const auto outputs = answer_of(*worker);
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, core::ErrorCode::kUnavailable);
  EXPECT_THAT(outputs.error().message, HasSubstr(GetParam().said));
  EXPECT_EQ(processes(), 2);
}

/// What was loaded and prepared in the first process is there in the second.
TEST_P(Faults, DoNoHarmIfTheyHappenOnce) {
  auto worker = start(std::string("once:") + GetParam().name);
  ASSERT_TRUE(worker.ok());
  const auto outputs = answer_of(*worker);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  EXPECT_THAT(*outputs, ElementsAre(2, 4, 6));
  EXPECT_EQ(worker->restarts(), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Each, Faults,
    ::testing::Values(
        Fault{"load:crash", "crashed (signal 11)"}, Fault{"load:hang", "no answer"},
        Fault{"load:garbage", "I was told to say so"}, Fault{"load:memory", "ran out of memory"},
        Fault{"run:crash", "crashed (signal 11)"}, Fault{"run:killed", "memory runs out"},
        Fault{"run:exit", "something is wrong with me"}, Fault{"run:hang", "no answer"},
        Fault{"run:half", "ended with status 0"}, Fault{"run:garbage", "no JSON object"},
        Fault{"run:deep", "no JSON object"}, Fault{"run:huge", "more than 1048576 bytes"},
        Fault{"run:memory", "ran out of memory"}, Fault{"run:other_id", "another id"},
        Fault{"run:no_list", "no list of outputs"},
        Fault{"run:longer_dims", "is to have 20 bytes and has 12"},
        Fault{"run:huge_dims", "too many elements"}, Fault{"run:negative_dims", "no size"},
        Fault{"run:real_dims", "no size"}, Fault{"run:no_dims", "lacks"},
        Fault{"run:unknown_type", "no element type 'f7'"},
        Fault{"run:wider_type", "is to have 24 bytes and has 12"},
        Fault{"run:string_type", "no element type"}, Fault{"run:number_name", "lacks"},
        Fault{"run:other_folder", "no plain name"}, Fault{"run:absent_file", "has not written"},
        Fault{"run:link", "has not written"}, Fault{"prepare:crash", "crashed (signal 11)"},
        Fault{"prepare:hang", "no answer"}, Fault{"prepare:garbage", "I was told to say so"},
        Fault{"prepare:other_id", "another id"}, Fault{"time:crash", "crashed (signal 11)"},
        Fault{"time:hang", "no answer"}, Fault{"time:garbage", "I was told to say so"},
        Fault{"time:huge", "more than 1048576 bytes"}, Fault{"time:nan", "no JSON object"},
        Fault{"time:infinite", "no JSON object"}, Fault{"time:negative", "is none: -1"},
        Fault{"time:zero", "no time at all"}, Fault{"time:text", "is none: \"7\""},
        Fault{"time:too_few", "2 samples"}, Fault{"time:too_many", "4 samples"},
        Fault{"time:uneven", "more samples of one kind"},
        Fault{"time:model_less", "samples of 2 models"},
        Fault{"time:no_samples", "samples of 2 models"}, Fault{"time:no_wall", "lack wall_us"},
        Fault{"time:list_of_lists", "are no object"}, Fault{"profile:crash", "crashed (signal 11)"},
        Fault{"profile:hang", "no answer"}, Fault{"profile:garbage", "I was told to say so"},
        Fault{"profile:nan", "no JSON object"}, Fault{"profile:negative", "takes no time"},
        Fault{"profile:no_time", "takes no time"}, Fault{"profile:no_name", "lacks name"},
        Fault{"profile:number_input", "lacks name"}, Fault{"profile:no_outputs", "lacks name"},
        Fault{"profile:number_kernel", "a kernel is no object"},
        Fault{"profile:no_kernels", "no list of kernels"}, Fault{"profile:no_total", "no total_us"},
        Fault{"profile:zero_total", "no total_us"},
        Fault{"profile:negative_cpu", "no total_cpu_us"},
        Fault{"profile:other_folder", "no plain name"},
        Fault{"profile:absent_file", "has not written"}, Fault{"profile:link", "has not written"},
        Fault{"profile:deep_file", "no JSON object"},
        Fault{"profile:huge_file", "more than 33554432 bytes"}),
    [](const auto& fault) {
      std::string name = fault.param.name;
      return name.replace(name.find(':'), 1, "_");
    });

TEST_F(Fake, RefusalsAreNoFaults) {
  for (const char* verb : {"run", "time", "profile"}) {
    std::filesystem::remove(folder_.path() / "processes");
    auto worker = start(std::string(verb) + ":refuse");
    ASSERT_TRUE(worker.ok());
    const auto outputs = ask(*worker, *loaded(*worker), verb);
    ASSERT_FALSE(outputs.ok()) << verb;
    EXPECT_EQ(outputs.error().code, core::ErrorCode::kUnsupported);
    EXPECT_EQ(outputs.error().message, "no kernel");
    EXPECT_EQ(processes(), 1);
  }
}

/// No restart: whoever asked to stop does not want to wait for another process. Whoever goes on
/// afterward has his models there.
TEST_F(Fake, AWishToStopIsNoFault) {
  auto worker = start("once:run:silent");
  ASSERT_TRUE(worker.ok());
  const auto model = loaded(*worker);
  ASSERT_TRUE(model.ok());
  {
    core::StopToken stop;
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      stop.request_stop();
    });
    const core::StopScope scope(&stop);
    const auto outputs = run(*worker, *model);
    later.join();
    ASSERT_FALSE(outputs.ok());
    EXPECT_EQ(outputs.error().code, core::ErrorCode::kInterrupted);
    EXPECT_EQ(worker->restarts(), 0);
    EXPECT_EQ(run(*worker, *model).error().code, core::ErrorCode::kInterrupted);
  }
  const auto outputs = run(*worker, *model);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  EXPECT_THAT(*outputs, ElementsAre(2, 4, 6));
}

TEST_F(Fake, AModelThatCannotBeLoadedHasAHint) {
  auto worker = start("load:refuse");
  ASSERT_TRUE(worker.ok());
  const auto model = worker->load("model.onnx", {});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, core::ErrorCode::kUnsupported);
  EXPECT_EQ(model.error().message, "Fake cannot load the model: no kernel");
  EXPECT_THAT(model.error().hint, HasSubstr("another runtime"));
}

TEST_F(Fake, HelloMustBeAnswered) {
  const auto answer_to_hello = [](const std::string& body) {
    WorkerOptions options;
    options.command = {"/bin/sh", "-c",
                       "while read line; do echo '{\"id\": 1, \"ok\": " + body + "}'; done"};
    return RuntimeWorker::start(options).error().message;
  };
  EXPECT_THAT(answer_to_hello("{}"), HasSubstr("speaks protocol ?, not 2"));
  EXPECT_THAT(answer_to_hello("{\"protocol\": 1}"), HasSubstr("speaks protocol 1, not 2"));
  EXPECT_THAT(answer_to_hello("{\"protocol\": 2, \"runtime\": \"R\"}"), HasSubstr("which runtime"));
  EXPECT_THAT(answer_to_hello(
                  "{\"protocol\": 2, \"runtime\": \"R\", \"version\": \"1\", \"providers\": 3}"),
              HasSubstr("no list of providers"));
}

TEST_F(Fake, NamesMustBeUtf8) {
  auto worker = start("none");
  ASSERT_TRUE(worker.ok());
  LoadOptions options;
  for (const char* path : {"model\xff.onnx", "model.onnx"}) {
    const auto model = worker->load(path, options);
    EXPECT_EQ(model.ok(), std::string_view(path) == "model.onnx");
  }
  options.options = {{"key", "\xff"}};
  EXPECT_EQ(worker->load("model.onnx", options).error().code, core::ErrorCode::kUnsupported);
}

/// Each process ends somewhere in its first 24 requests. An answer comes or an error does, and what
/// comes is right; the same requests made again come to an end.
TEST_F(Fake, ProcessesThatAreKilledAtRandomChangeNoResult) {
  auto worker = start("chaos");
  ASSERT_TRUE(worker.ok()) << worker.error().to_string();
  const auto model = loaded(*worker);
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  const std::string verbs[] = {"run", "time", "profile"};
  int answers = 0;
  for (std::size_t turn = 0; worker->restarts() < 100; ++turn) {
    const auto outputs = ask(*worker, *model, verbs[turn % 3]);
    if (!outputs) {
      EXPECT_EQ(outputs.error().code, core::ErrorCode::kUnavailable) << outputs.error().message;
      continue;
    }
    EXPECT_THAT(*outputs, ElementsAre(2, 4, 6)) << verbs[turn % 3];
    ++answers;
  }
  EXPECT_GT(answers, 100);
}

}  // namespace
}  // namespace soapstone::workers
