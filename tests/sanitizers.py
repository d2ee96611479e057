"""What tests expect of a build with sanitizers, which tests/CMakeLists.txt names: it takes longer, and
a limit on memory stops no allocation."""

import os

SANITIZED = bool(os.environ.get("SANITIZERS"))


def seconds(plain):
    """The time for what takes `plain` seconds in a build without."""
    return 10 * plain if SANITIZED else plain


def memory(plain):
    """The memory, in any unit, for what takes `plain` of it in a build without."""
    return 4 * plain if SANITIZED else plain
