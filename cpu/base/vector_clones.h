// One source, machine code for several instruction sets, chosen when the program is loaded.
#pragma once

// Sanitizers do not work with functions that are chosen by the loader.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SOAPSTONE_VECTOR_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SOAPSTONE_VECTOR_CLONES
#endif
