"""Something for an interpreter to do: code in several libraries, exceptions, memory that comes and goes."""
import json
import re


def work(n):
    table = {str(i): [i, i * 2.5, {"a": i % 7}] for i in range(n)}
    text = json.dumps(table)
    return len(re.findall(r"\d+", text)) + len(json.loads(text))


try:
    print(work(60))
    raise ValueError
except ValueError:
    pass
