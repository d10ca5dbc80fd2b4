"""What this process has in memory, as resident.h says it of ours."""
import ctypes
import pathlib


def resident_bytes(line):
    """A line of /proc/self/status: VmRSS is what is resident, VmHWM the most that was."""
    for text in pathlib.Path("/proc/self/status").read_text().splitlines():
        if text.startswith(line + ":"):
            return int(text.split()[1]) * 1024
    return 0


def reset_resident_peak():
    """Makes VmHWM start again from what is resident, after freed memory went back to the system."""
    ctypes.CDLL(None).malloc_trim(0)
    pathlib.Path("/proc/self/clear_refs").write_text("5")
