import { InvalidArgumentError } from 'commander';
import { changedNumberInJson, changedNumberText } from './unsafe-number.js';

/** Parameters of an action as an option has them. */
export function jsonObject(text: string): Record<string, unknown> {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError('Expected a JSON object, for example {"amount": 80}.');
  }
  const changed = changedNumberInJson(text, 'parameters');
  if (changed !== undefined) throw new InvalidArgumentError(changedNumberText(changed));
  return value as Record<string, unknown>;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
