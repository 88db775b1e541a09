import type { Execution } from './api-types.js';

/** Members by which the service names what stands for a value that it does not keep. */
const REPLACED: ReadonlySet<string> = new Set(['$secret', '$hmac']);

/**
 * The execution with the parameters as they were sent, where the service keeps something in the place of a secret: what runs needs the
 * values, and the answer is about exactly this request.
 */
export function withSentParameters(
  execution: Execution,
  sent: Readonly<Record<string, unknown>> | undefined,
): Execution {
  return sent !== undefined && hasReplaced(execution.parameters) ? { ...execution, parameters: sent } : execution;
}

function hasReplaced(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, member]) => REPLACED.has(name) || hasReplaced(member));
}

/** What policies see in the place of a replaced value: an object, about which no condition knows more than that it is there. */
const STAND_IN = { replaced: true };

/**
 * Parameters on record, as the policies can be asked about them again: the service takes what stands for a secret from nobody.
 */
export function withStandIns(parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parameters).map(([name, member]) => [name, standInFor(member)]));
}

function standInFor(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(standInFor);
  return Object.keys(value).some((name) => REPLACED.has(name))
    ? STAND_IN
    : withStandIns(value as Record<string, unknown>);
}
