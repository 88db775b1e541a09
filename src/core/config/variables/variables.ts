import {
  isPostgresUrl,
  explainDatabaseUrl,
  maskDatabaseUrl,
  parseDatabaseUrl,
  temporaryDatabaseUrl,
} from './database-url';
import { GOVERNANCE_VARIABLES } from './governance-variables';
import {
  explainCredentials,
  parseAllowedOrigins,
  parseHost,
  parsePublicUrl,
  parseRedisUrl,
  parseSmtpUrl,
  parseTrustedProxies,
} from './network';
import {
  API_KEY_EXPECTED,
  isGuessable,
  listOf,
  MAX_TIME_MS,
  maskApiKey,
  matchRule,
  oneOf,
  optional,
  parseApiKey,
  parseWholeNumber,
  trueOrFalse,
  type Environment,
  type Variable,
  type VariableTable,
  wholeNumber,
} from './variable';
import { findTimeZone } from '../../values/time-zone';
import { parseSeed, parseVerifierKey } from '../../signed-notes/signed-note';

const USUAL_PORT = '3000';
const MAX_CONNECTIONS = 1_000_000;
const HOUR = 3_600_000;
const CENTURY = 100 * 365 * 24 * HOUR;
const TEXT = /^[\x21-\x7e]{1,500}$/;
/** A signed note's name: no white space, no plus sign. */
const LOG_NAME = /^[^\s+\p{Cc}\p{Cf}]{1,200}$/u;
/** `<size>:<first 16 hex digits of the root hash>`. */
const CHECKPOINT_NAME = /^(0|[1-9]\d{0,15}):[0-9a-f]{16}$/;

/**
 * Every environment variable of the service. To add one, add a row: a setting has the name of the member and the type
 * that its row reads.
 */
