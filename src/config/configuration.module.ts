import { type DynamicModule, Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { Configuration } from './configuration';
import { readConfiguration } from './read-configuration';
import type { Environment } from './variable';

interface Validated {
  /** One member that is an object, because @nestjs/config copies plain values, a key among them, to `process.env`. */
  readonly configuration: Configuration;
}

/** Makes the validated `Configuration` injectable everywhere. */
@Module({})
export class ConfigurationModule {
  /**
   * Reads `.env` and the process's environment, which wins; with `environment` given, only that.
   * Rejects with a ConfigurationError, so await it before it goes among the imports.
   */
  static async forRoot(environment?: Environment): Promise<DynamicModule> {
    const configModule = await ConfigModule.forRoot({
      ignoreEnvFile: environment !== undefined,
      ignoreEnvVars: environment !== undefined,
      validate: (found: Environment): Validated => ({ configuration: readConfiguration(environment ?? found) }),
    });
    return {
      module: ConfigurationModule,
      global: true,
      imports: [configModule],
      providers: [
        {
          provide: Configuration,
          inject: [ConfigService],
          useFactory: (service: ConfigService<Validated, true>): Configuration =>
            service.get('configuration', { infer: true }),
        },
      ],
      exports: [Configuration],
    };
  }
}
