// Measured times on disk: SQLite in WAL mode, safe for several processes; a killed run loses at
// most what was being measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace soapstone::cost {

struct Measurement {
  double cost_us = 0;
  double spread_us = 0;
  int samples = 0;
  std::string implementation;
};

/// The time to the nanosecond, as a database keeps it.
double to_nanosecond(double us);

/// Safe from several threads.
class CostDatabase {
 public:
  struct State;  ///< For the files that implement this.
  /// Opens or creates. Errors: kUnavailable names the file and what is wrong with it (not a
  /// database, another program's, other schema version, damaged, not writable).
  static core::Result<std::unique_ptr<CostDatabase>> open(const std::filesystem::path& path);
  /// One that no file keeps. Errors: kUnavailable.
  static core::Result<std::unique_ptr<CostDatabase>> in_memory();
  /// `$XDG_CACHE_HOME/soapstone/costs.db`, or under ~/.cache.
  static std::filesystem::path default_path();
  ~CostDatabase();

  std::optional<Measurement> find(std::string_view device, std::string_view signature) const;
  /// Replaces what was there. Times are kept to the nanosecond.
  /// Errors: kUnavailable (disk full, locked for long), kInvalidInput for a time that is none.
  core::Status store(std::string_view device, std::string_view signature,
                     const Measurement& measurement);

  struct Entry {
    std::string signature;
    Measurement measurement;
  };
  /// All that is known of the device, by signature.
  std::vector<Entry> entries(std::string_view device) const;

  struct Device {
    std::string key;
    std::int64_t measurements = 0;
  };
  /// The devices that something is known of, by key.
  std::vector<Device> devices() const;

  /// One JSON object a line: device, signature, cost_us, spread_us, samples, implementation.
  /// Returns how many. The file appears whole or not at all.
  core::Result<std::size_t> export_json_lines(const std::filesystem::path& path) const;
  /// Adds them; a line replaces what was known of its device and signature. All or nothing.
  /// Errors: kInvalidInput with file and line.
  core::Result<std::size_t> import_json_lines(const std::filesystem::path& path);

 private:
  static core::Result<std::unique_ptr<CostDatabase>> open_as(const std::string& name,
                                                             std::unique_ptr<State> state);
  explicit CostDatabase(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace soapstone::cost
