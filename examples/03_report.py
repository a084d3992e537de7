"""How good is a clip? A fox that trots, measured and put on a page in 3D.

python examples/03_report.py trot.html
"""

import sys
from pathlib import Path

import gambol
from gambol.creatures.gaits import gait
from gambol.quality.page import report_page

fox = gambol.load("fox")
trot = gait(fox, gambol.analyze(fox), "trot")
report = gambol.report(fox, trot)
print(report.summary)
for key in ("foot_slide_mean", "penetration_worst", "roughness"):
    rank = report.ranks[key]
    if rank:
        print(f"{key}: {report.values[key]:.2f}, as good as {rank.share:.0%} of {rank.among}, or better")
Path(sys.argv[1]).write_text(report_page(report), encoding="utf-8")
