import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject } from 'ajv';
import { formFaults } from '../../policies/form-faults.js';
import type { FaultList } from './fault-list.js';
import type { FilePath } from './document.js';
import type { GatewayInput } from './gateway-input.js';

/** The build puts `gateway.schema.json` here. */
const SCHEMA = new URL('../../../../gateway.schema.json', import.meta.url);

/**
 * Checks the members and types of a file by `gateway.schema.json`, and returns it without the parts that have faults,
 * so that the other parts can be checked as well.
 */
export function checkForm(value: unknown, faults: FaultList): GatewayInput {
  const schema = JSON.parse(readFileSync(SCHEMA, 'utf8')) as object;
  const validate = new Ajv({ allErrors: true, verbose: true, strict: false }).compile(schema);
  const isSound: boolean = validate(value);
  const errors = validate.errors ?? [];
  if (isSound) return value as GatewayInput;
  // The errors are read together, so that a misspelt member is not reported as missing, too.
  const messages = new Set(formFaults(errors).map(({ field, message }) => `${field} ${message}`));
  for (const error of errors) {
    const [fault] = formFaults([error]);
    if (fault !== undefined && messages.has(`${fault.field} ${fault.message}`))
      faults.add(faultyPath(error), fault.message);
  }
  let sound: unknown = value;
  for (const path of errors.filter(isRemovable).map(faultyPath)) sound = withoutPart(sound, path);
  return sound ?? {};
}

/** True if an error is about an existing part of the file, and not about a missing member or a branch of the schema. */
function isRemovable({ keyword }: ErrorObject): boolean {
  return !['required', 'if', 'minProperties'].includes(keyword);
}

function faultyPath({ instancePath, keyword, params }: ErrorObject): FilePath {
  const steps = instancePath
    .split('/')
    .slice(1)
    .map((token) => stepOf(token.replaceAll('~1', '/').replaceAll('~0', '~')));
  const { additionalProperty } = params as { readonly additionalProperty?: string };
  return keyword === 'additionalProperties' && additionalProperty !== undefined
    ? [...steps, additionalProperty]
    : steps;
}

/** Returns a name or an index. No valid name of the file consists of digits. */
function stepOf(token: string): string | number {
  return /^\d+$/.test(token) ? Number(token) : token;
}

/** A copy without the part; in a list it becomes undefined, so that the places of the others stay. */
function withoutPart(value: unknown, [step, ...rest]: FilePath): unknown {
  if (step === undefined || typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => (index === step ? withoutPart(item, rest) : item));
  }
  const members = Object.entries(value).map(([name, member]) => [
    name,
    name === String(step) ? withoutPart(member, rest) : (member as unknown),
  ]);
  return Object.fromEntries(members.filter(([, member]) => member !== undefined));
}
