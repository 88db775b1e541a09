/**
 * Writes the reasons of evaluations, from openapi.json, into the clients that ask for an explanation of a refusal. With
 * `--check` it writes nothing, and the exit code is 1 if a file would change.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.mjs';

const { EvaluationResponse } = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8')).components.schemas;
const reasons = EvaluationResponse.properties.reason.enum.filter((reason) => reason !== null);

/** For each client: its file, the texts before and after its list, and those before and after each reason. */
const LISTS = [
  ['clients/typescript/src/guard.ts', "Set<Schemas['EvaluationResponse']['reason']>([\n", ']);\n', "  '", "',\n"],
  ['clients/python/governance.py', '_EXPLAINED = {\n', '}\n', '    "', '",\n'],
];

for (const [file, before, after, open, close] of LISTS) {
  const path = join(root, file);
  const text = readFileSync(path, 'utf8');
  const start = text.indexOf(before) + before.length;
  const end = text.indexOf(after, start);
  if (start < before.length || end < 0) throw new Error(`${file} has no list of reasons.`);
  const list = reasons.map((reason) => `${open}${reason}${close}`).join('');
  const written = text.slice(0, start) + list + text.slice(end);
  if (written === text) continue;
  if (process.argv.includes('--check')) process.exitCode = 1;
  else writeFileSync(path, written);
}
