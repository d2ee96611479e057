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
/// --cost-db.
void add_cost_db_option(CommandLine& line, jobs::DeviceRequest& request);
/// --judge, --python.
void add_judge_options(CommandLine& line, jobs::JudgeRequest& request);

}  // namespace soapstone::cli
