import { InvalidArgumentError } from 'commander';
import { changedNumberInJson, changedNumberText } from './unsafe-number.js';

/** Parses the parameters of an action from an option. */
export function jsonObject(text: string): Record<string, unknown> {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError('Expected a JSON object, for example {"amount": 80}.');
  }
  const fault = changedNumberInJson(text, 'parameters');
  if (fault !== undefined) throw new InvalidArgumentError(changedNumberText(fault));
  return value as Record<string, unknown>;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
