// Compiled into programs that link soapstone::jobs of an installed package: tells the library where
// the rules of that package lie (jobs/rules/rule_library.cpp). Weak, as a program may consist of
// several targets that link it.
extern "C" {
extern const char soapstone_installed_rules[] __attribute__((weak));
const char soapstone_installed_rules[] = SOAPSTONE_INSTALLED_RULES;
}
