import { invalid } from '../../../src/core/errors/domain-error.js';
import { scanJson } from '../../../src/http/body/json-scanner.js';
import { Fault } from './fault.js';

/**
 * Parses JSON that people typed. @throws SyntaxError, or a Fault that names members that would silently become
 * something else. The service refuses such members, but cannot see them in what the browser has parsed and sends.
 */
export function typedJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const faults = scanJson(text);
  if (faults.length > 0) throw new Fault(invalid(faults).message, 'Correct it.');
  return value;
}

/** The arguments of an action, as people typed them. @throws as above. */
export function argumentsIn(text: string): Record<string, unknown> {
  const value = typedJson(text === '' ? '{}' : text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Fault('The arguments must be a JSON object.', 'Write one, such as {"amount": 80}.');
}
