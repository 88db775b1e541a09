"""Guards as many actions as its arguments say, in several threads. Prints the number and the execution of each that runs."""

import os
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from governance import Governance

each, wait, workers = map(int, sys.argv[1:])
# A busy machine may take long to restart the service.
governance = Governance(os.environ["GOVERNANCE_URL"], os.environ["GOVERNANCE_API_KEY"], patience=120)
printing = threading.Lock()


def guard_some(worker):
    for made in range(each):
        number = each * worker + made
        with governance.guard("send", "mail", f"mails/{number}", agent="mailer", wait=wait) as execution:
            with printing:
                print(number, execution.execution["id"], flush=True)
            time.sleep(random.random() * 0.12)


with ThreadPoolExecutor(workers) as pool:
    for guarded in [pool.submit(guard_some, worker) for worker in range(workers)]:
        guarded.result()
