// Files that are there as a whole or not at all.
#include "core/base/file_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "tests/support/temporary_folder.h"

namespace soapstone::core {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FileIo : public testing::Test {
 protected:
  std::string contents(const fs::path& path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  TemporaryFolder folder_;
};

TEST_F(FileIo, ReadsAWholeFileHoweverLong) {
  for (const std::size_t size : {0, 1, 65536, 200001}) {
    std::string text(size, 'a');
    if (size > 0) text.back() = '\0';
    ASSERT_TRUE(write_file(folder_ / "long", text).ok());
    EXPECT_EQ(read_file(folder_ / "long").value(), text);
  }
  EXPECT_THAT(read_file(folder_ / "absent").error().to_string(),
              HasSubstr("absent: cannot be read: No such file"));
  EXPECT_THAT(read_file(folder_.path()).error().to_string(), HasSubstr("Is a directory"));
}

TEST_F(FileIo, NothingIsThereBeforeTheCommit) {
  const fs::path path = folder_ / "out";
  const auto file = AtomicFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write("half ").ok());
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE((*file)->write("and half").ok());
  ASSERT_TRUE((*file)->commit().ok());
  EXPECT_EQ(contents(path), "half and half");
  EXPECT_EQ(files(), 1U);
}

TEST_F(FileIo, WhatIsNotCommittedLeavesNothing) {
  const fs::path path = folder_ / "out";
  ASSERT_TRUE(write_file(path, "old").ok());
  {
    const auto file = AtomicFile::create(path);
    ASSERT_TRUE((*file)->write("new").ok());
  }
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(FileIo, NotEvenAKilledProcessLeavesAPart) {
  const fs::path path = folder_ / "out";
  ASSERT_TRUE(write_file(path, "old").ok());
  const pid_t child = fork();
  if (child == 0) {
    const auto file = AtomicFile::create(path);
    (void)(*file)->write("new");
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(FileIo, KeepsPermissionsAndLinks) {
  const fs::path path = folder_ / "out", link = folder_ / "link";
  ASSERT_TRUE(write_file(path, "old").ok());
  chmod(path.c_str(), 0640);
  fs::create_symlink(path, link);
  ASSERT_TRUE(write_file(link, "new").ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(contents(path), "new");
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST_F(FileIo, SaysWhatCannotBeWritten) {
  const auto nowhere = write_file(folder_ / "no/out", "text");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().code, ErrorCode::kInvalidInput);
  EXPECT_FALSE(write_file(folder_.path(), "text").ok());
  const auto full = write_file("/dev/full", "text");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(full.error().message, HasSubstr("No space left"));
  EXPECT_TRUE(write_file("/dev/null", "text").ok());
}

TEST_F(FileIo, LinesAreWholeWhereTheDiskIsFull) {
  const fs::path path = folder_ / "log";
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{25, 25};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto file = LineFile::create(path);
    for (int k = 0; k < 3; ++k) (*file)->append("ten bytes\n");
    _exit((*file)->status().ok() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(contents(path), "ten bytes\nten bytes\n");
}

}  // namespace
}  // namespace soapstone::core
