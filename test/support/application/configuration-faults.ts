import type { Configuration } from '../../../src/core/config/configuration';
import { ConfigurationError, ReadSettings } from '../../../src/core/config/read-configuration';
import type { Environment } from '../../../src/core/config/variables/variable';

/** The settings of the service alone, read from an environment. */
export function readConfiguration(environment: Environment): Configuration {
  return ReadSettings.from(environment, []).configuration;
}

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
