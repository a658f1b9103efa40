"""python3 test.py: runs the hook as the archiver does."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "HOOK"


class Test(unittest.TestCase):
    def test_it(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "html").mkdir()
            (Path(folder) / "html" / "output.html").write_text("hello")
            own = Path(folder) / "NAME"
            own.mkdir()
            command = [sys.executable, str(PROGRAM), "--url=https://example.com/"]
            said = subprocess.run(command, cwd=own, check=True, capture_output=True, text=True).stdout
            self.assertEqual(json.loads(said)["output_str"], "5 bytes of HTML")
            self.assertEqual(json.loads((own / "NAME.json").read_text()), {"url": "https://example.com/", "bytes": 5})


unittest.main()
