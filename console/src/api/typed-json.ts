import { invalid } from '../../../src/core/errors/domain-error.js';
import { scanJson } from '../../../src/http/body/json-scanner.js';
import { Fault } from './fault.js';

/**
 * What people typed as JSON. @throws SyntaxError, or a Fault that names the members that would silently become
 * something else: the service refuses them, but in what the browser has parsed and sends they can no longer be seen.
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
