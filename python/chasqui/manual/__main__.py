"""`python -m chasqui.manual NAME` prints a part of the manual."""

import sys

from chasqui import manual

if len(sys.argv) != 2 or sys.argv[1] not in manual.PARTS:
    sys.exit(f"python -m chasqui.manual NAME; there are: {', '.join(manual.PARTS)}")
print(manual.part(sys.argv[1]), end="")
