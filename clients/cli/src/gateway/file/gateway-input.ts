import type { JsonObject } from './gateway-config.js';

// The members of the file as `gateway.schema.json` has them. A member that has a fault of its own is missing here.

export interface GatewayInput {
  readonly listen?: string;
  readonly plainText?: boolean;
  readonly tls?: { readonly cert?: string; readonly key?: string };
  readonly publicUrl?: string;
  readonly names?: readonly (string | undefined)[];
  readonly service?: string;
  readonly journal?: string;
  readonly metrics?: string;
  readonly oauth?: { readonly issuers?: readonly (string | undefined)[] };
  readonly upstreams?: Readonly<Record<string, UpstreamInput>>;
}

/** Members of calls, which an upstream has, and a route may have. */
export interface CallInput {
  readonly secret?: readonly (string | undefined)[];
  readonly hold?: string;
  readonly timeout?: string;
  readonly maxBody?: number;
}

export interface UpstreamInput extends CallInput {
  readonly url?: string;
  readonly mcp?: string;
  readonly ca?: string;
  readonly hosts?: readonly (string | undefined)[];
  readonly credentials?: readonly (CredentialInput | undefined)[];
  readonly headers?: readonly (string | undefined)[];
  readonly idempotencyHeader?: string;
  readonly routes?: readonly (RouteInput | undefined)[];
  readonly map?: string;
  readonly lock?: string;
  readonly ask?: readonly (string | undefined)[];
}

export interface CredentialInput {
  readonly header?: string;
  readonly query?: string;
  readonly value?: string;
  readonly basic?: { readonly user?: string; readonly password?: string };
}

export interface RouteInput extends CallInput {
  readonly match?: string;
  readonly action?: string;
  readonly resource?: { readonly type?: string; readonly id?: string };
  readonly parameters?: JsonObject;
  readonly record?: boolean;
  readonly query?: boolean;
}
