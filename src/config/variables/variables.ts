import { parseAllowedOrigins, parseHost, parsePublicUrl, parseTrustedProxies, parseRedisUrl } from './network';
import { API_KEY_EXPECTED, isGuessable, maskApiKey, parseApiKey } from './api-key';
import { DATABASE_DRIVERS, LOG_LEVELS, NODE_ENVIRONMENTS } from '../configuration';
import { explainDatabaseUrl, maskDatabaseUrl, parseDatabaseUrl, temporaryDatabaseUrl } from './database-url';
import { CHECKPOINT_VARIABLES } from './checkpoint-variables';
import { CLOCK_VARIABLES } from './clock-variables';
import { GOVERNANCE_VARIABLES } from './governance-variables';
import { OIDC_VARIABLES } from './oidc-variables';
import { LIMIT_VARIABLES } from './limit-variables';
import { LONGEST_TIME, oneOf, parseWholeNumber, trueOrFalse, type Variables, wholeNumber } from './variable';

/** Every environment variable of the service. To add one, add a member to `Configuration` and a row here. */
export const VARIABLES: Variables = {
  nodeEnvironment: {
    name: 'NODE_ENV',
    description:
      'production requires an API_KEY of at least 16 characters; test keeps the records in a temporary file.',
    default: 'development',
    example: 'production',
    ...oneOf(NODE_ENVIRONMENTS),
  },
  port: {
    name: 'PORT',
    description: 'TCP port to listen on; 0 picks a free one.',
    default: '3000',
    example: '3000',
    ...wholeNumber(0, 65535),
  },
  host: {
    name: 'HOST',
    description: 'Address to listen on; 127.0.0.1 can be reached from this machine only.',
    default: '0.0.0.0',
    expected: 'an IP address or a host name',
    example: '127.0.0.1',
    parse: parseHost,
  },
  publicUrl: {
    name: 'PUBLIC_URL',
    description: 'URL at which clients reach the service. Unset: the AuthZEN configuration is not served.',
    default: '',
    expected: 'an https origin, without path, query and fragment (http for this machine only)',
    example: 'https://governance.example.com',
    parse: (text) => (text === '' ? null : parsePublicUrl(text)),
  },
  apiKey: {
    name: 'API_KEY',
    description: 'Key that clients send in X-API-Key. Unset: a random one is generated and printed at every start.',
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
    description: 'Previous key, still accepted while clients switch to a new one.',
    default: '',
    refusedInProduction: isGuessable,
    expected: API_KEY_EXPECTED,
    example: '$(openssl rand -hex 32)',
    mask: maskApiKey,
    parse: (text) => (text === '' ? null : parseApiKey(text)),
  },
  tokenIssuers: {
    name: 'TOKEN_ISSUERS',
    description:
      'Path of a JSON file that lists the issuers whose tokens are accepted, and whom their tokens represent.',
    default: '',
    expected: 'the path of a file whose name ends with .json',
    example: '/etc/governance/token-issuers.json',
    parse: (text) => (text === '' ? null : text.endsWith('.json') ? text : undefined),
  },
  rateLimit: {
    name: 'RATE_LIMIT',
    description: 'Requests a client address may make per window with a valid key, and as many again without one.',
    default: '100',
    example: '100',
    ...wholeNumber(1, 2 ** 31 - 1),
  },
  rateWindow: {
    name: 'RATE_WINDOW',
    description: 'Length of the rate limit window in milliseconds.',
    default: '60000',
    example: '60000',
    ...wholeNumber(1, LONGEST_TIME),
  },
  redisUrl: {
    name: 'REDIS_URL',
    description: 'Redis in which several processes count requests together. Unset: each process counts its own.',
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
    description: 'Where the records are kept: a SQLite file, created if it is missing, or a PostgreSQL database.',
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
    description: 'Driver of a SQLite file; better-sqlite3 must be installed next to the service.',
    default: 'sqlite3',
    example: 'sqlite3',
    ...oneOf(DATABASE_DRIVERS),
  },
  ...CHECKPOINT_VARIABLES,
  ...CLOCK_VARIABLES,
  ...LIMIT_VARIABLES,
  trustedProxies: {
    name: 'TRUST_PROXY',
    description:
      'Reverse proxies whose X-Forwarded-For is trusted: their number, or their addresses. 0: none is trusted.',
    default: '0',
    expected: 'a number of hops from 0 to 32, or addresses and subnets separated by commas',
    example: '10.0.0.0/8,fd00::/8',
    parse: parseTrustedProxies,
  },
  ...GOVERNANCE_VARIABLES,
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
  consoleEnabled: {
    name: 'CONSOLE_ENABLED',
    description: 'Whether the web console is served at /console.',
    default: 'true',
    example: 'true',
    ...trueOrFalse(),
  },
  ...OIDC_VARIABLES,
  metricsPort: {
    name: 'METRICS_PORT',
    description: 'TCP port that serves /metrics without a key; 0 picks a free one. Unset: on PORT, with a key.',
    default: '',
    expected: 'a whole number from 0 to 65535, in digits',
    example: '9464',
    parse: (text) => (text === '' ? null : parseWholeNumber(text, 0, 65535)),
  },
};
