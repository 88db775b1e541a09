import { tmpdir } from 'node:os';
import type { Configuration } from './configuration';
import { ConfigurationError, configurationWarnings, readConfiguration } from './read-configuration';
import type { Environment } from './variables/variable';
import { VARIABLES } from './variables/variables';

const KEY = 'a-key-that-is-long-enough';

function faultsOf(environment: Environment): readonly string[] {
  try {
    readConfiguration(environment);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
  return [];
}

const SEED = Buffer.alloc(32, 7).toString('base64');
const VERIFIER_KEY = VARIABLES.previousVerifierKeys.example;

describe('defaults', () => {
  it('are used for what is unset', () => {
    expect(readConfiguration({})).toEqual({
      nodeEnvironment: 'development',
      port: 3000,
      host: '0.0.0.0',
      publicUrl: null,
      apiKey: expect.stringMatching(/^[0-9a-f]{48}$/),
      apiKeyGenerated: true,
      apiKeyPrevious: null,
      tokenIssuers: null,
      rateLimit: 100,
      rateWindow: 60_000,
      redisUrl: null,
      signingKey: null,
      previousVerifierKeys: [],
      checkpointOrigin: 'agent-governance-service',
      checkpointFolder: null,
      givenUpCheckpoints: [],
      maxClockStep: 3_600_000,
      acceptedHeadTime: null,
      corsOrigins: null,
      database: { kind: 'sqlite', path: './data/governance.db' },
      databaseDriver: 'sqlite3',
      bodyLimit: 1_048_576,
      planBodyLimit: 16_777_216,
      bodyTotalLimit: 8_388_608,
      answerTotalLimit: 67_108_864,
      maxConnections: 5000,
      maxConnectionsPerAddress: null,
      trustedProxies: 0,
      policyDefaultEffect: 'deny',
      maxPolicies: 10_000,
      maxPolicyText: 33_554_432,
      planTimeout: 10_000,
      replayLimit: 100_000,
      maxPendingApprovals: 100,
      maxWaiting: 1000,
      maxEventStreams: 200,
      webhookAllowHttp: false,
      webhookAllowPrivate: false,
      allowSelfApproval: false,
      requireBoundReviewers: false,
      requiredApprovals: { low: 1, medium: 1, high: 1, critical: 1 },
      actionTimeout: 30_000,
      logLevel: 'info',
      swaggerEnabled: true,
      consoleEnabled: true,
      oidcIssuer: null,
      oidcClientId: null,
      oidcScope: 'openid',
      metricsPort: null,
    } satisfies Configuration);
  });

  it('are used for what is empty', () => {
    const empty = Object.fromEntries(Object.values(VARIABLES).map(({ name }) => [name, '']));
    expect(readConfiguration(empty)).toEqual({ ...readConfiguration({}), apiKey: expect.any(String) });
  });

  it('make another key at every start', () => {
    expect(readConfiguration({}).apiKey).not.toBe(readConfiguration({}).apiKey);
  });

  it('keep the records of NODE_ENV=test in a temporary file of their own', () => {
    const [first, second] = [1, 2].map(() => readConfiguration({ NODE_ENV: 'test' }).database);
    expect(first).toEqual({ kind: 'sqlite', path: expect.stringContaining(tmpdir()) });
    expect(first).not.toEqual(second);
    const named = readConfiguration({ NODE_ENV: 'test', DATABASE_URL: 'sqlite:own.db' });
    expect(named.database).toEqual({ kind: 'sqlite', path: 'own.db' });
  });
});

describe('values', () => {
  const accepted: [keyof Configuration, string, string, unknown][] = [
    ['nodeEnvironment', 'NODE_ENV', 'test', 'test'],
    ['port', 'PORT', '0', 0],
    ['port', 'PORT', '65535', 65535],
    ['host', 'HOST', '::', '::'],
    ['host', 'HOST', 'api.internal', 'api.internal'],
    ['apiKey', 'API_KEY', '!', '!'],
    ['apiKeyPrevious', 'API_KEY_PREVIOUS', KEY, KEY],
    ['rateLimit', 'RATE_LIMIT', '1', 1],
    ['rateWindow', 'RATE_WINDOW', '2147483647', 2_147_483_647],
    ['corsOrigins', 'CORS_ORIGIN', '*', '*'],
    [
      'corsOrigins',
      'CORS_ORIGIN',
      'http://a.example:8080, https://b.example',
      ['http://a.example:8080', 'https://b.example'],
    ],
    ['corsOrigins', 'CORS_ORIGIN', 'chrome-extension://abcdef', ['chrome-extension://abcdef']],
    ['database', 'DATABASE_URL', 'sqlite:/var/lib/governance.db', { kind: 'sqlite', path: '/var/lib/governance.db' }],
    [
      'database',
      'DATABASE_URL',
      'sqlite:///var/lib/governance.db',
      { kind: 'sqlite', path: '///var/lib/governance.db' },
    ],
    ...[
      'postgres://app@db.internal/governance',
      'postgresql://app:p%40ss%2Fword@[::1]:5433/governance',
      'postgres://app@%2Fvar%2Frun%2Fpostgresql/governance',
      'postgres://app:x@db/governance?sslmode=verify-full&sslrootcert=/etc/ssl/db.pem',
      'postgres://app:x@db/governance?options=-c%20search_path%3Dgovernance',
    ].map((url): [keyof Configuration, string, string, unknown] => [
      'database',
      'DATABASE_URL',
      url,
      { kind: 'postgres', url },
    ]),
    ...['redis://localhost', 'redis://:p%40ss@127.0.0.1:6380/2', 'rediss://app:secret@[::1]:6379/'].map(
      (url): [keyof Configuration, string, string, unknown] => ['redisUrl', 'REDIS_URL', url, url],
    ),
    ['databaseDriver', 'DATABASE_DRIVER', 'better-sqlite3', 'better-sqlite3'],
    ['signingKey', 'SIGNING_KEY', SEED, Buffer.alloc(32, 7)],
    ['previousVerifierKeys', 'SIGNING_KEY_PREVIOUS', VERIFIER_KEY, [expect.objectContaining({ keyId: 'dcce5bc2' })]],
    ['checkpointOrigin', 'CHECKPOINT_ORIGIN', 'example.com/log', 'example.com/log'],
    ['checkpointFolder', 'CHECKPOINT_FOLDER', './kept', './kept'],
    [
      'givenUpCheckpoints',
      'ACCEPT_RESTORED_DATABASE',
      '7:0123456789abcdef, 0:fedcba9876543210',
      ['7:0123456789abcdef', '0:fedcba9876543210'],
    ],
    ['maxClockStep', 'MAX_CLOCK_STEP', '60000', 60_000],
    ['acceptedHeadTime', 'ACCEPT_HEAD_TIME', '2026-11-22T08:30:00.000Z', '2026-11-22T08:30:00.000Z'],
    ['bodyLimit', 'BODY_LIMIT', '1', 1],
    ['publicUrl', 'PUBLIC_URL', 'https://governance.example.com/', 'https://governance.example.com'],
    ['publicUrl', 'PUBLIC_URL', 'http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
    ['planBodyLimit', 'PLAN_BODY_LIMIT', '1', 1],
    ['bodyTotalLimit', 'BODY_TOTAL_LIMIT', '1', 1],
    ['answerTotalLimit', 'ANSWER_TOTAL_LIMIT', '1', 1],
    ['maxConnections', 'MAX_CONNECTIONS', '1', 1],
    ['maxPolicies', 'MAX_POLICIES', '1', 1],
    ['maxPendingApprovals', 'MAX_PENDING_APPROVALS', '7', 7],
    ['maxWaiting', 'MAX_WAITING', '0', 0],
    ['maxEventStreams', 'MAX_EVENT_STREAMS', '0', 0],
    ['webhookAllowHttp', 'WEBHOOK_ALLOW_HTTP', 'true', true],
    ['webhookAllowPrivate', 'WEBHOOK_ALLOW_PRIVATE', 'true', true],
    ['maxPolicyText', 'MAX_POLICY_TEXT', '1', 1],
    ['planTimeout', 'PLAN_TIMEOUT', '1', 1],
    ['replayLimit', 'REPLAY_LIMIT', '7', 7],
    ['maxConnectionsPerAddress', 'MAX_CONNECTIONS_PER_ADDRESS', '1', 1],
    ['trustedProxies', 'TRUST_PROXY', '2', 2],
    ['trustedProxies', 'TRUST_PROXY', '10.0.0.0/8, ::1,192.0.2.7', ['10.0.0.0/8', '::1', '192.0.2.7']],
    ['policyDefaultEffect', 'POLICY_DEFAULT_EFFECT', 'allow', 'allow'],
    ['allowSelfApproval', 'ALLOW_SELF_APPROVAL', 'true', true],
    ['requiredApprovals', 'REQUIRED_APPROVALS', 'high=2, critical=100', { low: 1, medium: 1, high: 2, critical: 100 }],
    ['actionTimeout', 'ACTION_TIMEOUT', '1', 1],
    ['logLevel', 'LOG_LEVEL', 'silent', 'silent'],
    ['swaggerEnabled', 'SWAGGER_ENABLED', 'false', false],
    ['consoleEnabled', 'CONSOLE_ENABLED', 'false', false],
    ['oidcIssuer', 'OIDC_ISSUER', 'https://login.example.com/a', 'https://login.example.com/a'],
    ['oidcClientId', 'OIDC_CLIENT_ID', 'governance-console', 'governance-console'],
    ['oidcScope', 'OIDC_SCOPE', 'openid governance', 'openid governance'],
    ['metricsPort', 'METRICS_PORT', '9464', 9464],
  ];

  it.each(accepted)('%s: %s=%s', (member, name, text, value) => {
    expect(readConfiguration({ [name]: text })[member]).toEqual(value);
  });

  const refused: Record<string, string[]> = {
    NODE_ENV: ['staging', 'Production', ' '],
    PORT: ['65536', '-1', '0x50', '1e3', ' 80', '80.0', '٣٠٠٠', '9'.repeat(40)],
    PUBLIC_URL: [
      ...[
        'http://governance.example.com',
        'https://h/path',
        'https://h?q',
        'https://h#f',
        'https://u@h',
        'h',
        'https://h//',
      ],
    ],
    HOST: ['a b', '1.2.3', '256.0.0.1', '-x', 'http://host'],
    API_KEY: ['two words', 'schlüssel', 'k'.repeat(1025), 'tab\tbed'],
    API_KEY_PREVIOUS: ['two words'],
    RATE_LIMIT: ['0', '2147483648', 'many'],
    RATE_WINDOW: ['0', '1m', '2147483648'],
    REDIS_URL: [
      'localhost:6379',
      'redis:',
      'redis://',
      'redis://h:99999',
      'redis://h/cache',
      'redis://h/1/2',
      'redis://h?db=1',
      'redis://h#1',
      'redis://two words',
      'http://h',
    ],
    CORS_ORIGIN: [
      'https://a.example/',
      'https://a.example/app',
      'a.example',
      'https://a.example:443',
      'https://A.example',
      'https://a.example,',
      'https://a.example,*',
      'https://user@a.example',
      'null',
      'true',
    ],
    DATABASE_URL: [
      'data.db',
      'sqlite:',
      'sqlite:data/',
      'sqlite://data/x.db',
      'sqlite::memory:',
      'sqlite:x.db?mode=ro',
      'mysql://h/d',
      'postgres:',
      'postgres://db/governance',
      'postgres://app@/governance',
      'postgres://app@db',
      'postgres://app@db/',
      'postgres://app@db/a/b',
      'postgres://app@db:99999/governance',
      'postgres://app@db/governance?sslmod=require',
      'postgres://app@db/governance?sslmode=maybe',
      'postgres://app@db/governance?sslmode=verify-ca',
      'postgres://app@db/governance?sslmode=require&sslmode=disable',
      'postgres://app:50%@db/governance',
      'postgres://app:x#y@db/governance',
      'postgres://app:x y@db/governance',
    ],
    DATABASE_DRIVER: ['sqlite', 'pg'],
    SIGNING_KEY: ['x', `${SEED}x`, SEED.slice(4), SEED.replaceAll('=', '')],
    SIGNING_KEY_PREVIOUS: ['x', SEED, `${VERIFIER_KEY},`, VERIFIER_KEY.replace('dcce5bc2', 'dcce5bc3'), 'a+b+c'],
    CHECKPOINT_ORIGIN: ['two words', 'a+b', 'o'.repeat(201), 'a\u200bb'],
    CHECKPOINT_FOLDER: [' kept', 'kept\t'],
    ACCEPT_RESTORED_DATABASE: [
      'true',
      '7',
      '07:0123456789abcdef',
      '7:0123456789ABCDEF',
      '7:0123',
      '7:0123456789abcdef,',
    ],
    MAX_CLOCK_STEP: ['0', '59999', '1h', '-60000', '3153600000001'],
    ACCEPT_HEAD_TIME: [
      'true',
      '2026-11-22',
      '2026-11-22T08:30:00Z',
      '2026-11-22T08:30:00.000+00:00',
      '2026-13-22T08:30:00.000Z',
    ],
    BODY_LIMIT: ['0', '1mb', '104857601'],
    PLAN_BODY_LIMIT: ['0', '1mb', '104857601'],
    BODY_TOTAL_LIMIT: ['0', '32mb', '107374182401'],
    ANSWER_TOTAL_LIMIT: ['0', '64mb', '107374182401'],
    MAX_CONNECTIONS: ['0', 'none', '1000001'],
    MAX_POLICIES: ['0', '1000001', 'many', '1.5'],
    MAX_PENDING_APPROVALS: ['0', '1000001', 'many'],
    MAX_WAITING: ['-1', '1000001', 'many'],
    MAX_EVENT_STREAMS: ['-1', '1000001', 'many'],
    WEBHOOK_ALLOW_HTTP: ['yes', '1', 'True'],
    WEBHOOK_ALLOW_PRIVATE: ['yes', '1', 'True'],
    PLAN_TIMEOUT: ['0', '600001', '10s'],
    REPLAY_LIMIT: ['0', '10000001', 'all'],
    MAX_POLICY_TEXT: ['0', '2147483648', '32MiB', '-1'],
    MAX_CONNECTIONS_PER_ADDRESS: ['0', 'all', '1000001'],
    TRUST_PROXY: ['true', '33', '10.0.0.0/0', '10.0.0.0/33', '10.0.0.0/', 'loopback', '10.0.0.1,', 'fe80::1%eth0'],
    POLICY_DEFAULT_EFFECT: ['Deny', 'require_approval'],
    ALLOW_SELF_APPROVAL: ['yes', '1', 'TRUE'],
    REQUIRE_BOUND_REVIEWERS: ['yes', '1'],
    TOKEN_ISSUERS: ['issuers.yaml'],
    REQUIRED_APPROVALS: ['2', 'low', 'low=0', 'low=101', 'severe=1', 'low=1,low=2', 'low=1,', 'low = 1'],
    ACTION_TIMEOUT: ['0', '30s'],
    LOG_LEVEL: ['verbose', 'INFO'],
    SWAGGER_ENABLED: ['on'],
    CONSOLE_ENABLED: ['on'],
    OIDC_ISSUER: ['login.example.com', 'ftp://login.example.com', 'https://login.example.com/?a=b'],
    OIDC_CLIENT_ID: ['two words'],
    OIDC_SCOPE: ['profile', 'openid  email'],
    METRICS_PORT: ['65536', 'on', ' 9464'],
  };

  it.each(Object.entries(refused).flatMap(([name, texts]) => texts.map((text) => [name, text] as const)))(
    'refuses %s=%j',
    (name, text) => {
      const faults = faultsOf({ [name]: text });
      expect(faults).toHaveLength(1);
      expect(faults[0]).toMatch(new RegExp(`^${name}: got .+; expected .+; example: ${name}=.+$`));
    },
  );

  it('are refused somewhere for every variable', () => {
    expect(Object.keys(refused).sort()).toEqual(
      Object.values(VARIABLES)
        .map(({ name }) => name)
        .sort(),
    );
  });

  it.each(Object.values(VARIABLES).filter(({ mask }) => mask === undefined))(
    'accept the example of $name',
    (variable) => {
      expect(faultsOf({ [variable.name]: variable.example, API_KEY: KEY })).toEqual([]);
    },
  );
});

describe('faults', () => {
  it('are reported all at once, in the order of the table', () => {
    const everyOneWrong = Object.fromEntries(Object.values(VARIABLES).map(({ name }) => [name, ' ']));
    const names = faultsOf(everyOneWrong).map((fault) => fault.split(':')[0]);
    expect(names).toEqual(Object.values(VARIABLES).map(({ name }) => name));
  });

  it('say what was got, what is expected and an example', () => {
    expect(faultsOf({ PORT: 'http', LOG_LEVEL: 'loud' })).toEqual([
      'PORT: got "http"; expected a whole number from 0 to 65535, in digits; example: PORT=3000',
      'LOG_LEVEL: got "loud"; expected one of fatal, error, warn, info, debug, trace, silent; example: LOG_LEVEL=info',
    ]);
  });

  it('stay on one line and short', () => {
    const [fault] = faultsOf({ HOST: `first\nsecond${'x'.repeat(10_000)}` });
    expect(fault).not.toContain('\n');
    expect(fault?.length).toBeLessThan(300);
  });

  it('never show a key', () => {
    const [current, previous] = faultsOf({ API_KEY: 'my secret', API_KEY_PREVIOUS: 'old secret' });
    expect(current).toContain('API_KEY: got a value that is not shown; expected a key of 1 to 1024 visible ASCII');
    expect(`${current}${previous}`).not.toContain('secret');
    const signing = faultsOf({ SIGNING_KEY: `${SEED}x`, SIGNING_KEY_PREVIOUS: SEED });
    expect(signing.map((fault) => fault.split(';')[0])).toEqual([
      'SIGNING_KEY: got a value that is not shown',
      'SIGNING_KEY_PREVIOUS: got a value that is not shown',
    ]);
  });

  it('demand a key in production', () => {
    expect(faultsOf({ NODE_ENV: 'production' })).toEqual([
      expect.stringMatching(/^API_KEY: got nothing, although NODE_ENV is production; expected a key .*openssl rand/),
    ]);
    expect(readConfiguration({ NODE_ENV: 'production', API_KEY: KEY })).toMatchObject({
      apiKey: KEY,
      apiKeyGenerated: false,
    });
  });

  it.each(['API_KEY', 'API_KEY_PREVIOUS'])('demand a long %s in production, whose value they do not show', (name) => {
    const environment = { NODE_ENV: 'production', API_KEY: KEY, [name]: 'fifteen-letters' };
    const faults = faultsOf(environment);
    expect(faults).toEqual([
      expect.stringMatching(
        new RegExp(`^${name}: got a value that is not shown; expected a key .*at least 16.*openssl rand`),
      ),
    ]);
    expect(faults.join()).not.toContain('fifteen');
    expect(readConfiguration({ ...environment, [name]: 'sixteen-letters!' })).toBeDefined();
    for (const NODE_ENV of ['development', 'test'])
      expect(readConfiguration({ ...environment, NODE_ENV })).toBeDefined();
  });

  it('demand a signing key in production on PostgreSQL, where each replica would make its own', () => {
    const environment = { NODE_ENV: 'production', API_KEY: KEY, DATABASE_URL: 'postgres://app@db/governance' };
    expect(faultsOf(environment)).toEqual([
      expect.stringMatching(/^SIGNING_KEY: got nothing, although NODE_ENV is production; expected .*openssl rand/),
    ]);
    expect(faultsOf({ ...environment, SIGNING_KEY: SEED })).toEqual([]);
    expect(faultsOf({ ...environment, DATABASE_URL: '' })).toEqual([]);
    expect(faultsOf({ ...environment, NODE_ENV: '' })).toEqual([]);
  });

  it('say what a PostgreSQL URL lacks, without its password', () => {
    expect(faultsOf({ DATABASE_URL: 'postgres://app:hunter2@db.internal:5432?sslpassword=hunter2' })).toEqual([
      'DATABASE_URL: got "postgres://app:***@db.internal:5432?***" (it names no database after the host); ' +
        'expected sqlite: followed by the path of a file, or postgres://user:password@host:port/database; ' +
        'example: DATABASE_URL=postgres://governance:secret@localhost:5432/governance',
    ]);
  });

  it.each([
    'postgres://app:hunter2@db',
    'postgresql://app:p@hunter2@db',
    'postgres://app:hunter2/1@db',
    'postgres://app:hunter2',
    'postgres://app:hunter2@[::1]:5432/a/b',
    'postgres://app@db/x?password=hunter2&a=:',
    'postgres://app:hunter2%@db/x',
    'postgres://:hunter2@db',
    'app:hunter2@db/governance',
    'mysql://hunter2:1/2@db',
    'sqlite://app:hunter2@db',
    'sqlite://app@db/x?key=hunter2',
  ])('never show the password of %s', (url) => {
    const [fault] = faultsOf({ DATABASE_URL: url });
    expect(fault).toContain('***');
    expect(fault).not.toContain('hunter2');
  });

  it.each(['redis://:hunter2@h/cache', 'redis://app:hunter2@h?db=1', 'app:hunter2@h', 'redis://app:hunter2'])(
    'never show the password of REDIS_URL=%s',
    (url) => {
      const [fault] = faultsOf({ REDIS_URL: url });
      expect(fault).toContain('***');
      expect(fault).not.toContain('hunter2');
    },
  );

  it('make the message of the error, a line each', () => {
    const error = new ConfigurationError(['PORT: one', 'HOST: two']);
    expect(error.message).toBe('The configuration is invalid:\n  PORT: one\n  HOST: two');
  });
});

describe('warnings', () => {
  it('name keys that can be guessed', () => {
    const warnings = configurationWarnings(
      readConfiguration({ API_KEY: 'short', API_KEY_PREVIOUS: '123456789012345' }),
    );
    expect(warnings.map((warning) => warning.split(' ')[0])).toEqual(['API_KEY', 'API_KEY_PREVIOUS']);
    expect(warnings.join()).not.toContain('short');
  });

  it('are silent about long ones', () => {
    expect(configurationWarnings(readConfiguration({ API_KEY: '1234567890123456' }))).toEqual([]);
  });
});
