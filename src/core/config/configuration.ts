import type { VerifierKey } from '../signed-notes/signed-note';

export const NODE_ENVIRONMENTS = ['development', 'production', 'test'] as const;
export type NodeEnvironment = (typeof NODE_ENVIRONMENTS)[number];

export const POLICY_DEFAULT_EFFECTS = ['allow', 'deny'] as const;
export type PolicyDefaultEffect = (typeof POLICY_DEFAULT_EFFECTS)[number];

export const RISK_LEVELS = ['low', 'medium', 'high', 'critical'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** The approvals that a decision of each risk level needs. */
export type RequiredApprovals = Readonly<Record<RiskLevel, number>>;

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Number of trusted proxy hops in front of the service, or the proxies' addresses and subnets. */
export type TrustedProxies = number | readonly string[];

/** Null: cross-origin requests are off. */
export type AllowedOrigins = readonly string[] | '*' | null;

/** A file. `path` is as configured; the database module resolves it. */
export interface SqliteDatabase {
  readonly kind: 'sqlite';
  readonly path: string;
}

/** A database on a server. `url` may hold a password: never show it. */
export interface PostgresDatabase {
  readonly kind: 'postgres';
  readonly url: string;
}

/** Where the records are kept. */
export type ConfiguredDatabase = SqliteDatabase | PostgresDatabase;

/**
 * The validated environment: the only source of settings, and the token by which to inject it. Each member but
 * `apiKeyGenerated` is read by the row of its name in `variables.ts`.
 */
export abstract class Configuration {
  abstract readonly nodeEnvironment: NodeEnvironment;
  abstract readonly port: number;
  abstract readonly host: string;
  abstract readonly apiKey: string;
  /** True if no API_KEY was given and a random one was generated for this run. */
  abstract readonly apiKeyGenerated: boolean;
  abstract readonly apiKeyPrevious: string | null;
  /** Path of a file; null: tokens are not accepted. */
  abstract readonly tokenIssuers: string | null;
  /** Requests per window and client. */
  abstract readonly rateLimit: number;
  /** Milliseconds. */
  abstract readonly rateWindow: number;
  /** Where all processes count requests together; null: each counts its own. It may hold a password: never show it. */
  abstract readonly redisUrl: string | null;
  abstract readonly corsOrigins: AllowedOrigins;
  abstract readonly database: ConfiguredDatabase;
  /** Seed of the key that signs checkpoints: never show it. Null: the service generates and stores one. */
  abstract readonly signingKey: Buffer | null;
  /** Public keys of previous signing keys. */
  abstract readonly previousVerifierKeys: readonly VerifierKey[];
  /** The name of the log in its checkpoints. */
  abstract readonly checkpointOrigin: string;
  /** Where the last checkpoint, and a generated signing key, are stored; null: next to the database. */
  abstract readonly checkpointFolder: string | null;
  /** Names of kept checkpoints that a restored database need not extend. */
  abstract readonly givenUpCheckpoints: readonly string[];
  /**
   * Most milliseconds by which a clock may be set while the service runs, or the last entry may be ahead of it at
   * start.
   */
  abstract readonly maxClockStep: number;
  /** ISO 8601; null: the last entry may not be further ahead. */
  abstract readonly acceptedHeadTime: string | null;
  /** Bytes. */
  abstract readonly bodyLimit: number;
  /** Bytes of a body that contains a whole set of policies. */
  abstract readonly planBodyLimit: number;
  /** Bytes of the large bodies of all requests that are held at a time. */
  abstract readonly bodyTotalLimit: number;
  /** Bytes of all large answers that wait for their clients. */
  abstract readonly answerTotalLimit: number;
  /** Most client connections at a time. */
  abstract readonly maxConnections: number;
  /** Most connections of one client; null: a fifth of all. */
  abstract readonly maxConnectionsPerAddress: number | null;
  abstract readonly trustedProxies: TrustedProxies;
  abstract readonly policyDefaultEffect: PolicyDefaultEffect;
  /** Most policies in force. */
  abstract readonly maxPolicies: number;
  /** Bytes of all patterns of the policies in force. */
  abstract readonly maxPolicyText: number;
  /**
   * Where clients reach the service: an origin, without a trailing `/`. Null: AuthZEN's configuration is not served.
   */
  abstract readonly publicUrl: string | null;
  /** Milliseconds that the comparison of two sets of policies may take. */
  abstract readonly planTimeout: number;
  /** Most recorded executions that a plan evaluates again. */
  abstract readonly replayLimit: number;
  /** Most executions of one agent that wait for approval. */
  abstract readonly maxPendingApprovals: number;
  /** Most requests that wait for an outcome. */
  abstract readonly maxWaiting: number;
  /** Most event streams open at a time. */
  abstract readonly maxEventStreams: number;
  /** Whether webhooks may also be delivered over plain HTTP. */
  abstract readonly webhookAllowHttp: boolean;
  /** Whether webhooks may also be delivered to private addresses. */
  abstract readonly webhookAllowPrivate: boolean;
  abstract readonly allowSelfApproval: boolean;
  /** Reviews require a key or token bound to the reviewer, whatever the decision is about. */
  abstract readonly requireBoundReviewers: boolean;
  abstract readonly requiredApprovals: RequiredApprovals;
  /** Milliseconds an action handler may run. */
  abstract readonly actionTimeout: number;
  abstract readonly logLevel: LogLevel;
  abstract readonly swaggerEnabled: boolean;
  abstract readonly consoleEnabled: boolean;
  /** The token issuer at which people sign in to the console; null: they can only sign in with a key. */
  abstract readonly oidcIssuer: string | null;
  abstract readonly oidcClientId: string | null;
  abstract readonly oidcScope: string;
  /** Null: the metrics have no port of their own and require the API key. */
  abstract readonly metricsPort: number | null;
}

/**
 * What no log line, answer or audit entry may show: keys, and the passwords inside URLs, both as written and decoded.
 */
export function secretsOf(configuration: Configuration): string[] {
  const { apiKey, apiKeyPrevious, signingKey, database, redisUrl } = configuration;
  const urls = [database.kind === 'postgres' ? database.url : null, redisUrl];
  const given = [apiKey, apiKeyPrevious, signingKey?.toString('base64') ?? null, ...urls.flatMap(passwordForms)];
  return given.filter((secret): secret is string => secret !== null && secret !== '');
}

function passwordForms(url: string | null): string[] {
  if (url === null) return [];
  const { password } = new URL(url);
  return [password, decodeURIComponent(password)];
}
