import { parseAllowedOrigins } from './allowed-origins';
import { API_KEY_EXPECTED, isGuessable, maskApiKey, parseApiKey } from './api-key';
import {
  type Configuration,
  DATABASE_DRIVERS,
  LOG_LEVELS,
  NODE_ENVIRONMENTS,
  POLICY_DEFAULT_EFFECTS,
} from './configuration';
import { explainDatabaseUrl, maskDatabaseUrl, parseDatabaseUrl, temporaryDatabaseUrl } from './database-url';
import { CHECKPOINT_VARIABLES } from './checkpoint-variables';
import { CLOCK_VARIABLES } from './clock-variables';
import { parseHost } from './host';
import { parseRedisUrl } from './redis-url';
import { parseRequiredApprovals } from './required-approvals';
import { ROOM_VARIABLES } from './room-variables';
import { parseTrustedProxies } from './trusted-proxies';
import { oneOf, parseWholeNumber, trueOrFalse, type Variable, wholeNumber } from './variable';

/** The members of the configuration that are read from the environment. */
export type Settings = Omit<Configuration, 'apiKeyGenerated'>;

export type Variables = { readonly [Member in keyof Settings]: Variable<Settings[Member]> };

/** The longest time a timer takes, in milliseconds. */
const LONGEST_TIME = 2 ** 31 - 1;

