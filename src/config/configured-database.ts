import { ConfigModule } from '@nestjs/config';
import type { ConfiguredDatabase } from './configuration';
import { readDatabase } from './read-configuration';
import type { Environment } from './variable';

/**
 * The database that a service started here would open, by `.env` and the process's environment, which wins. For programs
 * that need nothing else: no other variable is looked at. Rejects with a ConfigurationError.
 */
export async function configuredDatabase(): Promise<ConfiguredDatabase> {
  const found = await new Promise<Environment>((resolve, reject) => {
    const validate = (environment: Environment): Record<string, never> => {
      resolve(environment);
      return {};
    };
    ConfigModule.forRoot({ validate }).catch(reject);
  });
  return readDatabase(found);
}