export const VARIABLES = {
  nodeEnvironment: {
    name: 'NODE_ENV',
    description:
      'production requires an API_KEY of at least 16 characters; test keeps the records in a temporary file.',
    default: 'development',
    example: 'production',
    ...oneOf(['development', 'production', 'test']),
  },
  port: {
    name: 'PORT',
    description: 'TCP port to listen on; 0 picks a free one.',
    default: USUAL_PORT,
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
    description:
      'URL at which clients reach the service, for links in messages. Unset: no links, no AuthZEN configuration and no permits.',
    example: 'https://governance.example.com',
    ...optional('an https origin, without path, query and fragment (http for this machine only)', parsePublicUrl),
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
    refusedInProduction: isGuessable,
    example: '$(openssl rand -hex 32)',
    mask: maskApiKey,
    ...optional(API_KEY_EXPECTED, parseApiKey),
  },
  tokenIssuers: {
    name: 'TOKEN_ISSUERS',
    description:
      'Path of a JSON file that lists the issuers whose tokens are accepted, and whom their tokens represent.',
    example: '/etc/governance/token-issuers.json',
    ...optional('the path of a file whose name ends with .json', (text) => (text.endsWith('.json') ? text : undefined)),
  },
  rateLimit: {
    name: 'RATE_LIMIT',
    description: 'Requests a client address may make per window with a valid key, and as many again without one.',
    default: '100',
    ...wholeNumber(1, 2 ** 31 - 1),
  },
  rateLimitPerKey: {
    name: 'RATE_LIMIT_PER_KEY',
    description:
      'Requests that each key, or each subject of tokens, may make per window, from whatever address. Unset: those of an address share RATE_LIMIT.',
    example: '1000',
    ...optional('a whole number from 1 to 2147483647, in digits', (text) => parseWholeNumber(text, 1, 2 ** 31 - 1)),
  },
  rateWindow: {
    name: 'RATE_WINDOW',
    description: 'Length of the rate limit window in milliseconds.',
    default: '60000',
    ...wholeNumber(1, MAX_TIME_MS),
  },
  /** URL of Redis, which may hold a password: never show it. */
  redisUrl: {
    name: 'REDIS_URL',
    description: 'Redis in which several processes count requests together. Unset: each process counts its own.',
    example: 'redis://localhost:6379',
    mask: maskDatabaseUrl,
    ...optional(
      'redis://user:password@host:port/number, or rediss:// for TLS; user, password, port and number optional',
      parseRedisUrl,
    ),
    explain: explainCredentials,
  },
  corsOrigins: {
    name: 'CORS_ORIGIN',
    description: 'Origins whose web pages may call the service. Unset: none.',
    example: 'https://console.example.com,http://localhost:5173',
    ...optional(
      '* or origins (scheme, host and, unless it is the usual one, port; no path, no trailing slash), separated by commas',
      parseAllowedOrigins,
    ),
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
  /** Seed of the key that signs checkpoints; never show it. Null if the service generates and stores one. */
  signingKey: {
    name: 'SIGNING_KEY',
    description:
      'Key that signs checkpoints: 32 random bytes. Unset: one is generated at the first start and kept in a file.',
    // With keys of their own, replicas would sign the same log with different keys.
    requiredInProduction: ({ DATABASE_URL = '' }) => isPostgresUrl(DATABASE_URL),
    example: '$(openssl rand -base64 32)',
    mask: maskApiKey,
    ...optional(
      'the 32 bytes of an Ed25519 seed in standard base64, the same for all processes on one database',
      parseSeed,
    ),
  },
  previousVerifierKeys: {
    name: 'SIGNING_KEY_PREVIOUS',
    description: 'Public keys of previous signing keys, so that checkpoints kept by clients are still recognised.',
    // If somebody sets the previous secret key by mistake, it must not appear in a log.
    mask: maskApiKey,
    example: 'example.com/governance+dcce5bc2+AUvq3isjNDC5cYuqzs8P4FHLIqILbXmlqfxa2HOI4vc8',
    ...listOf(
      'verifier keys (name+hex+base64, as publicKey of GET /provenance/checkpoint shows them), separated by commas',
      parseVerifierKey,
    ),
  },
  checkpointOrigin: {
    name: 'CHECKPOINT_ORIGIN',
    description: 'Name of this log in its checkpoints; should be unique, such as a URL without scheme.',
    default: 'agent-governance-service',
    expected: 'a name of 1 to 200 characters without white space and plus signs',
    example: 'example.com/governance',
    parse: matchRule(LOG_NAME),
  },
  checkpointFolder: {
    name: 'CHECKPOINT_FOLDER',
    description:
      'Folder of the last checkpoint, the ids of erasures and generated keys. Unset: that of the database file; with PostgreSQL, data.',
    example: '/var/lib/governance-checkpoints',
    ...optional('the path of a folder, without white space at its ends', parseFolder),
  },
  givenUpCheckpoints: {
    name: 'ACCEPT_RESTORED_DATABASE',
    description:
      'Name of the kept checkpoint that a restored database need not extend, as shown when the start is refused.',
    example: '1040:3f9c0b6e8d2a4f71',
    ...listOf(
      'names of checkpoints (size:first 16 hex digits of the root hash), separated by commas',
      matchRule(CHECKPOINT_NAME),
    ),
  },
  maxClockStep: {
    name: 'MAX_CLOCK_STEP',
    description:
      'Milliseconds by which the clock may jump while the service runs, or be behind the last entry at a start.',
    default: String(HOUR),
    ...wholeNumber(60_000, CENTURY),
  },
  acceptedHeadTime: {
    name: 'ACCEPT_HEAD_TIME',
    description:
      'Time of the last entry, to accept it although it is ahead of the clock; as shown when the start is refused.',
    example: '2026-11-22T08:30:00.000Z',
    ...optional('a time in UTC with milliseconds, such as 2026-11-22T08:30:00.000Z', parseTime),
  },
  bodyLimit: {
    name: 'BODY_LIMIT',
    description: 'Largest request body in bytes.',
    default: '1048576',
    ...wholeNumber(1, 100 * 1024 * 1024),
  },
  planBodyLimit: {
    name: 'PLAN_BODY_LIMIT',
    description: 'The same for `POST /policies/plan` and `/policies/apply`, which take a whole set of policies.',
    default: '8388608',
    ...wholeNumber(1, 100 * 1024 * 1024),
  },
  bodyTotalLimit: {
    name: 'BODY_TOTAL_LIMIT',
    description: 'Bytes of bodies above 16 KiB held in memory at a time; further ones wait for up to ten seconds.',
    default: '12582912',
    ...wholeNumber(1, 100 * 1024 ** 3),
  },
  answerTotalLimit: {
    name: 'ANSWER_TOTAL_LIMIT',
    description: 'Bytes of answers above 16 KiB that may wait for clients to read them; further requests get 503.',
    default: '67108864',
    ...wholeNumber(1, 100 * 1024 ** 3),
  },
  maxConnections: {
    name: 'MAX_CONNECTIONS',
    description:
      'Connections that clients may hold at a time; a further one takes the place of an idle one, or is closed at once.',
    default: '5000',
    ...wholeNumber(1, MAX_CONNECTIONS),
  },
  maxConnectionsPerAddress: {
    name: 'MAX_CONNECTIONS_PER_ADDRESS',
    description: 'Connections of one client address, unless it is a trusted proxy. Unset: a fifth of MAX_CONNECTIONS.',
    example: '1000',
    ...optional(`a whole number from 1 to ${MAX_CONNECTIONS}, in digits`, (text) =>
      parseWholeNumber(text, 1, MAX_CONNECTIONS),
    ),
  },
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
  smtpUrl: {
    name: 'SMTP_URL',
    description: 'Mail server for mails about decisions that wait for people. Unset: no mails.',
    onlyWith: 'MAIL_FROM',
    example: 'smtps://governance:secret@mail.example.com',
    mask: maskDatabaseUrl,
    ...optional(
      'smtp://user:password@host:port, or smtps:// for TLS from the start; user, password and port optional',
      parseSmtpUrl,
    ),
    explain: explainCredentials,
  },
  mailFrom: {
    name: 'MAIL_FROM',
    description: 'Sender address of these mails.',
    onlyWith: 'SMTP_URL',
    example: 'governance@example.com',
    ...optional('an address of visible ASCII characters', matchRule(/^[\x21-\x7e]+@[\x21-\x7e]+$/)),
  },
  mailZone: {
    name: 'MAIL_ZONE',
    description: 'Time zone in which mails and messages for Slack and Teams give times, besides UTC.',
    default: 'UTC',
    expected: 'the name of a time zone of the IANA database',
    example: 'Europe/Berlin',
    parse: (text) => (findTimeZone(text) === null ? undefined : text),
  },
  slackSigningSecret: {
    name: 'SLACK_SIGNING_SECRET',
    description: 'Signing secret of the Slack app whose messages have buttons. Unset: no buttons.',
    example: '8f742231b10e8888abcd99yyyzzz85a5',
    mask: maskApiKey,
    ...optional('up to 500 visible ASCII characters', matchRule(TEXT)),
  },
  logLevel: {
    name: 'LOG_LEVEL',
    description: 'Least severe log lines to write.',
    default: 'info',
    ...oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  },
  swaggerEnabled: {
    name: 'SWAGGER_ENABLED',
    description: 'Whether the API documentation is served at /docs.',
    default: 'true',
    ...trueOrFalse(),
  },
  consoleEnabled: {
    name: 'CONSOLE_ENABLED',
    description: 'Whether the web console is served at /console.',
    default: 'true',
    ...trueOrFalse(),
  },
  // Signing in to the console at a token issuer, with OpenID Connect's code flow and PKCE.
  oidcIssuer: {
    name: 'OIDC_ISSUER',
    description:
      'Issuer of TOKEN_ISSUERS at which people sign in to the console; requires PUBLIC_URL. Unset: by key only.',
    example: 'https://login.example.com',
    ...optional('a URL with https (http for a test), as TOKEN_ISSUERS has it', parseIssuer),
  },
  oidcClientId: {
    name: 'OIDC_CLIENT_ID',
    onlyWith: 'OIDC_ISSUER',
    description: 'Client id of the console at the issuer: a public client with the redirect URI <PUBLIC_URL>/console/.',
    example: 'governance-console',
    ...optional('up to 500 visible ASCII characters', matchRule(TEXT)),
  },
  oidcScope: {
    name: 'OIDC_SCOPE',
    onlyWith: 'OIDC_ISSUER',
    description: 'Scopes that the console requests from the issuer, separated by spaces; must include openid.',
    default: 'openid',
    expected: 'scopes separated by single spaces, openid among them',
    example: 'openid governance',
    parse: (text) =>
      /^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(text) && text.split(' ').includes('openid') ? text : undefined,
  },
  metricsPort: {
    name: 'METRICS_PORT',
    description: 'TCP port that serves /metrics without a key; 0 picks a free one. Unset: on PORT, with a key.',
    example: '9464',
    ...optional('a whole number from 0 to 65535, in digits', (text) => parseWholeNumber(text, 0, 65535)),
    contradiction: metricsContradiction,
  },
} satisfies VariableTable;

/** The settings that the environment determines. */
export type Settings = {
  readonly [Member in keyof typeof VARIABLES]: (typeof VARIABLES)[Member] extends Variable<infer Value> ? Value : never;
};

/** Returns a fault if the metrics port equals PORT: the service would report that another program uses the port. */
function metricsContradiction(text: string, { PORT: port = '' }: Environment): string | undefined {
  const isSame = text !== '' && Number(text) > 0 && Number(text) === Number(port === '' ? USUAL_PORT : port);
  return isSame ? 'which is PORT, too; choose another port for one of them' : undefined;
}

function parseTime(text: string): string | undefined {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text ? text : undefined;
}

function parseIssuer(text: string): string | undefined {
  const hasForm = TEXT.test(text) && /^https?:\/\/[^?#]+$/.test(text) && URL.canParse(text);
  return hasForm ? text : undefined;
}

/** A folder, absolute or relative to the working folder, without white space at its ends. */
function parseFolder(text: string): string | undefined {
  return text.trim() === text && !text.includes('\0') ? text : undefined;
}
