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
