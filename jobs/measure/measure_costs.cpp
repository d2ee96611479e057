// See measure_costs.h.
#include "jobs/measure/measure_costs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/private_folder.h"
#include "jobs/base/output_files.h"
#include "jobs/base/usage_error.h"
#include "jobs/models/model_files.h"
#include "jobs/optimize/optimize.h"
#include "models/networks/builders.h"
#include "models/onnx/format/onnx_model.h"

namespace soapstone::jobs {
namespace {

using SteadyClock = std::chrono::steady_clock;

core::Status check(const MeasureRequest& request) {
  if (request.models.empty())
    return usage_error("costs of which `models`?", "name ONNX files or built-in networks");
  if (request.output.empty()) return usage_error("there is no file for the costs", "set `output`");
  if (request.device.device == DeviceKind::kReference)
    return usage_error("the reference is no `device` whose times are of use", "cpu or cuda");
  for (const std::string& model : request.models) {
    const OutputFile files[] = {{"`output`", request.output}};
    const InputFile inputs[] = {{"the model", model}};
    SOAPSTONE_RETURN_IF_ERROR(check_outputs(inputs, files));
  }
  return core::Done{};
}

/// A file, or a network of that name if there is no such file. A network becomes a file as well, so
/// that its launches are those of whoever has one.
core::Result<core::Graph> read_or_build(const std::string& model, const Context& context) {
  const auto has_name = [&](const models::ModelBuilder& builder) { return builder.name == model; };
  if (std::filesystem::exists(model) || std::ranges::none_of(models::builders(), has_name)) {
    SOAPSTONE_ASSIGN_OR_RETURN(models::OnnxModel read, read_model(model, {}, context, true));
    return std::move(read.graph);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const core::Graph built, models::build_model(model));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto folder, core::PrivateFolder::make());
  const std::string file = (folder.path() / (model + ".onnx")).string();
  SOAPSTONE_RETURN_IF_ERROR(models::write_onnx(built, *models::new_header(), file));
  SOAPSTONE_ASSIGN_OR_RETURN(models::OnnxModel read, read_model(file, {}, context, true));
  return std::move(read.graph);
}

/// The costs of a device in a file, read at first and written again and again.
class CostFile {
 public:
  static core::Result<CostFile> open(const std::string& path, const std::string& device) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto database, cost::CostDatabase::in_memory());
    if (std::filesystem::exists(path)) SOAPSTONE_RETURN_IF_ERROR(database->import_json_lines(path));
    for (const cost::CostDatabase::Device& other : database->devices()) {
      if (other.key == device) continue;
      return core::invalid_input(
                 fmt::format("has costs of '{}', and this device is '{}'", other.key, device),
                 "write the costs of each device to a file of its own")
          .at(path);
    }
    return CostFile(path, std::move(database));
  }

  cost::CostDatabase& database() const { return *database_; }
  std::int64_t size() const {
    const auto devices = database_->devices();
    return devices.empty() ? 0 : devices.front().measurements;
  }
  core::Status write() const {
    SOAPSTONE_RETURN_IF_ERROR(database_->export_json_lines(path_));
    return core::Done{};
  }

 private:
  CostFile(std::string path, std::unique_ptr<cost::CostDatabase> database)
      : path_(std::move(path)), database_(std::move(database)) {}

  std::string path_;
  std::unique_ptr<cost::CostDatabase> database_;
};

/// Whoever times asks whether there is time left; there is for one launch, so that each call gets
/// on. The file is written now and then: whoever ends the process loses the last seconds.
class MeasuringTime {
 public:
  explicit MeasuringTime(const CostFile& file) : file_(file) {}

  void start(double time_s) {
    end_ = SteadyClock::now() +
           std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(time_s));
    was_short_ = false;
  }
  /// True if something was not timed since start().
  bool was_short() const { return was_short_; }

  cost::TimingOptions options(const core::StopToken& stop) {
    cost::TimingOptions options{.stop = &stop};
    options.is_over = [this] {
      const bool is_over = has_measured_ && SteadyClock::now() >= end_;
      was_short_ |= is_over;
      return is_over;
    };
    options.kept = [this] {
      constexpr auto kBetween = std::chrono::seconds(10);
      has_measured_ = true;
      if (SteadyClock::now() < written_ + kBetween) return;
      // What fails here fails again at the end, where it is reported.
      (void)file_.write();
      written_ = SteadyClock::now();
    };
    return options;
  }

 private:
  const CostFile& file_;
  SteadyClock::time_point end_, written_ = SteadyClock::now();
  bool has_measured_ = false;
  bool was_short_ = false;
};

/// Whether the device still does what it is told.
core::Status probe(runtime::Backend& backend) {
  std::array<std::byte, 4> bytes{};
  SOAPSTONE_ASSIGN_OR_RETURN(const auto block,
                             runtime::DeviceBlock::allocate(backend.memory(), bytes.size()));
  SOAPSTONE_RETURN_IF_ERROR(backend.memory().copy_in(block.address(), bytes));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto queue, backend.make_queue());
  return queue->wait();
}

