// The flags that say on what a command runs, where it keeps costs, and who else runs the models.
#pragma once

#include "cli/options/command_line.h"
#include "jobs/devices/devices.h"
#include "jobs/judge/file_judge.h"

namespace soapstone::cli {

/// --device, --threads.
void add_device_options(CommandLine& line, jobs::DeviceRequest& request);
/// --fusion.
void add_fusion_option(CommandLine& line, runtime::Fusion& fusion);
/// --precision.
void add_precision_option(CommandLine& line, jobs::Precision& precision);
/// --cost-db.
void add_cost_db_option(CommandLine& line, jobs::DeviceRequest& request);
/// All of these, for commands that time.
void add_timing_device_options(CommandLine& line, jobs::DeviceRequest& request);
/// --rounds, the most times that `what` is timed; and `time_option`, the seconds to spend on
/// timing; `each`: on what, with a space in front of it.
void add_timing_options(CommandLine& line, int& rounds, const std::string& what, double& time_s,
                        const std::string& time_option, const std::string& each);
/// --judge, --python.
void add_judge_options(CommandLine& line, jobs::JudgeRequest& request);

}  // namespace soapstone::cli
