"""Says what a wheel asks of the host and how large it is, and fails unless it is manylinux.

python distribution/audit.py WHEEL...

auditwheel finds out which glibc the extension module's symbols need, and which libraries besides.
A wheel that needs more than its name says would be installed where it can't be loaded.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

MB = 1_000_000


def mistakes(wheel: Path) -> list[str]:
    """What is wrong with a wheel; prints what was found."""
    command = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().rpartition("\n")[2]
        return [f"auditwheel can't tell: {last}"]
    found = json.loads(done.stdout)
    platform = found["overall_tag"]
    needs = sorted({each for group in found["versioned_symbols"].values() for each in group})
    print(f"{wheel.name}: {wheel.stat().st_size / MB:.1f} MB, {platform} by auditwheel")
    print(f"  symbols: {', '.join(needs) or 'none'}")
    with zipfile.ZipFile(wheel) as archive:
        members = archive.infolist()
    for member in members:
        if member.filename.endswith(".so"):
            print(f"  {member.filename}: {member.file_size / MB:.1f} MB")
    print(f"  {len(members)} files, {sum(each.file_size for each in members) / MB:.1f} MB unpacked")
    wrong = []
    if not platform.startswith("manylinux"):
        wrong.append(f"auditwheel finds {platform}, which is no manylinux")
    if platform not in wheel.stem.split("-")[-1].split("."):
        wrong.append(f"auditwheel finds {platform}, which its name does not say")
    if found["external_libs"]:
        wrong.append(f"it needs other libraries: {', '.join(found['external_libs'])}")
    return wrong


def main(names: list[str]) -> int:
    if not names:
        print("audit: no wheel was named: make wheel", file=sys.stderr)
        return 2
    status = 0
    for name in names:
        for wrong in mistakes(Path(name)):
            print(f"audit: {name}: {wrong}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
