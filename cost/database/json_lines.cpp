// Costs as JSON Lines, to carry them to where the device is not. SQLite's own JSON functions do
// the encoding and decoding.
#include <algorithm>
#include <array>
#include <fstream>
#include <mutex>
#include <system_error>

#include <fmt/format.h>

#include "core/base/file_io.h"
#include "cost/database/cost_database.h"
#include "cost/database/cost_database_state.h"

namespace soapstone::cost {
namespace {

constexpr const char* kExport =
    "SELECT json_object('device', device, 'signature', signature, 'cost_us', cost_us,"
    " 'spread_us', spread_us, 'samples', samples, 'implementation', implementation)"
    " FROM measurements ORDER BY device, signature";
constexpr const char* kKindOfLine = "SELECT CASE WHEN json_valid(?1) THEN json_type(?1) END";
constexpr const char* kField = "SELECT json_type(?1, ?2), json_extract(?1, ?2)";

/// Reads the fields of one line after another.
class LineReader {
 public:
  static core::Result<LineReader> make(sqlite3* database) {
    LineReader reader;
    SOAPSTONE_ASSIGN_OR_RETURN(reader.kind_, Statement::prepare(database, kKindOfLine));
    SOAPSTONE_ASSIGN_OR_RETURN(reader.field_, Statement::prepare(database, kField));
    return reader;
  }

  core::Status start(std::string_view line) {
    line_ = line;
    const ResetOnExit reset(kind_);
    kind_.bind(0, line);
    if (kind_.step() != SQLITE_ROW || kind_.text(0) != "object") {
      return core::invalid_input("not a JSON object",
                                 "the file must be one that --export-costs wrote");
    }
    return core::Done{};
  }

  core::Result<std::string> text(const char* name) {
    const ResetOnExit reset(field_);
    SOAPSTONE_RETURN_IF_ERROR(find(name, "a text", {"text"}));
    return field_.text(1);
  }

  core::Result<double> number(const char* name) {
    const ResetOnExit reset(field_);
    SOAPSTONE_RETURN_IF_ERROR(find(name, "a number", {"integer", "real"}));
    return field_.real(1);
  }

 private:
  core::Status find(const char* name, const char* wanted,
                    std::initializer_list<std::string_view> kinds) {
    path_ = fmt::format("$.{}", name);
    field_.bind(0, line_).bind(1, path_);
    if (field_.step() != SQLITE_ROW || field_.type(0) == SQLITE_NULL) {
      return core::invalid_input(fmt::format("\"{}\" is missing", name));
    }
    const std::string kind = field_.text(0);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      return core::invalid_input(fmt::format("\"{}\" must be {}, not {}", name, wanted, kind));
    }
    return core::Done{};
  }

  Statement kind_, field_;
  std::string_view line_;
  std::string path_;
};

core::Status import_line(CostDatabase::State& state, LineReader& reader, std::string_view line) {
  SOAPSTONE_RETURN_IF_ERROR(reader.start(line));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string device, reader.text("device"));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string signature, reader.text("signature"));
  Measurement measurement;
  SOAPSTONE_ASSIGN_OR_RETURN(measurement.cost_us, reader.number("cost_us"));
  SOAPSTONE_ASSIGN_OR_RETURN(measurement.spread_us, reader.number("spread_us"));
  SOAPSTONE_ASSIGN_OR_RETURN(const double samples, reader.number("samples"));
  measurement.samples = static_cast<int>(std::clamp(samples, 0.0, 1e9));
  SOAPSTONE_ASSIGN_OR_RETURN(measurement.implementation, reader.text("implementation"));
  return state.put(device, signature, measurement);
}

core::Result<std::size_t> import_all(CostDatabase::State& state, std::istream& file,
                                     const std::filesystem::path& path) {
  SOAPSTONE_ASSIGN_OR_RETURN(LineReader reader, LineReader::make(state.handle.get()));
  std::size_t count = 0, number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (auto done = import_line(state, reader, line); !done) {
      return done.error().at(fmt::format("{}:{}", path.string(), number));
    }
    ++count;
  }
  return count;
}

}  // namespace

core::Result<std::size_t> CostDatabase::export_json_lines(const std::filesystem::path& path) const {
  const std::lock_guard lock(state_->mutex);
  SOAPSTONE_ASSIGN_OR_RETURN(const auto file, core::AtomicFile::create(path));
  SOAPSTONE_ASSIGN_OR_RETURN(Statement query, Statement::prepare(state_->handle.get(), kExport));
  std::size_t count = 0;
  int code = query.step();
  for (; code == SQLITE_ROW; code = query.step(), ++count)
    SOAPSTONE_RETURN_IF_ERROR(file->write(query.text(0) + "\n"));
  if (code != SQLITE_DONE) return database_error(state_->handle.get()).at(state_->path.string());
  SOAPSTONE_RETURN_IF_ERROR(file->commit());
  return count;
}

core::Result<std::size_t> CostDatabase::import_json_lines(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    return core::invalid_input("cannot be read", "give a file that --export-costs wrote")
        .at(path.string());
  }
  const std::lock_guard lock(state_->mutex);
  sqlite3* database = state_->handle.get();
  SOAPSTONE_RETURN_IF_ERROR(execute(database, "BEGIN IMMEDIATE"));
  auto count = import_all(*state_, file, path);
  if (count) {
    if (auto ended = execute(database, "COMMIT"); !ended) {
      count = ended.error().at(state_->path.string());
    }
  }
  if (!count) sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);  // may be done already
  return count;
}

}  // namespace soapstone::cost
