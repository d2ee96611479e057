// Times graphs as the files that would be handed out, in the runtime of the deployment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cost/database/cost_database.h"
#include "jobs/deployment/deployment.h"
#include "search/trials/trials.h"

namespace soapstone::jobs {

class FileClock final : public search::TrialClock {
 public:
  /// Writes a graph as it will be handed out.
  using Write =
      std::function<core::Status(const core::Graph& graph, const std::filesystem::path& path)>;

  /// `original` is the user's own file, of which `graph` was read; empty: it is in no file.
  /// `records` keeps comparisons under `key` (null: nothing is kept) and must outlive the result.
  /// Errors: kUnsupported if the runtime cannot load or run the model; kUnavailable.
  static core::Result<std::unique_ptr<FileClock>>
  make(Deployment deployment, std::filesystem::path original, const core::Graph& graph, Write write,
       cost::CostDatabase* records, std::string key);

  std::string runtime() const override { return deployment_.description(); }
  core::Result<cost::Comparison> compare(const core::Graph& a, const core::Graph& b,
                                         double budget_s, const core::StopToken& stop) override;
  core::Result<cost::Comparison> compare_file(const core::Graph& original, const core::Graph& b,
                                              double budget_s,
                                              const core::StopToken& stop) override;

 private:
  /// A model in the worker. Its file is deleted when it is closed, unless it is the user's.
  struct Loaded {
    std::uint64_t hash = 0;    ///< Of the graph.
    std::uint64_t digest = 0;  ///< Of graph and file; 0 for the original.
    std::size_t model = 0;
    std::filesystem::path file;
    bool is_original = false;
  };

  FileClock(Deployment deployment, core::PrivateFolder folder, Write write,
            cost::CostDatabase* records, std::string key)
      : deployment_(std::move(deployment)), folder_(std::move(folder)), write_(std::move(write)),
        records_(records), key_(std::move(key)) {}

  /// A graph as it is written.
  core::Result<Loaded> load(const core::Graph& graph);
  core::Result<Loaded> load_file(std::uint64_t hash, const std::filesystem::path& file);
  void close_oldest();
  core::Result<cost::Comparison> measure(std::size_t a, std::size_t b, double budget_s,
                                         const core::StopToken& stop);

  Deployment deployment_;
  core::PrivateFolder folder_;
  Write write_;
  cost::CostDatabase* records_;
  const std::string key_;
  std::vector<workers::NamedTensor> inputs_;
  std::vector<Loaded> loaded_;  ///< The one that was used last is the last.
};

}  // namespace soapstone::jobs
