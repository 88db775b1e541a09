import { invalid } from '../../../src/errors/domain-error.js';
import { JsonScanner } from '../../../src/http/body/json-scanner.js';
import { Fault } from './session.js';

/**
 * What people typed as JSON. @throws SyntaxError, or a Fault that names the members that would silently become
 * something else: the service refuses them, but in what the browser has parsed and sends they can no longer be seen.
 */
export function typedJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const faults = new JsonScanner(text).advance(text.length)?.faults ?? [];
  if (faults.length > 0) throw new Fault(invalid(faults).message, 'Correct it.');
  return value;
}
