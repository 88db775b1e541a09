/** A JSON value, as a request's parameters hold it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** A value with one secret that is read from the environment or a file. */
export interface SecretText {
  readonly before: string;
  readonly source: { readonly env: string } | { readonly file: string };
  readonly after: string;
}

export type Credential =
  /** The name is in lower case. */
  | { readonly kind: 'header'; readonly name: string; readonly value: SecretText }
  | { readonly kind: 'query'; readonly name: string; readonly value: SecretText }
  | { readonly kind: 'basic'; readonly user: SecretText | string; readonly password: SecretText };

interface UpstreamBase {
  readonly name: string;
  /** Its path has no final `/`, except `/` alone. */
  readonly url: URL;
  /** Path of a file with more certificate authorities. */
  readonly ca?: string;
  /** Names in lower case, without a port and a final dot. */
  readonly hosts: readonly string[];
  readonly credentials: readonly Credential[];
  /** Names of the client's headers that go on, in lower case. */
  readonly headers: readonly string[];
  readonly idempotencyHeader?: string;
  /** Pointers into the parameters. */
  readonly secret: readonly string[];
  readonly holdMs: number;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
}

export interface HttpUpstream extends UpstreamBase {
  readonly kind: 'http';
  readonly routes: readonly Route[];
}

export interface McpUpstream extends UpstreamBase {
  readonly kind: 'mcp';
  /** Paths of files. */
  readonly map?: string;
  readonly lock?: string;
  /** Subjects that the tool `gov__request_approval` asks. */
  readonly ask?: readonly string[];
}

export interface Route {
  /** The pattern in the spelling of the file, such as `POST /v1/refunds`. */
  readonly match: string;
  readonly methods: readonly string[];
  readonly path: string;
  readonly action: string;
  /** `id` is a template. */
  readonly resource: { readonly type: string; readonly id: string };
  /** Values are templates, or values as they are. */
  readonly parameters?: JsonObject;
  readonly isRecorded: boolean;
  readonly allowsQuery: boolean;
  readonly secret: readonly string[];
  readonly holdMs: number;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
}

export interface GatewayConfig {
  readonly listen: { readonly host: string; readonly port: number };
  readonly plainText: boolean;
  /** Paths of files. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly publicUrl?: URL;
  readonly names: readonly string[];
  readonly service: URL;
  /** Path of a folder. */
  readonly journal: string;
  readonly metrics?: { readonly host: string; readonly port: number };
  readonly issuers: readonly string[];
  readonly upstreams: readonly (HttpUpstream | McpUpstream)[];
}
