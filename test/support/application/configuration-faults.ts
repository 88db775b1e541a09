import { ConfigurationError, readConfiguration } from '../../../src/core/config/read-configuration';
import type { Environment } from '../../../src/core/config/variables/variable';

/** The faults with which an environment is refused; empty if it is accepted. */
export function configurationFaults(environment: Environment): readonly string[] {
  try {
    readConfiguration(environment);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
  return [];
}
