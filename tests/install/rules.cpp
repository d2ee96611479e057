// Says where the shipped rules of the package lie.
#include <cstdio>

#include "jobs/rules/rule_library.h"

int main() { std::printf("%s\n", soapstone::jobs::rules_folder().c_str()); }