/** Every environment variable the service reads. Adding one is adding a member to `Configuration` and a row here. */
export const VARIABLES: Variables = {
  nodeEnvironment: {
    name: 'NODE_ENV',
    description:
      'production refuses to start without an API_KEY of 16 characters or more; test keeps the records in a temporary file.',
    default: 'development',
    example: 'production',
    ...oneOf(NODE_ENVIRONMENTS),
  },
  port: {
    name: 'PORT',
    description: 'TCP port to listen on; 0 takes a free one.',
    default: '3000',
    example: '3000',
    ...wholeNumber(0, 65535),
  },
  host: {
    name: 'HOST',
    description: 'Address to listen on; 127.0.0.1 is reached from this machine only.',
    default: '0.0.0.0',
    expected: 'an IP address or a host name',
    example: '127.0.0.1',
    parse: parseHost,
  },
  apiKey: {
    name: 'API_KEY',
    description: 'Key that clients send in X-API-Key. Unset: a random one is made at every start and printed.',
    default: '',
    requiredInProduction: () => true,
    refusedInProduction: isGuessable,
    expected: API_KEY_EXPECTED,
    example: '$(openssl rand -hex 32)',
    mask: maskApiKey,
    parse: (text) => (text === '' ? '' : parseApiKey(text)),
  },
  apiKeyPrevious: {
    name: 'API_KEY_PREVIOUS',
    description: 'Former key, accepted too while clients change over to a new one.',
    default: '',
    refusedInProduction: isGuessable,
    expected: API_KEY_EXPECTED,
    example: '$(openssl rand -hex 32)',
    mask: maskApiKey,
    parse: (text) => (text === '' ? null : parseApiKey(text)),
  },
  rateLimit: {
    name: 'RATE_LIMIT',
    description: 'Requests a client address may make in one window with a valid key, and as many without.',
    default: '100',
    example: '100',
    ...wholeNumber(1, 2 ** 31 - 1),
  },
  rateWindow: {
    name: 'RATE_WINDOW',
    description: 'Length of the window in milliseconds.',
    default: '60000',
    example: '60000',
    ...wholeNumber(1, LONGEST_TIME),
  },
  redisUrl: {
    name: 'REDIS_URL',
    description: 'Redis in which several processes count requests together. Unset: each process counts by itself.',
    default: '',
    expected: 'redis://user:password@host:port/number, or rediss:// for TLS; user, password, port and number optional',
    example: 'redis://localhost:6379',
    mask: maskDatabaseUrl,
    parse: (text) => (text === '' ? null : parseRedisUrl(text)),
  },
  corsOrigins: {
    name: 'CORS_ORIGIN',
    description: 'Origins whose web pages may call the service. Unset: none.',
    default: '',
    expected:
      '* or origins (scheme, host and, unless it is the usual one, port; no path, no trailing slash), separated by commas',
    example: 'https://console.example.com,http://localhost:5173',
    parse: parseAllowedOrigins,
  },
  database: {
    name: 'DATABASE_URL',
    description: 'Where the records are kept: a SQLite file, made when it is missing, or a PostgreSQL database.',
    default: 'sqlite:./data/governance.db',
    defaultInTest: temporaryDatabaseUrl,
    expected: 'sqlite: followed by the path of a file, or postgres://user:password@host:port/database',
    example: 'postgres://governance:secret@localhost:5432/governance',
    mask: maskDatabaseUrl,
    parse: parseDatabaseUrl,
    explain: explainDatabaseUrl,
  },
  databaseDriver: {
    name: 'DATABASE_DRIVER',
    description: 'Driver of a SQLite file; better-sqlite3 must be installed beside the service.',
    default: 'sqlite3',
    example: 'sqlite3',
    ...oneOf(DATABASE_DRIVERS),
  },
  ...CHECKPOINT_VARIABLES,
  ...CLOCK_VARIABLES,
  ...ROOM_VARIABLES,
  trustedProxies: {
    name: 'TRUST_PROXY',
    description:
      'Reverse proxies whose X-Forwarded-For is believed: how many there are, or where. 0: nobody is believed.',
    default: '0',
    expected: 'a number of hops from 0 to 32, or addresses and subnets separated by commas',
    example: '10.0.0.0/8,fd00::/8',
    parse: parseTrustedProxies,
  },
  policyDefaultEffect: {
    name: 'POLICY_DEFAULT_EFFECT',
    description: 'What happens to an action that no policy matches.',
    default: 'deny',
    example: 'deny',
    ...oneOf(POLICY_DEFAULT_EFFECTS),
  },
  maxPolicies: {
    name: 'MAX_POLICIES',
    description: 'Policies that may be in force at a time.',
    default: '10000',
    example: '10000',
    ...wholeNumber(1, 1_000_000),
  },
  maxPolicyText: {
    name: 'MAX_POLICY_TEXT',
    description: 'Bytes that the patterns of all policies in force may have together; they are held in memory.',
    default: '33554432',
    example: '33554432',
    ...wholeNumber(1, 2 ** 31 - 1),
  },
  allowSelfApproval: {
    name: 'ALLOW_SELF_APPROVAL',
    description: 'Whether an agent may approve the decision it proposed itself.',
    default: 'false',
    example: 'false',
    ...trueOrFalse(),
  },
  requiredApprovals: {
    name: 'REQUIRED_APPROVALS',
    description: 'Approvals a decision needs, by risk level; levels left out need 1.',
    default: 'low=1,medium=1,high=1,critical=1',
    expected:
      'level=approvals pairs separated by commas; levels low, medium, high, critical, each once; approvals 1 to 100',
    example: 'high=2,critical=3',
    parse: parseRequiredApprovals,
  },
  actionTimeout: {
    name: 'ACTION_TIMEOUT',
    description: 'Milliseconds an action handler may run before its execution counts as failed.',
    default: '30000',
    example: '30000',
    ...wholeNumber(1, LONGEST_TIME),
  },
  logLevel: {
    name: 'LOG_LEVEL',
    description: 'Least severe log lines to write.',
    default: 'info',
    example: 'info',
    ...oneOf(LOG_LEVELS),
  },
  swaggerEnabled: {
    name: 'SWAGGER_ENABLED',
    description: 'Whether the API documentation is served at /docs.',
    default: 'true',
    example: 'true',
    ...trueOrFalse(),
  },
  metricsPort: {
    name: 'METRICS_PORT',
    description: 'TCP port that serves /metrics without a key; 0 takes a free one. Unset: on PORT, behind the key.',
    default: '',
    expected: 'a whole number from 0 to 65535, in digits',
    example: '9464',
    parse: (text) => (text === '' ? null : parseWholeNumber(text, 0, 65535)),
  },
};
