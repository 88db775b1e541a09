import type * as openapi from './http/openapi/document';
import { createRequire } from 'node:module';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { getStorageToken } from '@nestjs/throttler';
import type { Application } from 'express';
import type { DestinationStream } from 'pino';
import { AppModule, type FeatureModule, MIDDLEWARE } from './app.module';
import { Configuration } from './core/config/configuration';
import type { Environment } from './core/config/variables/variable';
import { ApiDocument } from './http/openapi/openapi.controller';
import { corsOptions } from './http/responses/common-headers';
import { Gates } from './http/gates';
import type { RateLimits } from './http/rate-limit/rate-limits';
import { ConnectionLimiter, TURN } from './http/server/http-server';
import { readTarget } from './http/request/arrival';
import { answerRefusedRequests } from './http/fallback/refused-requests';
import { JsonAdapter } from './http/responses/json-adapter';
import { endingsOf, OpenedParts, OpenedPartsModule } from './core/lifecycle/opened-parts';

export interface AppOptions {
  /** Replaces `.env` and the process's environment altogether. */
  readonly environment?: Environment;
  /** Extension modules, whose routes are served with ours under `/api/v1`. */
  readonly modules?: readonly FeatureModule[];
  /** Receives the log lines instead of standard output. */
  readonly logStream?: DestinationStream;
}

/** Makes the application, ready to listen. Throws ConfigurationError and DatabaseInUseError. */
export async function createApp({
  environment,
  modules = [],
  logStream,
}: AppOptions = {}): Promise<NestExpressApplication> {
  refuseSecondCopies();
  return assemble(await AppModule.forRoot(environment, modules, logStream));
}

/**
 * Builds the application of a root module that includes the service's pipeline; other roots are used to benchmark it. A
 * start that fails leaves nothing open.
 */
export async function assemble(root: DynamicModule): Promise<NestExpressApplication> {
  const opened = new OpenedParts();
  const imports = [...(root.imports ?? []), OpenedPartsModule.of(opened)];
  try {
    const adapter = new JsonAdapter();
    const application = await NestFactory.create<NestExpressApplication>({ ...root, imports }, adapter, {
      abortOnError: false,
      // `RequestInputGuard` reads bodies, once the other guards have let the request pass.
      bodyParser: false,
      // Buffers lines until the service's own logger has been made. createApp throws the error of a start that fails
      // before that.
      bufferLogs: true,
      autoFlushLogs: false,
    });
    opened.add(() => adapter.close());
    for (const end of endingsOf(application).reverse()) opened.add(end);
    prepareExpress(application);
    adapter.holdAnswersIn(application.get(Gates).get('answers'));
    prepareHttp(application);
    application.get(ApiDocument).madeBy(() => {
      const { createDocument } = createRequire(__filename)('./http/openapi/document') as typeof openapi;
      return createDocument(application);
    });
    return await application.init();
  } catch (error) {
    await opened.close();
    throw error;
  }
}

function prepareHttp(application: NestExpressApplication): void {
  const { maxConnections, maxConnectionsPerAddress } = application.get(Configuration);
  const express = application.getHttpAdapter().getInstance() as Application;
  // Express compiles this function from TRUST_PROXY. With a number of hops, every direct peer counts as the last proxy.
  const isProxy = express.get('trust proxy fn') as (address: string, hop: number) => boolean;
  const server = application.getHttpServer();
  // Runs before Express, which would respond to a target that it cannot parse.
  server.prependListener(TURN, readTarget);
  new ConnectionLimiter(server, {
    most: maxConnections,
    mostPerClient: maxConnectionsPerAddress,
    isProxy: (address) => isProxy(address, 0),
  });
  answerRefusedRequests(server, application.get<RateLimits>(getStorageToken()));
}

function prepareExpress(application: NestExpressApplication): void {
  const { trustedProxies, corsOrigins } = application.get(Configuration);
  application.disable('x-powered-by');
  application.disable('etag');
  application.disable('query parser');
  application.set('trust proxy', trustedProxies);
  // Paths are case-sensitive. Nest has created the router already, so the setting has to be changed on it.
  const { router } = application.getHttpAdapter().getInstance() as Application;
  Object.assign(router, { caseSensitive: true });
  application.use(...MIDDLEWARE);
  if (corsOrigins !== null) {
    application.enableCors(corsOptions(corsOrigins));
  }
}

/**
 * Packages that keep module-level state: with two copies, a module and the service do not see each other's
 * registrations.
 */
const SHARED =
  /^(.*[\\/]node_modules[\\/](@nestjs[\\/][^\\/]+|typeorm|class-validator|class-transformer|reflect-metadata))[\\/]/;

const REMEDY = 'Depend on exactly the version that the service depends on, so that npm installs only one.';

/** @throws if a package that the modules share with the service is loaded twice. */
function refuseSecondCopies(): void {
  const nest = createRequire(require.resolve('@nestjs/common'));
  // Nest loads these two when it first validates.
  const loadedLater = ['class-validator', 'class-transformer'].map((name) => nest.resolve(name));
  const folders = new Map<string, string>();
  for (const file of [...Object.keys(require.cache), ...loadedLater]) {
    const [, folder, path] = SHARED.exec(file) ?? [];
    if (folder === undefined || path === undefined) continue;
    const name = path.replace('\\', '/');
    const moduleFolder = folders.get(name) ?? folder;
    folders.set(name, moduleFolder);
    if (moduleFolder !== folder)
      throw new Error(`There are two copies of ${name}: ${moduleFolder} and ${folder}. ${REMEDY}`);
  }
}
