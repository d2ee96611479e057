// The database keeps what it is given through other writers, kills and damage, and says clearly
// what is wrong with a file that it cannot use.
#include "cost/database/cost_database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace soapstone::cost {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<CostDatabase> open(const fs::path& path) {
  auto database = CostDatabase::open(path);
  EXPECT_TRUE(database) << database.error().to_string();
  return database ? std::move(*database) : nullptr;
}

core::Error open_error(const fs::path& path) {
  auto database = CostDatabase::open(path);
  return database ? core::Error{core::ErrorCode::kInternal, "opened", {}, {}} : database.error();
}

void write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class CostDatabaseTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  fs::path path_ = folder_.path() / "costs.db";
};

TEST_F(CostDatabaseTest, FindsWhatWasStoredAndNothingElse) {
  auto database = open(path_);
  ASSERT_TRUE(database->store("cpu", "conv", {12.5, 0.25, 9, "jit"}));
  const auto found = database->find("cpu", "conv");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cost_us, 12.5);
  EXPECT_EQ(found->spread_us, 0.25);
  EXPECT_EQ(found->samples, 9);
  EXPECT_EQ(found->implementation, "jit");
  EXPECT_FALSE(database->find("cpu", "matmul"));
  EXPECT_FALSE(database->find("gpu", "conv"));
}

TEST_F(CostDatabaseTest, SurvivesClosingAndReplaces) {
  ASSERT_TRUE(open(path_)->store("cpu", "conv", {1, 0, 9, "a"}));
  ASSERT_TRUE(open(path_)->store("cpu", "conv", {2, 0, 9, "b"}));
  EXPECT_EQ(open(path_)->find("cpu", "conv")->cost_us, 2);
}

TEST_F(CostDatabaseTest, MakesItsFolder) {
  ASSERT_TRUE(open(folder_.path() / "a" / "b" / "costs.db"));
}

TEST_F(CostDatabaseTest, ListsDevices) {
  auto database = open(path_);
  EXPECT_TRUE(database->devices().empty());
  ASSERT_TRUE(database->store("z", "conv", {1, 0, 9, ""}));
  ASSERT_TRUE(database->store("a", "conv", {1, 0, 9, ""}));
  ASSERT_TRUE(database->store("a", "add", {1, 0, 9, ""}));
  const auto devices = database->devices();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].key, "a");
  EXPECT_EQ(devices[0].measurements, 2);
}

TEST_F(CostDatabaseTest, RefusesWhatIsNoTime) {
  auto database = open(path_);
  EXPECT_FALSE(database->store("cpu", "conv", {-1, 0, 9, ""}));
  EXPECT_FALSE(database->store("cpu", "conv", {1, std::nan(""), 9, ""}));
  EXPECT_FALSE(database->find("cpu", "conv"));
}

TEST_F(CostDatabaseTest, IsSafeFromSeveralThreads) {
  auto database = open(path_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string signature = std::to_string(t) + "/" + std::to_string(i);
        EXPECT_TRUE(database->store("cpu", signature, {1.0 * i, 0, 9, ""}));
        EXPECT_EQ(database->find("cpu", signature)->cost_us, i);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(database->devices()[0].measurements, 200);
}

/// Runs `work` in a child process that ends with 0 if it returns true.
template <class Work>
pid_t in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  return child;
}

int exit_status(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(CostDatabaseTest, TwoProcessesCreateAndWriteAtOnce) {
  const auto writer = [this](const std::string& name) {
    return in_child([this, name] {
      auto database = CostDatabase::open(path_);
      if (!database) return false;
      for (int i = 0; i < 200; ++i) {
        if (!(*database)->store(name, std::to_string(i), {1.0 * i, 0, 9, ""})) return false;
      }
      return true;
    });
  };
  const pid_t a = writer("a"), b = writer("b"), c = writer("c");
  for (const pid_t child : {a, b, c}) EXPECT_EQ(exit_status(child), 0);
  const auto devices = open(path_)->devices();
  ASSERT_EQ(devices.size(), 3u);
  for (const auto& device : devices) EXPECT_EQ(device.measurements, 200);
}

TEST_F(CostDatabaseTest, KeepsWhatAKilledProcessHadStored) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = in_child([&] {
    auto database = CostDatabase::open(path_);
    for (std::int64_t i = 0; database; ++i) {
      if (!(*database)->store("cpu", std::to_string(i), {1.0, 0, 9, ""})) return false;
      if (i == 100 && ::write(ready[1], "x", 1) != 1) return false;
    }
    return false;
  });
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(exit_status(child)));
  auto database = open(path_);
  for (int i = 0; i <= 100; ++i) EXPECT_TRUE(database->find("cpu", std::to_string(i))) << i;
  EXPECT_TRUE(database->store("cpu", "after", {1, 0, 9, ""}));
}

TEST_F(CostDatabaseTest, SaysWhenAFileIsNoDatabase) {
  write(path_, std::string(4096, 'x'));
  const core::Error error = open_error(path_);
  EXPECT_EQ(error.code, core::ErrorCode::kUnavailable);
  EXPECT_EQ(error.where, path_.string());
  EXPECT_EQ(error.message, "file is not a database");
  EXPECT_FALSE(error.hint.empty());
  EXPECT_EQ(read(path_), std::string(4096, 'x')) << "a foreign file is left as it is";
}

void run_sql(const fs::path& path, const char* sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
}

TEST_F(CostDatabaseTest, SaysWhenADatabaseIsAnotherPrograms) {
  run_sql(path_, "CREATE TABLE bookmarks (url TEXT)");
  const std::string before = read(path_);
  EXPECT_EQ(open_error(path_).message, "is a database of another program");
  EXPECT_EQ(read(path_), before);
}

