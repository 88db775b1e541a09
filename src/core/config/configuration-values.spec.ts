import type { Configuration } from './configuration';
import type { Variable } from './variables/variable';
import { VARIABLES } from './variables/variables';
import { configurationFaults, readConfiguration } from '../../../test/support/application/configuration-faults';

const KEY = 'a-key-that-is-long-enough';

const SEED = Buffer.alloc(32, 7).toString('base64');
const VERIFIER_KEY = VARIABLES.previousVerifierKeys.example;

/** Without this setting, the others of signing in are a fault. */
const OIDC_ISSUER = 'https://login.example.com';
const PERMIT_AUDIENCES = 'bank';
const GENERATOR = VARIABLES.previousPermitKeys.example;
const MAIL = { SMTP_URL: 'smtp://localhost', MAIL_FROM: 'a@b' };

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
    ['rateLimitPerKey', 'RATE_LIMIT_PER_KEY', '1', 1],
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
    ['signingKey', 'SIGNING_KEY', SEED, Buffer.alloc(32, 7)],
    ['secretKey', 'SECRET_KEY', SEED, Buffer.alloc(32, 7)],
    ['secretParameters', 'SECRET_PARAMETERS', '/**/pin, /card/*', ['/**/pin', '/card/*']],
    ['secretParameters', 'SECRET_PARAMETERS', 'none', []],
    ['acceptedSecretKey', 'ACCEPT_SECRET_KEY', '9b1f0c6e8d2a4f71', '9b1f0c6e8d2a4f71'],
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
    ['teamPriority', 'TEAM_PRIORITY', '0', 0],
    ['planTimeout', 'PLAN_TIMEOUT', '1', 1],
    ['replayLimit', 'REPLAY_LIMIT', '7', 7],
    ['retainAtLeast', 'RETAIN_AT_LEAST', 'PT0S', 0],
    ['retainAtLeast', 'RETAIN_AT_LEAST', 'P3650D', 315_360_000_000],
    ['retainContent', 'RETAIN_CONTENT', 'P730D', 63_072_000_000],
    ['maxConnectionsPerAddress', 'MAX_CONNECTIONS_PER_ADDRESS', '1', 1],
    ['trustedProxies', 'TRUST_PROXY', '2', 2],
    ['trustedProxies', 'TRUST_PROXY', '10.0.0.0/8, ::1,192.0.2.7', ['10.0.0.0/8', '::1', '192.0.2.7']],
    ['policyDefaultEffect', 'POLICY_DEFAULT_EFFECT', 'allow', 'allow'],
    ['allowSelfApproval', 'ALLOW_SELF_APPROVAL', 'true', true],
    ['requiredApprovals', 'REQUIRED_APPROVALS', 'high=2, critical=100', { low: 1, medium: 1, high: 2, critical: 100 }],
    ['directoryRoles', 'DIRECTORY_ROLES', '{"g":["finance"]}', { g: ['finance'] }],
    ['actionTimeout', 'ACTION_TIMEOUT', '1', 1],
    ['smtpUrl', 'SMTP_URL', 'smtp://127.0.0.1:2525', 'smtp://127.0.0.1:2525'],
    ['mailFrom', 'MAIL_FROM', 'governance@example.com', 'governance@example.com'],
    ['mailZone', 'MAIL_ZONE', 'Europe/Berlin', 'Europe/Berlin'],
    ['slackSigningSecret', 'SLACK_SIGNING_SECRET', '8f742231', '8f742231'],
    ['logLevel', 'LOG_LEVEL', 'silent', 'silent'],
    ['swaggerEnabled', 'SWAGGER_ENABLED', 'false', false],
    ['consoleEnabled', 'CONSOLE_ENABLED', 'false', false],
    ['oidcIssuer', 'OIDC_ISSUER', 'https://login.example.com/a', 'https://login.example.com/a'],
    ['oidcClientId', 'OIDC_CLIENT_ID', 'governance-console', 'governance-console'],
    ['oidcScope', 'OIDC_SCOPE', 'openid governance', 'openid governance'],
    ['metricsPort', 'METRICS_PORT', '9464', 9464],
    ['permitAudiences', 'PERMIT_AUDIENCES', 'bank, https://vault.example.com', ['bank', 'https://vault.example.com']],
    ['permitTtl', 'PERMIT_TTL', 'PT1H', 3_600_000],
    ['permitKey', 'PERMIT_KEY', SEED, Buffer.alloc(32, 7)],
  ];

  it.each(accepted)('%s: %s=%s', (member, name, text, value) => {
    expect(
      readConfiguration({ SECRET_KEY: SEED, OIDC_ISSUER, PERMIT_AUDIENCES, ...MAIL, [name]: text })[member],
    ).toEqual(value);
  });

  const refused: Record<string, string[]> = {
    NODE_ENV: ['staging', 'Production', ' '],
    PORT: ['65536', '-1', '0x50', '1e3', ' 80', '80.0', '٣٠٠٠', '9'.repeat(40)],
    PUBLIC_URL: [
      'http://governance.example.com',
      'https://h/path',
      'https://h?q',
      'https://h#f',
      'https://u@h',
      'h',
      'https://h//',
    ],
    HOST: ['a b', '1.2.3', '256.0.0.1', '-x', 'http://host'],
    API_KEY: ['two words', 'schlüssel', 'k'.repeat(1025), 'tab\tbed'],
    API_KEY_PREVIOUS: ['two words'],
    RATE_LIMIT: ['0', '2147483648', 'many'],
    RATE_LIMIT_PER_KEY: ['0', '2147483648', 'many'],
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
      'redis://:a%zz@h',
      'redis://a%@h',
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
    SECRET_KEY: ['x', `${SEED}x`],
    SECRET_PARAMETERS: ['token', '/a~2', `/${'a/'.repeat(31)}`, '/a,,/b', `/${'x'.repeat(500)}`, 'none,/a'],
    ACCEPT_SECRET_KEY: ['true', '9B1F0C6E8D2A4F71', '9b1f'],
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
    DIRECTORY_ROLES: ['x', '[]', 'null', '{"g":[]}', '{"g":"finance"}', '{"g":[" finance"]}', '{" g":["finance"]}'],
    MAX_PENDING_APPROVALS: ['0', '1000001', 'many'],
    MAX_WAITING: ['-1', '1000001', 'many'],
    MAX_EVENT_STREAMS: ['-1', '1000001', 'many'],
    WEBHOOK_ALLOW_HTTP: ['yes', '1', 'True'],
    WEBHOOK_ALLOW_PRIVATE: ['yes', '1', 'True'],
    TEAM_PRIORITY: ['-1', '2147483648', 'high'],
    PLAN_TIMEOUT: ['0', '600001', '10s'],
    REPLAY_LIMIT: ['0', '10000001', 'all'],
    RETAIN_AT_LEAST: ['0', 'P3651D', '1 day', '-P1D'],
    RETAIN_CONTENT: ['PT23H', 'PT0S', 'P3651D', 'for ever'],
    MAX_POLICY_TEXT: ['0', '2147483648', '32MiB', '-1'],
    MAX_CONNECTIONS_PER_ADDRESS: ['0', 'all', '1000001'],
    TRUST_PROXY: ['true', '33', '10.0.0.0/0', '10.0.0.0/33', '10.0.0.0/', 'loopback', '10.0.0.1,', 'fe80::1%eth0'],
    POLICY_DEFAULT_EFFECT: ['Deny', 'require_approval'],
    ALLOW_SELF_APPROVAL: ['yes', '1', 'TRUE'],
    REQUIRE_BOUND_REVIEWERS: ['yes', '1'],
    TOKEN_ISSUERS: ['issuers.yaml'],
    FOUR_EYES: ['yes', '1', 'TRUE'],
    CHANGE_APPROVERS: ['role:security', '{}', '[', 'null'],
    CHANGE_WITHIN: ['1h', 'PT0S', 'P8D', 'PT1H '],
    REQUIRED_APPROVALS: ['2', 'low', 'low=0', 'low=101', 'severe=1', 'low=1,low=2', 'low=1,', 'low = 1'],
    ACTION_TIMEOUT: ['0', '30s'],
    SMTP_URL: ['mail.example.com', 'http://h', 'smtp://', 'smtp://u:a%zz@h', 'smtp://u:%ff@h'],
    MAIL_FROM: ['governance', 'a b@example.com'],
    MAIL_ZONE: ['Berlin', '+02:00', 'Europe/Berlin '],
    SLACK_SIGNING_SECRET: ['two words', 'schlüssel'],
    LOG_LEVEL: ['verbose', 'INFO'],
    SWAGGER_ENABLED: ['on'],
    CONSOLE_ENABLED: ['on'],
    OIDC_ISSUER: ['login.example.com', 'ftp://login.example.com', 'https://login.example.com/?a=b'],
    OIDC_CLIENT_ID: ['two words'],
    OIDC_SCOPE: ['profile', 'openid  email'],
    METRICS_PORT: ['65536', 'on', ' 9464'],
    PERMIT_AUDIENCES: ['two words', 'bank,', 'a'.repeat(201), 'b\u00e4nk'],
    PERMIT_TTL: ['PT0S', 'PT3601S', '5m', 'P1D'],
    // Zero, and a number beyond the order of the curve.
    PERMIT_KEY: ['x', SEED.slice(4), Buffer.alloc(32).toString('base64'), Buffer.alloc(32, 255).toString('base64')],
    PERMIT_KEY_PREVIOUS: ['x', SEED, `${GENERATOR},`, GENERATOR.replace('axf', 'bxf'), GENERATOR.replace('.', '')],
  };

  it.each(Object.entries(refused).flatMap(([name, texts]) => texts.map((text) => [name, text] as const)))(
    'refuses %s=%j',
    (name, text) => {
      const faults = configurationFaults({ SECRET_KEY: SEED, [name]: text });
      expect(faults).toHaveLength(1);
      expect(faults[0]).toMatch(new RegExp(`^${name}: got .+; expected .+; example: ${name}=.+$`));
    },
  );

  it('include a refused one for every variable', () => {
    expect(Object.keys(refused).sort()).toEqual(
      Object.values(VARIABLES)
        .map(({ name }) => name)
        .sort(),
    );
  });

  it.each(Object.values<Variable<unknown>>(VARIABLES).filter(({ mask }) => mask === undefined))(
    'accept the example of $name',
    ({ name, example, default: usual }) => {
      expect(
        configurationFaults({ OIDC_ISSUER, PERMIT_AUDIENCES, ...MAIL, [name]: example ?? usual, API_KEY: KEY }),
      ).toEqual([]);
    },
  );
});
