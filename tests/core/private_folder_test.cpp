// Folders for temporary files: whose they are, and what becomes of those of a process that was
// killed.
#include "core/base/private_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <string>

#include "tests/support/temporary_folder.h"

namespace soapstone::core {
namespace {

namespace fs = std::filesystem;

std::size_t count_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(PrivateFolder, IsOursAloneAndGoesAway) {
  fs::path path;
  {
    const auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder.ok());
    path = folder->path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(path / "a") << "a";
  }
  EXPECT_FALSE(fs::exists(path));
}

/// Leaves the folder of a process that is killed, with a file in it.
void leave_folder(const fs::path& parent) {
  const pid_t child = fork();
  if (child == 0) {
    const auto folder = PrivateFolder::make(parent);
    std::ofstream(folder->path() / "a") << "a";
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(PrivateFolder, RemovesThoseOfProcessesThatWereKilled) {
  const TemporaryFolder parent;
  leave_folder(parent.path());
  ASSERT_EQ(count_in(parent.path()), 1U);
  {
    const auto mine = PrivateFolder::make(parent.path());
    ASSERT_TRUE(mine.ok());
    EXPECT_EQ(count_in(parent.path()), 1U);
    EXPECT_TRUE(fs::exists(mine->path()));
  }
  EXPECT_EQ(count_in(parent.path()), 0U);
}

TEST(PrivateFolder, LeavesThoseThatAreInUse) {
  const TemporaryFolder parent;
  auto first = PrivateFolder::make(parent.path());
  ASSERT_TRUE(first.ok());
  PrivateFolder moved = *std::move(first);
  const pid_t child = fork();
  if (child == 0) {
    { const auto other = PrivateFolder::make(parent.path()); }
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const auto second = PrivateFolder::make(parent.path());
  EXPECT_TRUE(fs::exists(moved.path()));
  EXPECT_EQ(count_in(parent.path()), 2U);
}

/// A link is not followed, and a folder that others may write into is not ours.
TEST(PrivateFolder, LeavesWhatIsNotOurs) {
  const TemporaryFolder parent, elsewhere;
  std::ofstream(elsewhere / "kept") << "kept";
  fs::create_directory_symlink(elsewhere.path(), parent / ".soapstone-run-linked");
  fs::create_directory(parent / ".soapstone-run-public");
  fs::permissions(parent / ".soapstone-run-public", fs::perms::all);
  fs::create_directory(parent / "other");
  std::ofstream(parent / ".soapstone-run-file") << "kept";
  leave_folder(parent.path());
  // The link that a killed process left in its own folder is removed, what it leads to is not.
  for (const auto& entry : fs::directory_iterator(parent.path()))
    if (entry.is_directory() && fs::exists(entry.path() / "a") && !entry.is_symlink())
      fs::create_directory_symlink(elsewhere.path(), entry.path() / "link");
  const auto mine = PrivateFolder::make(parent.path());
  ASSERT_TRUE(mine.ok());
  EXPECT_EQ(count_in(parent.path()), 5U);
  EXPECT_TRUE(fs::exists(elsewhere / "kept"));
}

TEST(PrivateFolder, SaysWhyNoneCanBeMade) {
  const auto none = PrivateFolder::make("/proc/absent");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(none.error().message.find("No such file"), std::string::npos) << none.error().message;
}

}  // namespace
}  // namespace soapstone::core
