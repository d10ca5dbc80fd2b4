#!/bin/sh
# Fails where an object compiled for one instruction set defines a weak or global symbol outside that set's namespace:
# the linker might keep that copy for the whole program, which would then crash on an older processor.
# Usage: check_symbols.sh LIBRARY (the archive of the kernels room)
set -eu
library=$1
found=$(nm -C --defined-only -A "$library" | awk '
  /\.simd\.cc\.o:/ {
    kind = $2; name = $0
    if (kind !~ /^[A-Zuvwi]$/ || kind == "N") next   # lower case but weak and unique: local
    sub(/^.*\.simd\.cc\.o:[0-9a-f ]*[A-Za-z] /, "", name)
    if (name ~ /adjoin::(portable|avx2|avx512)::/) next
    if (name ~ /^(__asan|__odr_asan|__tsan|asan\.|tsan\.|DW\.ref\.)/) next
    print
  }')
count=$(nm -A --defined-only "$library" | grep -c '\.simd\.cc\.o:' || true)
if [ "$count" -eq 0 ]; then
  echo "check_symbols: no *.simd.cc objects in $library"
  exit 1
fi
if [ -n "$found" ]; then
  echo "check_symbols: symbols outside the instruction sets' namespaces:"
  echo "$found"
  exit 1
fi
