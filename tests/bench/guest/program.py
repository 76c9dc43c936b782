# SPDX-License-Identifier: GPL-2.0
"""What is recorded for the area decode: an interpreter, calls into C, memory that comes and goes."""
import json
import re

table = {str(i): [i, i * 2.5, {"a": i % 7}] for i in range(150)}
for _ in range(4):
    text = json.dumps(table)
    assert len(json.loads(text)) == len(table)
    assert re.findall(r"\d+", text)
