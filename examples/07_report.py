"""How good is a clip? A fox that trots, measured and put on a page in 3D.

python examples/07_report.py trot.html
"""

import sys
from pathlib import Path

import gambol
from gambol.quality.publish import publish

fox = gambol.load("fox")
trot = gambol.gait(fox, gambol.study(fox), "trot")
report = gambol.report_on(fox, trot)
print(report.summary)
for key in ("foot_slide_mean", "penetration_worst", "roughness"):
    standing = report.standings[key]
    if standing:
        print(f"{key}: {report.values[key]:.2f}, as good as {standing.share:.0%} of {standing.among}, or better")
Path(sys.argv[1]).write_text(publish(report), encoding="utf-8")
