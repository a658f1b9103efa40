#!/usr/bin/env python3
"""Runs once for each page, in a folder of its own: the files that it leaves there are published when it succeeds."""

import json
import sys
from pathlib import Path

url = next((arg.removeprefix("--url=") for arg in sys.argv if arg.startswith("--url=")), "")

# What earlier plugins made is beside: the page as it was served, for example.
html = Path("../html/output.html")
size = html.stat().st_size if html.exists() else 0
Path("NAME.json").write_text(json.dumps({"url": url, "bytes": size}) + "\n")

# One line of JSON says how it went; a status of `skipped` or `noresults` is no failure.
print(json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": f"{size} bytes of HTML"}))
