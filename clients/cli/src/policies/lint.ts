import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { conditionFaults } from './condition-faults.js';
import { formFaults } from './form-faults.js';
import { limitFaults } from './limit-faults.js';
import { patternFaults } from './pattern-faults.js';
import type { PolicyFiles } from './policy-files.js';

/** The build puts `policies.schema.json` here. */
const SCHEMA = new URL('../../../policies.schema.json', import.meta.url);

/** RFC 3339 with a zone; the service checks the day. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

/** Maximum number of faults of one file: each is looked up in the file, to name its place. */
const MAX_FAULTS = 100;

/** Returns the faults of form in policy files, each with its place. Needs no service. */
export function lintFaults(set: PolicyFiles): string[] {
  // Dates are checked with the conditions.
  const formats = { 'date-time': TIME, date: true as const };
  const isValid = new Ajv({ allErrors: true, verbose: true, strict: false, formats }).compile(
    JSON.parse(readFileSync(SCHEMA, 'utf8')) as object,
  );
  const faults = set.files.flatMap((file) => {
    isValid(file.value);
    const errors = isValid.errors ?? [];
    const faults = new Set(
      formFaults(errors.slice(0, MAX_FAULTS)).map(
        ({ field, message }) => `${file.placeOf(field)}: ${field === '' ? 'the file' : field} ${message}`,
      ),
    );
    if (errors.length > MAX_FAULTS) faults.add(`${file.path}: … and more: only the first are looked at`);
    return [...faults];
  });
  return [
    ...faults,
    ...(faults.length === 0 ? [...faultsOfPatterns(set), ...faultsOfConditions(set), ...faultsOfLimits(set)] : []),
    ...namedTwice(set, 'policies', 'a set contains one version of a policy'),
    ...namedTwice(set, 'agents', 'names are unique'),
  ];
}

function faultsOfPatterns(set: PolicyFiles): string[] {
  return set.policies.flatMap((policy, index) =>
    patternFaults(policy).map(({ at, message }) => set.withLocation({ field: `policies[${index}]${at}`, message })),
  );
}

function faultsOfConditions(set: PolicyFiles): string[] {
  return set.policies.flatMap(({ conditions }, index) =>
    (conditions ?? []).flatMap((condition, position) =>
      conditionFaults(condition).map((fault) =>
        set.withLocation({ field: `policies[${index}].conditions[${position}]${fault.at}`, message: fault.message }),
      ),
    ),
  );
}

function faultsOfLimits(set: PolicyFiles): string[] {
  return set.policies.flatMap(({ effect, limits }, index) =>
    limitFaults(effect, limits ?? []).map(({ at, message }) =>
      set.withLocation({ field: `policies[${index}].limits${at}`, message }),
    ),
  );
}

function namedTwice(set: PolicyFiles, list: 'policies' | 'agents', consequence: string): string[] {
  const first = new Map<unknown, number>();
  return set[list].flatMap((item: { readonly name?: unknown } | null, index) => {
    const name = typeof item?.name === 'string' ? item.name.normalize('NFC') : undefined;
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, index);
    if (earlier === undefined || name === undefined) return [];
    const message = `is that of ${list}[${earlier}]: ${consequence}`;
    return [set.withLocation({ field: `${list}[${index}].name`, message })];
  });
}