TEST_F(CostDatabaseTest, SaysWhenTheSchemaIsOfAnotherVersion) {
  open(path_);
  run_sql(path_, "PRAGMA user_version = 7");
  EXPECT_EQ(open_error(path_).message, "has cost schema 7; this version reads schema 1");
}

TEST_F(CostDatabaseTest, SaysWhenPagesAreDamaged) {
  {
    auto database = open(path_);
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(database->store("cpu", std::string(50, 'x') + std::to_string(i), {1, 0, 9, ""}));
    }
  }
  std::string bytes = read(path_);
  ASSERT_GT(bytes.size(), 16384u);
  std::fill(bytes.begin() + 8192, bytes.begin() + 12288, '\xff');
  write(path_, bytes);
  const core::Error error = open_error(path_);
  EXPECT_EQ(error.code, core::ErrorCode::kUnavailable);
  EXPECT_FALSE(error.hint.empty());
}

TEST_F(CostDatabaseTest, SaysWhenItCannotBeOpened) {
  const core::Error error = open_error(folder_.path());
  EXPECT_EQ(error.message, "unable to open database file");
  write(folder_.path() / "file", "x");
  EXPECT_EQ(open_error(folder_.path() / "file" / "costs.db").code, core::ErrorCode::kUnavailable);
}

TEST_F(CostDatabaseTest, DefaultPathFollowsTheEnvironment) {
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(CostDatabase::default_path(), "/somewhere/soapstone/costs.db");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(CostDatabase::default_path(), "/home/somebody/.cache/soapstone/costs.db");
}

class JsonLinesTest : public CostDatabaseTest {
 protected:
  fs::path lines_ = folder_.path() / "costs.jsonl";
};

TEST_F(JsonLinesTest, ImportGivesBackWhatWasExported) {
  auto database = open(path_);
  for (int i = 1; i < 100; ++i) {
    ASSERT_TRUE(database->store("cpu \"x\"\n", "sig\t" + std::to_string(i),
                                {1e4 / i, 1.0 / i, i, "jit:é"}));
  }
  EXPECT_EQ(*database->export_json_lines(lines_), 99u);
  auto other = open(folder_.path() / "other.db");
  EXPECT_EQ(*other->import_json_lines(lines_), 99u);
  for (int i = 1; i < 100; ++i) {
    const std::string signature = "sig\t" + std::to_string(i);
    const auto a = database->find("cpu \"x\"\n", signature);
    const auto b = other->find("cpu \"x\"\n", signature);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->cost_us, b->cost_us);
    EXPECT_EQ(a->spread_us, b->spread_us);
    EXPECT_EQ(a->samples, b->samples);
    EXPECT_EQ(a->implementation, b->implementation);
  }
  const std::string exported = read(lines_);
  EXPECT_EQ(*other->export_json_lines(lines_), 99u);
  EXPECT_EQ(read(lines_), exported);
}

TEST_F(JsonLinesTest, WritesOneObjectALine) {
  auto database = open(path_);
  ASSERT_TRUE(database->store("cpu", "conv", {1.5, 0.25, 9, "jit"}));
  ASSERT_TRUE(database->export_json_lines(lines_));
  EXPECT_EQ(read(lines_),
            "{\"device\":\"cpu\",\"signature\":\"conv\",\"cost_us\":1.5,\"spread_us\":0.25,"
            "\"samples\":9,\"implementation\":\"jit\"}\n");
}

struct BadImport {
  const char* text;
  int line;
  const char* message;
};

TEST_F(JsonLinesTest, RefusesABadFileWholeAndSaysWhere) {
  const std::string good =
      R"({"device":"d","signature":"s","cost_us":1,"spread_us":0,"samples":9,"implementation":"i"})"
      "\n";
  for (const BadImport& bad : {
           BadImport{"nonsense\n", 2, "not a JSON object"},
           BadImport{"[1]\n", 2, "not a JSON object"},
           BadImport{"\n{}\n", 3, "\"device\" is missing"},
           BadImport{R"({"device":1})", 2, "\"device\" must be a text, not integer"},
           BadImport{R"({"device":"d","signature":"s","cost_us":"1"})", 2,
                     "\"cost_us\" must be a number, not text"},
           BadImport{R"({"device":"d","signature":"s","cost_us":-1,"spread_us":0,"samples":9,)"
                     R"("implementation":""})",
                     2, "a time of -1 us, give or take 0 us"},
       }) {
    write(lines_, good + bad.text);
    auto database = open(path_);
    const auto imported = database->import_json_lines(lines_);
    ASSERT_FALSE(imported) << bad.text;
    EXPECT_EQ(imported.error().message, bad.message);
    EXPECT_EQ(imported.error().where, lines_.string() + ":" + std::to_string(bad.line));
    EXPECT_EQ(imported.error().code, core::ErrorCode::kInvalidInput);
    EXPECT_FALSE(database->find("d", "s")) << "the lines before the bad one are not kept";
    EXPECT_TRUE(database->store("d", "still usable", {1, 0, 1, ""}));
  }
}

TEST_F(JsonLinesTest, SaysWhichFileCannotBeReadOrWritten) {
  auto database = open(path_);
  EXPECT_EQ(database->import_json_lines(folder_.path() / "absent").error().message,
            "cannot be read");
  EXPECT_EQ(database->import_json_lines(folder_.path()).error().message, "cannot be read");
  EXPECT_EQ(database->export_json_lines(folder_.path() / "no" / "folder").error().message,
            "cannot be written: No such file or directory");
}

}  // namespace
}  // namespace soapstone::cost
