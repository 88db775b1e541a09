import { createInterface } from 'node:readline';
import { checkDatabase } from '../../../verifier/database-check.mjs';
import { Findings } from '../../../verifier/findings.mjs';

// Prints, for each path of a database that it reads, the number of faults there, or null if it cannot be read.
for await (const path of createInterface({ input: process.stdin })) {
  const findings = new Findings();
  const faults = await checkDatabase(path, findings, new Set()).then(
    () => findings.count,
    () => null,
  );
  process.stdout.write(`${JSON.stringify(faults)}\n`);
}
