export type NodeEnvironment = 'development' | 'production' | 'test';
export type PolicyDefaultEffect = 'allow' | 'deny';
export type RiskLevel = 'low' | 'medium' | 'high' | 'critical';
export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

/** Number of trusted proxy hops in front of the service, or the subnets they live in. */
export type TrustedProxies = number | readonly string[];

/** Where the records are kept. `path` is as configured; the database module resolves it. */
export interface SqliteDatabase {
  readonly kind: 'sqlite';
  readonly path: string;
}

/** The validated environment: the only place the service takes settings from. */
export class Configuration {
  readonly nodeEnvironment!: NodeEnvironment;
  readonly port!: number;
  readonly host!: string;
  readonly apiKey!: string;
  /** True when no API_KEY was given and a random one was made for this run. */
  readonly apiKeyGenerated!: boolean;
  readonly apiKeyPrevious!: string | null;
  /** Requests per window and client. */
  readonly rateLimit!: number;
  /** Milliseconds. */
  readonly rateWindow!: number;
  /** Null: cross-origin requests are off. */
  readonly corsOrigins!: readonly string[] | '*' | null;
  readonly database!: SqliteDatabase;
  /** Bytes. */
  readonly bodyLimit!: number;
  readonly trustedProxies!: TrustedProxies;
  readonly policyDefaultEffect!: PolicyDefaultEffect;
  readonly allowSelfApproval!: boolean;
  readonly requiredApprovals!: Readonly<Record<RiskLevel, number>>;
  /** Milliseconds an action handler may run. */
  readonly actionTimeout!: number;
  readonly logLevel!: LogLevel;
  readonly swaggerEnabled!: boolean;
}
