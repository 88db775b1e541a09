import { type FieldFault, MAX_FAULTS } from './field-fault.js';

const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/;
const MAX_KEY_CHARACTERS = 100;

/** Names a member of a body: `name`, `properties.a`, `properties["two words"]`. Truncates a long name. */
function pathOf(parent: string, key: string): string {
  const step = stepTo(key);
  return parent === '' && step.startsWith('.') ? step.slice(1) : `${parent}${step}`;
}

/** Names a place in a body by its steps: `policies[0].effect`. */
export function pathTo(steps: readonly (string | number)[]): string {
  return steps.reduce<string>((path, step) => (typeof step === 'number' ? `${path}[${step}]` : pathOf(path, step)), '');
}

/** Position in a body of the first item of a text that is a list. */
export interface FirstItemPlace {
  readonly name: string;
  readonly first: number;
}

/** Returns the steps from the body to `path` in the text of a list; returns `path` if the text is the body. */
export function stepsFrom(place: FirstItemPlace | undefined, path: readonly (string | number)[]): (string | number)[] {
  const [index, ...rest] = path;
  return place === undefined || typeof index !== 'number' ? [...path] : [place.name, place.first + index, ...rest];
}

/** The rest of the path to a member of an object: `.a`, `["two words"]`. */
export function stepTo(key: string): string {
  return PLAIN_KEY.test(key) ? `.${printableKey(key)}` : `[${JSON.stringify(printableKey(key))}]`;
}

/** Shows a client's key, truncated if it is too long. */
export function printableKey(key: string): string {
  return key.length > MAX_KEY_CHARACTERS ? `${key.slice(0, MAX_KEY_CHARACTERS)}…` : key;
}

/** Matches the texts and numbers of a JSON text, so that the contents of a text are not taken for numbers. */
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;
const LONE_SURROGATE = /\p{Surrogate}/u;
/** Stands for an integer that would change; NUL makes it a fault. */
const CHANGED_INTEGER = '\0integer';

/**
 * Finds the parts of a valid JSON text that could not be returned as they were sent: `__proto__` keys, NUL and lone
 * surrogates, integers beyond 2^53−1 that would change, and numbers that overflow. Stops at the maximum number of
 * reported faults.
 * @param place position of the text's first item in the body, if the text is a list
 */
export function scanJson(text: string, place?: FirstItemPlace): readonly FieldFault[] {
  const markedText = text.replace(TEXT_OR_NUMBER, (token) =>
    isChanged(token) ? JSON.stringify(CHANGED_INTEGER) : token,
  );
  const faults: FieldFault[] = [];
  const value: unknown = JSON.parse(markedText);
  if (place === undefined || !Array.isArray(value)) visit(value, '', faults);
  else value.forEach((item, index) => visit(item, pathTo(stepsFrom(place, [index])), faults));
  return faults;
}

/**
 * True if an integer beyond 2^53−1 would change: its digits differ from those that ECMAScript, and thus every response,
 * writes for it.
 */
function isChanged(token: string): boolean {
  return LONG_INTEGER.test(token) && !Number.isSafeInteger(Number(token)) && String(Number(token)) !== token;
}

function visit(value: unknown, path: string, faults: FieldFault[]): void {
  if (faults.length >= MAX_FAULTS) return;
  if (typeof value === 'string') visitText(value, path, faults);
  else if (value === Infinity || value === -Infinity)
    faults.push({ field: path, message: 'is too large for a number: send it as a string' });
  else if (Array.isArray(value)) value.forEach((item, index) => visit(item, `${path}[${index}]`, faults));
  else if (typeof value === 'object' && value !== null) visitMembers(value, path, faults);
}

function visitMembers(value: object, path: string, faults: FieldFault[]): void {
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    const field = pathOf(path, key);
    if (key === '__proto__') faults.push({ field, message: 'is not allowed as a key' });
    visitText(key, field, faults);
    visit(member, field, faults);
  }
}

function visitText(text: string, field: string, faults: FieldFault[]): void {
  if (text === CHANGED_INTEGER) {
    const message = 'is an integer beyond 2^53−1, which would change silently: send it as a string';
    faults.push({ field, message });
    return;
  }
  if (text.includes('\0')) faults.push({ field, message: 'must not contain a NUL character' });
  if (LONE_SURROGATE.test(text))
    faults.push({ field, message: 'must be well-formed Unicode: it contains half of a surrogate pair' });
}
