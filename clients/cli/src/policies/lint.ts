import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject } from 'ajv';
import { conditionFaults } from './condition-faults.js';
import { limitFaults } from './limit-faults.js';
import type { PolicyFile } from './policy-file.js';
import type { PolicyFiles } from './policy-files.js';

/** The build puts `policies.schema.json` here. */
const SCHEMA = new URL('../../../policies.schema.json', import.meta.url);

/** RFC 3339 with a zone; the service checks the day. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

/** Of one file: each is looked for in the file, to name its place. */
const MOST_FAULTS = 100;

/** Faults of form in policy files, each with its place, found without a service; only the service can check patterns. */
export function lintFaults(set: PolicyFiles): string[] {
  const isValid = new Ajv({ allErrors: true, strict: false, formats: { 'date-time': TIME } }).compile(
    JSON.parse(readFileSync(SCHEMA, 'utf8')) as object,
  );
  const faults = set.files.flatMap((file) => {
    isValid(file.value);
    const errors = isValid.errors ?? [];
    const faults = new Set(errors.slice(0, MOST_FAULTS).map((error) => faultOf(file, error)));
    if (errors.length > MOST_FAULTS) faults.add(`${file.path}: … and more: only the first are looked at`);
    return [...faults].filter((text) => text !== null);
  });
  return [
    ...faults,
    ...(faults.length === 0 ? [...faultsOfConditions(set), ...faultsOfLimits(set)] : []),
    ...namedTwice(set, 'policies', 'a set contains one version of a policy'),
    ...namedTwice(set, 'agents', 'names are unique'),
  ];
}

function faultsOfConditions(set: PolicyFiles): string[] {
  return set.policies.flatMap(({ conditions }, index) =>
    (conditions ?? []).flatMap((condition, at) =>
      conditionFaults(condition).map((fault) =>
        set.located({ field: `policies[${index}].conditions[${at}]${fault.at}`, message: fault.message }),
      ),
    ),
  );
}

function faultsOfLimits(set: PolicyFiles): string[] {
  return set.policies.flatMap(({ effect, limits }, index) =>
    limitFaults(effect, limits ?? []).map(({ at, message }) =>
      set.located({ field: `policies[${index}].limits${at}`, message }),
    ),
  );
}

function faultOf(
  file: PolicyFile,
  { instancePath, keyword, params, message = 'is wrong' }: ErrorObject,
): string | null {
  const field = instancePath
    .slice(1)
    .split('/')
    .map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${quoted(name.replaceAll('~1', '/').replaceAll('~0', '~'))}`))
    .join('')
    .replace(/^\./, '');
  const at = (name: string, text: string): string =>
    `${file.placeOf(name)}: ${name === '' ? 'the file' : name} ${text}`;
  switch (keyword) {
    case 'format':
      return at(field, 'must be an RFC 3339 time with a zone, such as 2026-11-20T06:18:03Z');
    case 'additionalProperties': {
      const name = (params as { additionalProperty: string }).additionalProperty;
      return at(field === '' ? quoted(name) : `${field}.${quoted(name)}`, 'is not known here');
    }
    case 'required':
      // The rule that one of the two is needed is reported for the file as a whole.
      return field === '' ? null : at(field, `lacks ${(params as { missingProperty: string }).missingProperty}`);
    case 'enum':
      return at(
        field,
        `must be one of ${(params as { allowedValues: unknown[] }).allowedValues.filter(Boolean).join(', ')}`,
      );
    case 'const':
      return at(field, `must be ${String((params as { allowedValue: unknown }).allowedValue)} here`);
    case 'type':
      return at(field, typeFault(valueAt(file.value, instancePath), (params as { type: string | string[] }).type));
    case 'if':
    case 'anyOf':
      // Their parts are reported already.
      return field === '' ? at('', 'must have policies, tests or agents') : null;
    case 'oneOf':
      return at(field, 'must have either agent or subject');
    default:
      return at(field, message);
  }
}

/** A name for a message: in quotes unless it is a plain word, so that it cannot be taken for a part of the message. */
function quoted(name: string): string {
  return /^[\w$-]*$/.test(name) ? name : JSON.stringify(name);
}

/** YAML reads 1.0 as a number: most faults of type are missing quotes. */
function typeFault(value: unknown, types: string | string[]): string {
  const wanted = [types].flat().filter((type) => type !== 'null');
  const isUnquoted = wanted.includes('string') && ['number', 'boolean'].includes(typeof value);
  const names = wanted.map((type) => (type === 'string' ? 'text' : `of the type ${type}`));
  return `must be ${names.join(' or ')}${isUnquoted ? ', so put it in quotes' : ''}`;
}

function valueAt(value: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1);
  return names.reduce<unknown>(
    (of, name) => (typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined),
    value,
  );
}

function namedTwice(set: PolicyFiles, list: 'policies' | 'agents', why: string): string[] {
  const first = new Map<unknown, number>();
  return set[list].flatMap((item: { readonly name?: unknown } | null, index) => {
    const name = typeof item?.name === 'string' ? item.name.normalize('NFC') : undefined;
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, index);
    if (earlier === undefined || name === undefined) return [];
    const message = `is that of ${list}[${earlier}]: ${why}`;
    return [set.located({ field: `${list}[${index}].name`, message })];
  });
}
