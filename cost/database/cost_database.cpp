// Opening, reading and writing the table of measurements.
//
// WAL lets readers go on beside a writer; synchronous=NORMAL means that a power cut may lose the
// newest rows but never the file. The application id tells our files from other programs'.
#include "cost/database/cost_database.h"

#include <cmath>
#include <cstdlib>
#include <mutex>
#include <system_error>

#include <fmt/format.h>

#include "cost/database/cost_database_state.h"

namespace soapstone::cost {
namespace {

constexpr std::int64_t kApplicationId = 0x536f6170;  // "Soap"
constexpr std::int64_t kSchemaVersion = 1;
constexpr int kBusyTimeoutMs = 10'000;

constexpr const char* kSchema = R"(
  BEGIN IMMEDIATE;
  CREATE TABLE IF NOT EXISTS measurements (
    device TEXT NOT NULL,
    signature TEXT NOT NULL,
    cost_us REAL NOT NULL,
    spread_us REAL NOT NULL,
    samples INTEGER NOT NULL,
    implementation TEXT NOT NULL,
    PRIMARY KEY (device, signature)) WITHOUT ROWID;
  PRAGMA application_id = 0x536f6170;
  PRAGMA user_version = 1;
  COMMIT;)";

// One statement, so that a process that is creating the file is seen before or after, not amid.
constexpr const char* kIdentify =
    "SELECT (SELECT application_id FROM pragma_application_id),"
    " (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)";
constexpr const char* kFind = "SELECT cost_us, spread_us, samples, implementation FROM measurements"
                              " WHERE device = ? AND signature = ?";
constexpr const char* kStore = "INSERT OR REPLACE INTO measurements VALUES (?, ?, ?, ?, ?, ?)";

core::Error advise(core::Error error) {
  if (error.hint.empty()) {
    error.hint = "give another file for the costs, or move this one away: it is made anew";
  }
  return error;
}

/// Nothing if the file is new or ours.
core::Status identify(sqlite3* database) {
  SOAPSTONE_ASSIGN_OR_RETURN(Statement query, Statement::prepare(database, kIdentify));
  if (query.step() != SQLITE_ROW) return database_error(database);
  const bool is_new = query.integer(2) == 0;
  if (is_new) return core::Done{};
  if (query.integer(0) != kApplicationId) {
    return core::unavailable("is a database of another program", "give another file for the costs");
  }
  if (query.integer(1) != kSchemaVersion) {
    return core::unavailable(fmt::format("has cost schema {}; this version reads schema {}",
                                         query.integer(1), kSchemaVersion));
  }
  return core::Done{};
}

/// Changing to WAL needs the file alone and does not wait for it as other statements do.
core::Status enter_wal(sqlite3* database) {
  for (int waited_ms = 0;; waited_ms += 10) {
    const int code =
        sqlite3_exec(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", nullptr,
                     nullptr, nullptr);
    if (code == SQLITE_OK) return core::Done{};
    if (code != SQLITE_BUSY || waited_ms > kBusyTimeoutMs) return database_error(database);
    sqlite3_sleep(10);
  }
}

/// A damaged page would otherwise show as a time that is lost, again and again.
core::Status check_pages(sqlite3* database) {
  SOAPSTONE_ASSIGN_OR_RETURN(Statement query,
                             Statement::prepare(database, "PRAGMA quick_check(1)"));
  if (query.step() != SQLITE_ROW) return database_error(database);
  const std::string verdict = query.text(0);
  if (verdict != "ok") return core::unavailable("is damaged: " + verdict);
  return core::Done{};
}

core::Status prepare(CostDatabase::State& state) {
  sqlite3* database = state.handle.get();
  sqlite3_busy_timeout(database, kBusyTimeoutMs);
  SOAPSTONE_RETURN_IF_ERROR(identify(database));
  if (sqlite3_db_readonly(database, "main") == 1) return core::unavailable("is not writable");
  SOAPSTONE_RETURN_IF_ERROR(enter_wal(database));
  SOAPSTONE_RETURN_IF_ERROR(execute(database, kSchema));
  SOAPSTONE_RETURN_IF_ERROR(check_pages(database));
  SOAPSTONE_ASSIGN_OR_RETURN(state.find, Statement::prepare(database, kFind));
  SOAPSTONE_ASSIGN_OR_RETURN(state.store, Statement::prepare(database, kStore));
  return core::Done{};
}

bool is_time(double us) { return std::isfinite(us) && us >= 0; }

}  // namespace

