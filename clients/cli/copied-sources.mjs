import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const root = join(folder, '..', '..');

/** Rules that gov and the service must agree on: files of the service, and the folders of gov that have copies. */
const COPIES = [
  ['src/core/concurrency/time-limit.ts', 'src'],
  ['src/core/values/printable-text.ts', 'src'],
  ...[
    'src/core/errors/field-fault.ts',
    'src/core/values/action-pattern.ts',
    'src/core/values/duration.ts',
    'src/core/values/ip-address.ts',
    'src/core/values/label-fault.ts',
    'src/core/values/normal-form.ts',
    'src/core/values/secret-pointers.ts',
    'src/governance/agents/agent-name.ts',
    'src/governance/policies/conditions/condition-faults.ts',
    'src/governance/policies/conditions/prefix-warning.ts',
    'src/governance/policies/patterns/host-names.ts',
    'src/governance/policies/patterns/remembered-readings.ts',
    'src/governance/policies/patterns/percent-encoding.ts',
    'src/governance/policies/patterns/resources.ts',
    'src/governance/policies/patterns/subjects.ts',
    'src/http/body/byte-collector.ts',
    'src/http/body/json-extent.ts',
    'src/http/body/json-scanner.ts',
    'src/http/server/last-request.ts',
  ].map((path) => [path, 'src/service-rules']),
];

/** Imports of another copied file: the copies of a folder are next to each other, and ES modules name files whole. */
const IMPORTED = /(?<=^(?:import|export) .* from ')\.[^']*(?=';$)/gm;

/** Makes the copies that differ from their sources. */
export function copySources() {
  for (const { path, text } of copies()) {
    if (readOrNull(path) !== text) writeFileSync(path, text);
  }
}

/** The paths of the copies, and what they should contain. */
export function copies() {
  return COPIES.map(([source, target]) => ({
    path: join(folder, target, basename(source)),
    text: readFileSync(join(root, source), 'utf8').replace(IMPORTED, (name) => `./${basename(name)}.js`),
  }));
}

function readOrNull(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}
