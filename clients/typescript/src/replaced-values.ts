import type { Execution } from './api-types.js';

/** Members of the objects with which the service replaces a value that it does not keep. */
const REPLACED: ReadonlySet<string> = new Set(['$secret', '$hmac']);

/**
 * Returns the execution with the parameters that were sent, if the service replaced secrets in them: the action needs
 * the values, and the answer is about exactly this request.
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

/** The object that policies see in place of a replaced value: conditions can only test that it exists. */
const STAND_IN = { replaced: true };

/**
 * Returns recorded parameters in a form in which policies can evaluate them again: the service refuses requests that
 * contain its own replacements of secrets.
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
