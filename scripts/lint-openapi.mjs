/** Checks openapi.json by Redocly's recommended rules. Prints the faults; the exit code is 1 if there are any. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { root } from './run.mjs';

const path = join(root, 'openapi.json');
const problems = await lintFromString({
  source: readFileSync(path, 'utf8'),
  absoluteRef: path,
  config: await createConfig({ extends: ['recommended'] }),
});
for (const { severity, ruleId, message, location } of problems) {
  console.log(`${severity} ${ruleId}: ${message} (${location[0]?.pointer ?? ''})`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
