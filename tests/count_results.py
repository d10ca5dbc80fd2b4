#!/usr/bin/env python3
"""Counts what a ctest run tried and prints `N passed, N failed` as the last line.

    tests/count_results.py JUNIT_XML LAST_TEST_LOG

The JUnit file of `ctest --output-junit` says which tests passed; LastTest.log has their whole output (the JUnit file cuts it).
A GoogleTest executable counts by its cases, a runner that prints `N passed, N failed[, N skipped]` by those, any other
test as one. A test that did not pass counts at least one failure, also where it died before it could count or never
started. Exit status 1 where something failed or nothing ran.
"""
import re
import sys
import xml.etree.ElementTree

GTEST_RAN = re.compile(r"^\[==========\] (\d+) tests? from .* ran\.", re.M)
GTEST_FAILED = re.compile(r"^\[  FAILED  \] (\d+) tests?, listed below", re.M)
GTEST_SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?, listed below", re.M)
COUNTED = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", re.M)


def first(pattern, text):
    found = pattern.search(text)
    return int(found.group(1)) if found else 0


def count(ok, text):
    """(passed, failed, skipped) of one test by its output."""
    own = COUNTED.findall(text)
    if GTEST_RAN.search(text):
        failed, skipped = first(GTEST_FAILED, text), first(GTEST_SKIPPED, text)
        passed = first(GTEST_RAN, text) - failed - skipped
    elif own:
        passed, failed, skipped = (int(n or 0) for n in own[-1])
    else:
        passed, failed, skipped = int(ok), 0, 0
    return passed, failed if ok else max(failed, 1), skipped


def outputs(log):
    """The log's section of each test, by name."""
    parts = re.split(r"^\d+/\d+ Testing: (.*)$", log, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def main():
    junit, log = sys.argv[1:]
    with open(log, encoding="utf-8", errors="replace") as file:
        sections = outputs(file.read())
    totals = [0, 0, 0]
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        ok = case.get("status") == "run"
        counts = count(ok, sections.get(case.get("name"), "") if case.get("status") != "notrun" else "")
        totals = [a + b for a, b in zip(totals, counts)]
    passed, failed, skipped = totals
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main())
