import { type DynamicModule, Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { Configuration } from './configuration';
import { readDatabase, readMembers, ReadSettings, SettingsContribution } from './read-configuration';
import type { ConfiguredDatabase } from './variables/database-url';
import type { Environment, SettingRows } from './variables/variable';
import type { Settings } from './variables/variables';

interface EnvironmentHolder {
  /** Wrapped in an object, because @nestjs/config copies plain values, a key among them, to `process.env`. */
  readonly environment: Environment;
}

/**
 * Makes the validated `Configuration` injectable everywhere, and the settings of each module under the module's own
 * token.
 */
@Module({})
export class ConfigurationModule {
  /**
   * Reads `.env` and the process's environment, which takes precedence; if `environment` is given, only that. An
   * application with invalid settings does not start: it throws a ConfigurationError.
   */
  static async forRoot(environment?: Environment): Promise<DynamicModule> {
    const configModule = await ConfigModule.forRoot({
      ignoreEnvFile: environment !== undefined,
      validatePredefined: environment === undefined,
      validate: (processEnvironment: Environment): EnvironmentHolder => ({
        environment: environment ?? processEnvironment,
      }),
    });
    return {
      module: ConfigurationModule,
      global: true,
      imports: [configModule, DiscoveryModule],
      providers: [
        { provide: ReadSettings, inject: [ConfigService, DiscoveryService], useFactory: readAll },
        {
          provide: Configuration,
          inject: [ReadSettings],
          useFactory: ({ configuration }: ReadSettings): Configuration => configuration,
        },
      ],
      exports: [Configuration, ReadSettings],
    };
  }

  /** The settings of a module: `token` is the class by which they are injected, with a row for each of its members. */
  static forFeature<Values extends object>(token: abstract new () => Values, rows: SettingRows<Values>): DynamicModule {
    const contribution = new SettingsContribution(rows);
    return {
      module: ConfigurationModule,
      providers: [
        { provide: SettingsContribution, useValue: contribution },
        { provide: token, inject: [ReadSettings], useFactory: (read: ReadSettings) => read.read(contribution) },
      ],
      exports: [token],
    };
  }
}

function readAll(service: ConfigService<EnvironmentHolder, true>, discovery: DiscoveryService): ReadSettings {
  const provided = discovery.getProviders().map((provider): unknown => provider.instance);
  const contributions = provided.filter((instance) => instance instanceof SettingsContribution);
  return ReadSettings.from(service.get('environment', { infer: true }), contributions);
}

/**
 * The database that a service started here would open, according to `.env` and the process's environment, which takes
 * precedence. For programs that need nothing else: other variables are ignored. Rejects with a ConfigurationError.
 */
export async function configuredDatabase(): Promise<ConfiguredDatabase> {
  return readDatabase(await readEnvironment());
}

/** Reads some of the settings from `.env` and the process's environment. @throws ConfigurationError */
export async function configuredSettings<Member extends keyof Settings>(
  members: readonly Member[],
): Promise<Pick<Settings, Member>> {
  return readMembers(await readEnvironment(), members);
}

async function readEnvironment(): Promise<Environment> {
  let variables: Environment = {};
  const validate = (environment: Environment): Record<string, never> => {
    variables = environment;
    return {};
  };
  await ConfigModule.forRoot({ validate });
  return variables;
}
