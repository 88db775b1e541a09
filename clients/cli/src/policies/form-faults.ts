import type { ErrorObject } from 'ajv';
import { isSlip } from '../similar-names.js';

/** A fault of a file's form. */
export interface FormFault {
  /** Such as `policies[0].effect`; empty for the file as a whole. */
  readonly field: string;
  /** Follows the field in a sentence. */
  readonly message: string;
}

interface MemberSchema {
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
}
type Members = Readonly<Record<string, unknown>>;

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  array: 'a list',
  object: 'an object',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
};
const ASKER = 'agent, the name of an agent, or subject, such as { kind: machine, roles: [support] }';

/** Returns one fault for each mistake. @param errors of Ajv, with `allErrors` and `verbose` */
export function formFaults(errors: readonly ErrorObject[]): FormFault[] {
  const misspelt = new Set(errors.flatMap((error) => meantBy(error) ?? []));
  return errors.flatMap((error) => {
    const { field, message } = faultOf(error, misspelt) ?? {};
    return message === undefined ? [] : { field: field ?? fieldOf(error.instancePath), message };
  });
}

/**
 * @param misspelt pointers to members that are there under another name
 * @returns null if another error reports the mistake
 */
function faultOf(error: ErrorObject, misspelt: ReadonlySet<string>): Partial<FormFault> | null {
  const { instancePath, schemaPath, keyword, params, data, parentSchema, message = 'is wrong' } = error;
  // This error is about one of several allowed forms, and it is not known which one was meant.
  if (/\/(?:oneOf|anyOf)\//.test(schemaPath)) return null;
  const isMisspelt = (name: string): boolean => misspelt.has(`${instancePath}/${name}`);
  switch (keyword) {
    case 'format':
      return { message: 'must be an RFC 3339 time with a zone, such as 2026-11-20T06:18:03Z' };
    case 'additionalProperties': {
      const { additionalProperty: name } = params as { additionalProperty: string };
      const keyword = meantBy(error)?.split('/').at(-1);
      const advice = keyword === undefined ? '' : `: did you mean ${keyword}?`;
      return { field: fieldOf(`${instancePath}/${asToken(name)}`), message: `is not known here${advice}` };
    }
    case 'required': {
      const { missingProperty: name } = params as { missingProperty: string };
      return isMisspelt(name) ? null : { message: `needs ${name}${exampleText(propertiesOf(parentSchema)[name])}` };
    }
    case 'enum':
      return { message: `must be ${choiceText((params as { allowedValues: unknown[] }).allowedValues)}` };
    case 'const':
      return {
        message: `must be ${String((params as { allowedValue: unknown }).allowedValue)}, as it has an approval`,
      };
    case 'type':
      return { message: typeText(data, (params as { type: string | string[] }).type) };
    case 'minItems':
      return { message: 'must have at least one item' };
    case 'minLength':
      return { message: 'must not be empty' };
    case 'if':
      return null;
    case 'anyOf':
      return ['policies', 'tests', 'agents'].some(isMisspelt)
        ? null
        : { message: 'must have policies, tests or agents' };
    case 'oneOf':
      return ['agent', 'subject'].some(isMisspelt) ? null : askerFault(data as Members);
    default:
      return { message: message.replace('NOT', 'not') };
  }
}

/** Returns a pointer to the member that an unknown one was probably meant to be; null if there is none. */
function meantBy({ keyword, instancePath, params, data, parentSchema }: ErrorObject): string | null {
  if (keyword !== 'additionalProperties') return null;
  const { additionalProperty: name } = params as { additionalProperty: string };
  const similarName = Object.keys(propertiesOf(parentSchema)).find(
    (propertyName) =>
      (isSlip(name, propertyName) || isSingular(name, propertyName)) && !Object.hasOwn(data as Members, propertyName),
  );
  return similarName === undefined ? null : `${instancePath}/${similarName}`;
}

/** True for a slip of more than one letter, such as `policy` for `policies`. */
function isSingular(name: string, plural: string): boolean {
  return name.toLowerCase().replace(/y$/, 'ies') === plural;
}

function propertiesOf(schema: ErrorObject['parentSchema']): Readonly<Record<string, MemberSchema>> {
  return (schema?.['properties'] ?? {}) as Readonly<Record<string, MemberSchema>>;
}

function exampleText({ enum: values, examples: [example] = [] }: MemberSchema = {}): string {
  if (values !== undefined) return `: ${choiceText(values)}`;
  if (example === undefined) return '';
  return `, such as ${typeof example === 'string' ? example : JSON.stringify(example)}`;
}

function choiceText(values: readonly unknown[]): string {
  const texts = values.filter((value) => value !== null).map(String);
  const omission = texts.length < values.length ? ', or be left out' : '';
  return `${texts.length === 1 ? '' : 'one of '}${texts.join(', ')}${omission}`;
}

/** Returns the fault of a test with no asker, or with two. The fault of a single asker is reported for the asker. */
function askerFault({ agent, subject }: Members): Partial<FormFault> | null {
  const askers = [agent, subject].filter((asker) => asker !== undefined && asker !== null);
  if (askers.length === 1) return null;
  return { message: askers.length === 2 ? 'has both agent and subject: only one can ask' : `needs who asks: ${ASKER}` };
}

/** YAML reads 1.0 as a number: most faults of type are missing quotes. */
function typeText(value: unknown, types: string | readonly string[]): string {
  const typeNames = [types].flat().filter((type) => type !== 'null');
  const isUnquoted = typeNames.includes('string') && ['number', 'boolean'].includes(typeof value);
  const names = typeNames.map((type) => TYPES[type] ?? type);
  return `must be ${names.join(' or ')}${isUnquoted ? ', so put it in quotes' : ''}`;
}

function fieldOf(pointer: string): string {
  return pointer
    .slice(1)
    .split('/')
    .map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${quote(name.replaceAll('~1', '/').replaceAll('~0', '~'))}`))
    .join('')
    .replace(/^\./, '');
}

function asToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/**
 * Returns a name for a message, in quotes unless it is a plain word, so that it cannot be taken for a part of the
 * message.
 */
function quote(name: string): string {
  return /^[\w$-]*$/.test(name) ? name : JSON.stringify(name);
}