double to_nanosecond(double us) { return std::round(us * 1000) / 1000; }

core::Status CostDatabase::State::put(std::string_view device, std::string_view signature,
                                      const Measurement& measurement) {
  if (!is_time(measurement.cost_us) || !is_time(measurement.spread_us)) {
    return core::invalid_input(fmt::format("a time of {} us, give or take {} us",
                                           measurement.cost_us, measurement.spread_us));
  }
  const ResetOnExit reset(store);
  store.bind(0, device).bind(1, signature).bind(2, to_nanosecond(measurement.cost_us));
  store.bind(3, to_nanosecond(measurement.spread_us));
  store.bind(4, std::int64_t{measurement.samples}).bind(5, measurement.implementation);
  if (store.step() != SQLITE_DONE) return database_error(handle.get()).at(path.string());
  return core::Done{};
}

CostDatabase::CostDatabase(std::unique_ptr<State> state) : state_(std::move(state)) {}
CostDatabase::~CostDatabase() = default;

core::Result<std::unique_ptr<CostDatabase>> CostDatabase::open_as(const std::string& name,
                                                                  std::unique_ptr<State> state) {
  sqlite3* handle = nullptr;
  const int opened =
      sqlite3_open_v2(name.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  state->handle.reset(handle);
  if (opened != SQLITE_OK) return advise(database_error(handle).at(state->path.string()));
  if (auto ready = prepare(*state); !ready) return advise(ready.error().at(state->path.string()));
  return std::unique_ptr<CostDatabase>(new CostDatabase(std::move(state)));
}

core::Result<std::unique_ptr<CostDatabase>> CostDatabase::open(const std::filesystem::path& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  std::error_code code;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), code);
  if (code)
    return advise(core::unavailable("no folder for it: " + code.message()).at(path.string()));
  return open_as(path.string(), std::move(state));
}

core::Result<std::unique_ptr<CostDatabase>> CostDatabase::in_memory() {
  return open_as(":memory:", std::make_unique<State>());
}

std::filesystem::path CostDatabase::default_path() {
  std::filesystem::path cache;
  const char* given = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (given && *given) {
    cache = given;
  } else if (home && *home) {
    cache = std::filesystem::path(home) / ".cache";
  } else {
    cache = ".cache";
  }
  return cache / "soapstone" / "costs.db";
}

std::optional<Measurement> CostDatabase::find(std::string_view device,
                                              std::string_view signature) const {
  const std::lock_guard lock(state_->mutex);
  Statement& query = state_->find;
  const ResetOnExit reset(query);
  query.bind(0, device).bind(1, signature);
  if (query.step() != SQLITE_ROW) return std::nullopt;
  return Measurement{query.real(0), query.real(1), static_cast<int>(query.integer(2)),
                     query.text(3)};
}

core::Status CostDatabase::store(std::string_view device, std::string_view signature,
                                 const Measurement& measurement) {
  const std::lock_guard lock(state_->mutex);
  return state_->put(device, signature, measurement);
}

std::vector<CostDatabase::Entry> CostDatabase::entries(std::string_view device) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Entry> entries;
  auto query = Statement::prepare(state_->handle.get(),
                                  "SELECT signature, cost_us, spread_us, samples, implementation"
                                  " FROM measurements WHERE device = ? ORDER BY signature");
  if (!query) return entries;
  query->bind(0, device);
  while (query->step() == SQLITE_ROW)
    entries.push_back(
        {query->text(0),
         {query->real(1), query->real(2), static_cast<int>(query->integer(3)), query->text(4)}});
  return entries;
}

std::vector<CostDatabase::Device> CostDatabase::devices() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Device> devices;
  auto query = Statement::prepare(
      state_->handle.get(), "SELECT device, count(*) FROM measurements GROUP BY device ORDER BY 1");
  if (!query) return devices;
  while (query->step() == SQLITE_ROW) devices.push_back({query->text(0), query->integer(1)});
  return devices;
}

}  // namespace soapstone::cost
