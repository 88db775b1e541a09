import type { VerifierKey } from '../signed-notes/verifier-key';

export const NODE_ENVIRONMENTS = ['development', 'production', 'test'] as const;
export type NodeEnvironment = (typeof NODE_ENVIRONMENTS)[number];

export const POLICY_DEFAULT_EFFECTS = ['allow', 'deny'] as const;
export type PolicyDefaultEffect = (typeof POLICY_DEFAULT_EFFECTS)[number];

export const RISK_LEVELS = ['low', 'medium', 'high', 'critical'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** Approvals a decision of each risk level needs. */
export type RequiredApprovals = Readonly<Record<RiskLevel, number>>;

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Number of trusted proxy hops in front of the service, or the addresses and subnets they live in. */
export type TrustedProxies = number | readonly string[];

/** Null: cross-origin requests are off. */
export type AllowedOrigins = readonly string[] | '*' | null;

export const DATABASE_DRIVERS = ['sqlite3', 'better-sqlite3'] as const;
export type DatabaseDriver = (typeof DATABASE_DRIVERS)[number];

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
 * The validated environment: the only place the service takes settings from, and the token to inject it by.
 * Each member but `apiKeyGenerated` is read by the row of its name in `variables.ts`.
 */
export abstract class Configuration {
  abstract readonly nodeEnvironment: NodeEnvironment;
  abstract readonly port: number;
  abstract readonly host: string;
  abstract readonly apiKey: string;
  /** True when no API_KEY was given and a random one was made for this run. */
  abstract readonly apiKeyGenerated: boolean;
  abstract readonly apiKeyPrevious: string | null;
  /** Path of a file; null: no tokens are taken. */
  abstract readonly tokenIssuers: string | null;
  /** Requests per window and client. */
  abstract readonly rateLimit: number;
  /** Milliseconds. */
  abstract readonly rateWindow: number;
  /** Where all processes count requests together; null: each by itself. It may hold a password: never show it. */
  abstract readonly redisUrl: string | null;
  abstract readonly corsOrigins: AllowedOrigins;
  abstract readonly database: ConfiguredDatabase;
  /** What opens the file of a SQLite database. */
  abstract readonly databaseDriver: DatabaseDriver;
  /** Seed of the key that signs checkpoints: never show it. Null: the service makes one and keeps it. */
  abstract readonly signingKey: Buffer | null;
  /** Public keys of previous signing keys. */
  abstract readonly previousVerifierKeys: readonly VerifierKey[];
  /** What the log calls itself in its checkpoints. */
  abstract readonly checkpointOrigin: string;
  /** Where the last checkpoint is kept, and a signing key of the service's own; null: next to the database. */
  abstract readonly checkpointFolder: string | null;
  /** Names of kept checkpoints that a restored database need not extend. */
  abstract readonly givenUpCheckpoints: readonly string[];
  /** Milliseconds a clock may be set while the service runs, and the last entry may lie ahead of it at a start. */
  abstract readonly maxClockStep: number;
  /** ISO 8601; null: no last entry may lie further ahead. */
  abstract readonly acceptedHeadTime: string | null;
  /** Bytes. */
  abstract readonly bodyLimit: number;
  /** Bytes of a body that holds a whole set of policies. */
  abstract readonly planBodyLimit: number;
  /** Bytes of large bodies that are held at a time, those of all requests together. */
  abstract readonly bodyTotalLimit: number;
  /** Bytes of large answers that wait for their clients, those of all together. */
  abstract readonly answerTotalLimit: number;
  /** Connections of clients at a time. */
  abstract readonly maxConnections: number;
  /** Those of one client; null: a fifth of all. */
  abstract readonly maxConnectionsPerAddress: number | null;
  abstract readonly trustedProxies: TrustedProxies;
  abstract readonly policyDefaultEffect: PolicyDefaultEffect;
  /** Policies in force at a time. */
  abstract readonly maxPolicies: number;
  /** Bytes of all patterns of the policies in force. */
  abstract readonly maxPolicyText: number;
  /** Where clients reach the service: an origin, without a `/` at its end. Null: AuthZEN's configuration is not served. */
  abstract readonly publicUrl: string | null;
  /** Milliseconds that the comparison of two sets of policies may take. */
  abstract readonly planTimeout: number;
  /** Recorded executions that a plan asks again. */
  abstract readonly replayLimit: number;
  /** Executions of one agent that wait for approval. */
  abstract readonly maxPendingApprovals: number;
  /** Requests that wait for an outcome. */
  abstract readonly maxWaiting: number;
  /** Streams of events that may be open at a time. */
  abstract readonly maxEventStreams: number;
  /** Whether webhooks are delivered over plain HTTP, too. */
  abstract readonly webhookAllowHttp: boolean;
  /** Whether webhooks are delivered to private addresses, too. */
  abstract readonly webhookAllowPrivate: boolean;
  abstract readonly allowSelfApproval: boolean;
  /** Reviews need a key or token that is bound to the reviewer, whatever the decision is about. */
  abstract readonly requireBoundReviewers: boolean;
  abstract readonly requiredApprovals: RequiredApprovals;
  /** Milliseconds an action handler may run. */
  abstract readonly actionTimeout: number;
  abstract readonly logLevel: LogLevel;
  abstract readonly swaggerEnabled: boolean;
  abstract readonly consoleEnabled: boolean;
  /** One of the issuers of tokens, at which people sign in to the console; null: they sign in by key alone. */
  abstract readonly oidcIssuer: string | null;
  abstract readonly oidcClientId: string | null;
  abstract readonly oidcScope: string;
  /** Null: the metrics have no port of their own and stand behind the API key. */
  abstract readonly metricsPort: number | null;
}

/** What no log line, answer or audit entry may show: keys, and the passwords inside URLs, as written and as meant. */
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
