import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type * as JournalModule from '../../../clients/cli/src/gateway/calls/journal.js' with {
  'resolution-mode': 'import',
};
import type * as KnownCallersModule from '../../../clients/cli/src/gateway/calls/known-callers.js' with {
  'resolution-mode': 'import',
};
import type * as ServiceCalls from '../../../clients/cli/src/gateway/calls/service-calls.js' with {
  'resolution-mode': 'import',
};
import type * as HttpListener from '../../../clients/cli/src/gateway/listener/http-listener.js' with {
  'resolution-mode': 'import',
};
import type * as ClientMessage from '../../../clients/cli/src/gateway/mcp/client-message.js' with {
  'resolution-mode': 'import',
};
import type * as SessionlessModule from '../../../clients/cli/src/gateway/mcp/sessionless.js' with {
  'resolution-mode': 'import',
};
import type * as SessionsModule from '../../../clients/cli/src/gateway/mcp/sessions.js' with {
  'resolution-mode': 'import',
};
import type * as BodyParameter from '../../../clients/cli/src/gateway/request/body-parameter.js' with {
  'resolution-mode': 'import',
};
import type * as ContentType from '../../../clients/cli/src/gateway/request/content-type.js' with {
  'resolution-mode': 'import',
};
import type * as Turns from '../../../clients/cli/src/gateway/request/turns.js' with {
  'resolution-mode': 'import',
};
import type * as Delivering from '../../../clients/cli/src/gateway/response/deliver.js' with {
  'resolution-mode': 'import',
};
import type * as RedactionStream from '../../../clients/cli/src/gateway/response/redaction-stream.js' with {
  'resolution-mode': 'import',
};
import type * as Redactor from '../../../clients/cli/src/gateway/response/redactor.js' with {
  'resolution-mode': 'import',
};
import type * as Metrics from '../../../clients/cli/src/gateway/run/metrics.js' with {
  'resolution-mode': 'import',
};
import type * as Credentials from '../../../clients/cli/src/gateway/upstream/credentials.js' with {
  'resolution-mode': 'import',
};
import type * as UpstreamClient from '../../../clients/cli/src/gateway/upstream/upstream-client.js' with {
  'resolution-mode': 'import',
};
import type * as RunningCalls from '../../../clients/cli/src/mcp/running-calls.js' with {
  'resolution-mode': 'import',
};
import type * as LargeAnswers from '../../../clients/cli/src/mcp/servers/large-answers.js' with {
  'resolution-mode': 'import',
};
import type * as ReadableResponse from '../../../clients/cli/src/mcp/servers/readable-response.js' with {
  'resolution-mode': 'import',
};
import type * as Reopening from '../../../clients/cli/src/mcp/servers/reopening.js' with {
  'resolution-mode': 'import',
};
import { buildCommandLine, MAIN } from '../command-line';

/** Modules of the gateway by their paths. */
export interface GatewayModules {
  readonly '../mcp/running-calls': typeof RunningCalls;
  readonly '../mcp/servers/large-answers': typeof LargeAnswers;
  readonly '../mcp/servers/readable-response': typeof ReadableResponse;
  readonly '../mcp/servers/reopening': typeof Reopening;
  readonly 'calls/journal': typeof JournalModule;
  readonly 'calls/known-callers': typeof KnownCallersModule;
  readonly 'calls/service-calls': typeof ServiceCalls;
  readonly 'listener/http-listener': typeof HttpListener;
  readonly 'mcp/client-message': typeof ClientMessage;
  readonly 'mcp/sessionless': typeof SessionlessModule;
  readonly 'mcp/sessions': typeof SessionsModule;
  readonly 'request/body-parameter': typeof BodyParameter;
  readonly 'request/content-type': typeof ContentType;
  readonly 'request/turns': typeof Turns;
  readonly 'response/deliver': typeof Delivering;
  readonly 'response/redaction-stream': typeof RedactionStream;
  readonly 'response/redactor': typeof Redactor;
  readonly 'run/metrics': typeof Metrics;
  readonly 'upstream/credentials': typeof Credentials;
  readonly 'upstream/upstream-client': typeof UpstreamClient;
}

/** Builds `gov`, if it has changed, and loads one of the gateway's modules. */
export async function loadGatewayModule<Path extends keyof GatewayModules>(path: Path): Promise<GatewayModules[Path]> {
  await buildCommandLine();
  return createRequire(__filename)(join(dirname(MAIN), 'gateway', `${path}.js`)) as GatewayModules[Path];
}