/// Ends the job if the device fails; launches that cannot be timed for other reasons are warnings.
class Failures {
 public:
  Failures(runtime::Backend& backend, const Context& context)
      : backend_(backend), context_(context), stop_(&context.stop) {}

  const core::StopToken& stop() const { return stop_; }
  const core::Status& device() const { return device_; }
  void note(const core::Error& error) {
    if (stop_.stop_requested()) return;
    device_ = probe(backend_);
    if (!device_) return stop_.request_stop();
    if (error.code != core::ErrorCode::kUnsupported && said_.insert(error.message).second)
      context_.progress.log(core::LogLevel::kWarning,
                            fmt::format("a launch was not timed: {}", error.message));
  }

 private:
  runtime::Backend& backend_;
  const Context& context_;
  core::StopToken stop_;
  core::Status device_ = core::Done{};
  std::set<std::string> said_;
};

/// Searches a model as optimize() would, for what it asks of the costs on the way.
core::Result<MeasureOutcome::Model> search_model(const MeasureRequest& request,
                                                 const std::string& name, core::Graph graph,
                                                 std::shared_ptr<cost::CostModel> cost,
                                                 double time_s, const Context& context) {
  OptimizeRequest search;
  search.graph = std::move(graph);
  search.cost_model = std::move(cost);
  search.device = request.device;
  search.rules = request.rules;
  search.search = request.search;
  search.search.time_s = time_s;
  search.samples = 0;
  search.runtime.kind = RuntimeRequest::Kind::kSoapstone;
  SOAPSTONE_ASSIGN_OR_RETURN(const OptimizeOutcome found, optimize(search, context));
  const search::SearchResult& result = found.report.search;
  MeasureOutcome::Model model;
  model.name = name;
  model.graphs = result.graphs_expanded;
  model.has_ended = result.stop_reason != search::StopReason::kTime &&
                    result.stop_reason != search::StopReason::kInterrupted;
  model.cost_us = found.report.cost_before.total_us;
  model.best_us = found.report.cost_after.total_us;
  return model;
}

}  // namespace

bool MeasureOutcome::has_ended() const {
  return models.size() == asked_for && std::ranges::all_of(models, &Model::has_ended);
}

core::Result<MeasureOutcome> measure_costs(const MeasureRequest& request, const Context& context) {
  SOAPSTONE_RETURN_IF_ERROR(check(request));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, make_backend(request.device));
  return measure_costs(request, *backend, context);
}

core::Result<MeasureOutcome> measure_costs(const MeasureRequest& request, runtime::Backend& backend,
                                           const Context& context) {
  SOAPSTONE_RETURN_IF_ERROR(check(request));
  const auto started = SteadyClock::now();
  const auto left_s = [&] {
    const std::chrono::duration<double> used = SteadyClock::now() - started;
    return request.time_s - used.count();
  };
  const std::string key = backend.device().key();
  SOAPSTONE_ASSIGN_OR_RETURN(const CostFile file, CostFile::open(request.output, key));
  std::vector<core::Graph> graphs;
  for (const std::string& model : request.models) {
    SOAPSTONE_ASSIGN_OR_RETURN(core::Graph graph, read_or_build(model, context));
    graphs.push_back(std::move(graph));
  }
  MeasuringTime time(file);
  Failures failures(backend, context);
  const Context stoppable{context.progress, failures.stop(), context.keep_results};
  cost::TimingOptions timing = time.options(failures.stop());
  timing.failed = [&](const core::Error& error) { failures.note(error); };
  const std::shared_ptr<cost::CostModel> cost =
      cost::make_measured_cost(backend, request.device.fusion, &file.database(), timing);
  MeasureOutcome outcome;
  outcome.device = key;
  outcome.asked_for = request.models.size();
  outcome.known_before = outcome.known = file.size();
  context.announce_results();
  for (std::size_t m = 0; m < graphs.size() && (m == 0 || left_s() > 0); ++m) {
    if (context.stop.stop_requested()) break;
    constexpr double kShortest = 1e-3;
    const double share_s = std::max(left_s() / static_cast<double>(graphs.size() - m), kShortest);
    time.start(share_s);
    auto model =
        search_model(request, request.models[m], std::move(graphs[m]), cost, share_s, stoppable);
    SOAPSTONE_RETURN_IF_ERROR(file.write());  // Also what was measured until something failed.
    SOAPSTONE_RETURN_IF_ERROR(failures.device());
    if (!model) return model.error();
    model->has_ended &= !time.was_short();
    model->measured = file.size() - std::exchange(outcome.known, file.size());
    outcome.models.push_back(*std::move(model));
  }
  outcome.interrupted = context.stop.stop_requested();
  return outcome;
}

}  // namespace soapstone::jobs
