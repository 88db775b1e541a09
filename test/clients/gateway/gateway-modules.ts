import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type * as BodyRoom from '../../../clients/cli/src/gateway/body-room.js' with { 'resolution-mode': 'import' };
import type * as ServiceCalls from '../../../clients/cli/src/gateway/calls/service-calls.js' with {
  'resolution-mode': 'import',
};
import type * as RequestSlots from '../../../clients/cli/src/gateway/request-slots.js' with {
  'resolution-mode': 'import',
};
import type * as Deliver from '../../../clients/cli/src/gateway/response/deliver.js' with {
  'resolution-mode': 'import',
};
import type * as RedactionStream from '../../../clients/cli/src/gateway/response/redaction-stream.js' with {
  'resolution-mode': 'import',
};
import type * as Redactor from '../../../clients/cli/src/gateway/response/redactor.js' with {
  'resolution-mode': 'import',
};
import type * as ResponseFilter from '../../../clients/cli/src/gateway/response/response-filter.js' with {
  'resolution-mode': 'import',
};
import type * as ResponseUrls from '../../../clients/cli/src/gateway/response/response-urls.js' with {
  'resolution-mode': 'import',
};
import type * as SecretStore from '../../../clients/cli/src/gateway/secrets/secret-store.js' with {
  'resolution-mode': 'import',
};
import type * as Credentials from '../../../clients/cli/src/gateway/upstream/credentials.js' with {
  'resolution-mode': 'import',
};
import type * as RequestHeaders from '../../../clients/cli/src/gateway/upstream/request-headers.js' with {
  'resolution-mode': 'import',
};
import type * as UpstreamClient from '../../../clients/cli/src/gateway/upstream/upstream-client.js' with {
  'resolution-mode': 'import',
};
import type * as UpstreamCredentials from '../../../clients/cli/src/gateway/upstream/upstream-credentials.js' with {
  'resolution-mode': 'import',
};
import { buildCommandLine, MAIN } from '../command-line';

/** Modules of the gateway by their paths. */
interface GatewayModules {
  readonly 'body-room': typeof BodyRoom;
  readonly 'calls/service-calls': typeof ServiceCalls;
  readonly 'request-slots': typeof RequestSlots;
  readonly 'response/deliver': typeof Deliver;
  readonly 'response/redaction-stream': typeof RedactionStream;
  readonly 'response/redactor': typeof Redactor;
  readonly 'response/response-filter': typeof ResponseFilter;
  readonly 'response/response-urls': typeof ResponseUrls;
  readonly 'secrets/secret-store': typeof SecretStore;
  readonly 'upstream/credentials': typeof Credentials;
  readonly 'upstream/request-headers': typeof RequestHeaders;
  readonly 'upstream/upstream-client': typeof UpstreamClient;
  readonly 'upstream/upstream-credentials': typeof UpstreamCredentials;
}

/** Builds `gov`, if it has changed, and loads one of the gateway's modules. */
export async function loadGatewayModule<Path extends keyof GatewayModules>(path: Path): Promise<GatewayModules[Path]> {
  await buildCommandLine();
  return createRequire(__filename)(join(dirname(MAIN), 'gateway', `${path}.js`)) as GatewayModules[Path];
}
