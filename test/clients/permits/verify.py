"""Answers each line of its input, a question, by a line: the claims of the permit, or why it is refused."""

import json
import sys
import warnings

from permits import verify_permit

# That nobody awaits it is what is tried.
warnings.filterwarnings("ignore", "coroutine .* was never awaited")
used = set()
NAMES = {"resourceType": "resource_type", "resourceId": "resource_id"}


def seen(jti, exp):
    is_first = jti not in used
    used.add(jti)
    return is_first


async def seen_later(jti, exp):
    return False


SEEN = {False: None, True: seen, "later": seen_later}

for line in sys.stdin:
    question = json.loads(line)
    once = question.pop("once", False)
    expected = {NAMES.get(name, name): value for name, value in question.items()}
    try:
        answer = verify_permit(**expected, seen=SEEN[once])
    except Exception as error:
        answer = {"name": type(error).__name__, "message": str(error)}
    print(json.dumps(answer), flush=True)
