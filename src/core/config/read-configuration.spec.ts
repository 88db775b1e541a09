import { tmpdir } from 'node:os';
import type { Configuration } from './configuration';
import { ConfigurationError, configurationWarnings } from './read-configuration';
import { USUAL_SECRET_POINTERS } from '../values/secret-pointers';
import { VARIABLES } from './variables/variables';
import { configurationFaults, readConfiguration } from '../../../test/support/application/configuration-faults';

const KEY = 'a-key-that-is-long-enough';

const SEED = Buffer.alloc(32, 7).toString('base64');

describe('defaults', () => {
  it('are used for unset variables', () => {
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
      rateLimitPerKey: null,
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
      bodyLimit: 1_048_576,
      planBodyLimit: 8_388_608,
      bodyTotalLimit: 12_582_912,
      answerTotalLimit: 67_108_864,
      maxConnections: 5000,
      maxConnectionsPerAddress: null,
      trustedProxies: 0,
      policyDefaultEffect: 'deny',
      maxPolicies: 10_000,
      maxPolicyText: 33_554_432,
      teamPriority: 1_000,
      planTimeout: 10_000,
      replayLimit: 100_000,
      retainAtLeast: 86_400_000,
      retainContent: null,
      secretParameters: [...USUAL_SECRET_POINTERS],
      secretKey: null,
      acceptedSecretKey: null,
      maxPendingApprovals: 100,
      maxWaiting: 1000,
      maxEventStreams: 200,
      webhookAllowHttp: false,
      webhookAllowPrivate: false,
      smtpUrl: null,
      mailFrom: null,
      mailZone: 'UTC',
      slackSigningSecret: null,
      allowSelfApproval: false,
      requireBoundReviewers: false,
      requiredApprovals: { low: 1, medium: 1, high: 1, critical: 1 },
      fourEyes: false,
      changeApprovers: null,
      changeWithin: 'PT1H',
      directoryRoles: {},
      actionTimeout: 30_000,
      logLevel: 'info',
      swaggerEnabled: true,
      consoleEnabled: true,
      oidcIssuer: null,
      oidcClientId: null,
      oidcScope: 'openid',
      metricsPort: null,
      permitAudiences: [],
      permitTtl: 300_000,
      permitKey: null,
      previousPermitKeys: [],
    } satisfies Configuration);
  });

  it('are used for empty variables', () => {
    const empty = Object.fromEntries(Object.values(VARIABLES).map(({ name }) => [name, '']));
    expect(readConfiguration(empty)).toEqual({ ...readConfiguration({}), apiKey: expect.any(String) });
  });

  it('generate a new key at every start', () => {
    expect(readConfiguration({}).apiKey).not.toBe(readConfiguration({}).apiKey);
  });

  it('keep the records of NODE_ENV=test in a separate temporary file', () => {
    const [first, second] = [1, 2].map(() => readConfiguration({ NODE_ENV: 'test' }).database);
    expect(first).toEqual({ kind: 'sqlite', path: expect.stringContaining(tmpdir()) });
    expect(first).not.toEqual(second);
    const configuration = readConfiguration({ NODE_ENV: 'test', DATABASE_URL: 'sqlite:own.db' });
    expect(configuration.database).toEqual({ kind: 'sqlite', path: 'own.db' });
  });
});

describe('faults', () => {
  it('are reported all at once, in the order of the table', () => {
    const everyOneWrong = Object.fromEntries(Object.values(VARIABLES).map(({ name }) => [name, ' ']));
    const names = configurationFaults(everyOneWrong).map((fault) => fault.split(':')[0]);
    expect(names).toEqual(Object.values(VARIABLES).map(({ name }) => name));
  });

  it('show the value, what is expected and an example', () => {
    expect(configurationFaults({ PORT: 'http', LOG_LEVEL: 'loud' })).toEqual([
      'PORT: got "http"; expected a whole number from 0 to 65535, in digits; example: PORT=3000',
      'LOG_LEVEL: got "loud"; expected one of fatal, error, warn, info, debug, trace, silent; example: LOG_LEVEL=info',
    ]);
  });

  it('stay on one line and short', () => {
    const [fault] = configurationFaults({ HOST: `first\nsecond${'x'.repeat(10_000)}` });
    expect(fault).not.toContain('\n');
    expect(fault?.length).toBeLessThan(300);
  });

  it('never show a key', () => {
    const [current, previous] = configurationFaults({ API_KEY: 'my secret', API_KEY_PREVIOUS: 'old secret' });
    expect(current).toContain('API_KEY: got a value that is not shown; expected a key of 1 to 1024 visible ASCII');
    expect(`${current}${previous}`).not.toContain('secret');
    const signing = configurationFaults({ SIGNING_KEY: `${SEED}x`, SIGNING_KEY_PREVIOUS: SEED });
    expect(signing.map((fault) => fault.split(';')[0])).toEqual([
      'SIGNING_KEY: got a value that is not shown',
      'SIGNING_KEY_PREVIOUS: got a value that is not shown',
    ]);
  });

  it('include settings that have no effect without another one', () => {
    expect(
      configurationFaults({ PORT: 'http', OIDC_CLIENT_ID: 'console', OIDC_SCOPE: 'openid', OIDC_ISSUER: '' }),
    ).toEqual([
      expect.stringMatching(/^PORT: /),
      'OIDC_CLIENT_ID: got "console", which has no effect without OIDC_ISSUER; set OIDC_ISSUER or remove it',
      'OIDC_SCOPE: got "openid", which has no effect without OIDC_ISSUER; set OIDC_ISSUER or remove it',
    ]);
    const OIDC_ISSUER = 'https://login.example.com';
    expect(readConfiguration({ OIDC_CLIENT_ID: 'console', OIDC_SCOPE: 'openid', OIDC_ISSUER })).toBeDefined();
  });

  it('include contents that would be erased before they may be', () => {
    expect(configurationFaults({ RETAIN_CONTENT: 'P182D', RETAIN_AT_LEAST: 'P183D' })).toEqual([
      'RETAIN_CONTENT: got "P182D", which is shorter than RETAIN_AT_LEAST=P183D; make RETAIN_CONTENT at least as long, or shorten RETAIN_AT_LEAST',
    ]);
    for (const atLeast of ['P183D', 'PT0S', ''])
      expect(readConfiguration({ RETAIN_CONTENT: 'P183D', RETAIN_AT_LEAST: atLeast })).toBeDefined();
    expect(readConfiguration({ RETAIN_CONTENT: 'P1D' })).toBeDefined();
  });

  it('include one port for two servers', () => {
    const fault = 'METRICS_PORT: got "3000", which is PORT, too; choose another port for one of them';
    expect(configurationFaults({ METRICS_PORT: '3000' })).toEqual([fault]);
    expect(configurationFaults({ METRICS_PORT: '3000', PORT: '3000' })).toEqual([fault]);
    expect(readConfiguration({ METRICS_PORT: '3000', PORT: '3001' })).toBeDefined();
    expect(readConfiguration({ METRICS_PORT: '0', PORT: '0' })).toBeDefined();
    expect(readConfiguration({ PORT: '0' })).toBeDefined();
  });

  it('require a key in production', () => {
    expect(configurationFaults({ NODE_ENV: 'production' })).toEqual([
      expect.stringMatching(/^API_KEY: got nothing, although NODE_ENV is production; expected a key .*openssl rand/),
    ]);
    expect(readConfiguration({ NODE_ENV: 'production', API_KEY: KEY })).toMatchObject({
      apiKey: KEY,
      apiKeyGenerated: false,
    });
  });

  it.each(['API_KEY', 'API_KEY_PREVIOUS'])('require a long %s in production, and do not show its value', (name) => {
    const environment = { NODE_ENV: 'production', API_KEY: KEY, [name]: 'fifteen-letters' };
    const faults = configurationFaults(environment);
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

  it('require a signing key in production on PostgreSQL, where each replica would otherwise generate its own', () => {
    const DATABASE_URL = 'postgres://app@db/governance';
    const environment = { NODE_ENV: 'production', API_KEY: KEY, DATABASE_URL, SECRET_KEY: SEED };
    expect(configurationFaults(environment)).toEqual([
      expect.stringMatching(/^SIGNING_KEY: got nothing, although NODE_ENV is production; expected .*openssl rand/),
    ]);
    expect(configurationFaults({ ...environment, SIGNING_KEY: SEED })).toEqual([]);
    expect(configurationFaults({ ...environment, DATABASE_URL: '' })).toEqual([]);
    expect(configurationFaults({ ...environment, NODE_ENV: '' })).toEqual([]);
  });

  it.each(['production', 'development', 'test'])('require a secret key on PostgreSQL, in %s', (NODE_ENV) => {
    const DATABASE_URL = 'postgres://app@db/governance';
    const environment = { NODE_ENV, API_KEY: KEY, SIGNING_KEY: SEED, DATABASE_URL };
    expect(configurationFaults(environment)).toEqual([
      expect.stringMatching(/^SECRET_KEY: got nothing, although the database is PostgreSQL; expected .*openssl rand/),
    ]);
    expect(configurationFaults({ ...environment, SECRET_KEY: SEED })).toEqual([]);
    expect(configurationFaults({ ...environment, DATABASE_URL: '' })).toEqual([]);
  });

  it('say what is missing in a PostgreSQL URL, without its password', () => {
    expect(
      configurationFaults({
        SECRET_KEY: SEED,
        DATABASE_URL: 'postgres://app:hunter2@db.internal:5432?sslpassword=hunter2',
      }),
    ).toEqual([
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
    const [fault] = configurationFaults({ DATABASE_URL: url });
    expect(fault).toContain('***');
    expect(fault).not.toContain('hunter2');
  });

  it.each(['redis://:hunter2@h/cache', 'redis://app:hunter2@h?db=1', 'app:hunter2@h', 'redis://app:hunter2'])(
    'never show the password of REDIS_URL=%s',
    (url) => {
      const [fault] = configurationFaults({ REDIS_URL: url });
      expect(fault).toContain('***');
      expect(fault).not.toContain('hunter2');
    },
  );

  it.each([{ REDIS_URL: 'redis://:hunter2%@h' }, { SMTP_URL: 'smtp://u:hunter2%zz@h', MAIL_FROM: 'a@b' }])(
    'say why the password of a URL cannot be read: %o',
    (environment) => {
      const [fault] = configurationFaults(environment);
      expect(fault).toContain('write % itself as %25');
      expect(fault).not.toContain('hunter2');
    },
  );

  it('are the message of the error, a line each', () => {
    const error = new ConfigurationError(['PORT: one', 'HOST: two']);
    expect(error.message).toBe('The configuration is invalid:\n  PORT: one\n  HOST: two');
  });
});

describe('warnings', () => {
  it('point out keys that can be guessed', () => {
    const warnings = configurationWarnings(
      readConfiguration({ API_KEY: 'short', API_KEY_PREVIOUS: '123456789012345' }),
    );
    expect(warnings.map((warning) => warning.split(' ')[0])).toEqual(['API_KEY', 'API_KEY_PREVIOUS']);
    expect(warnings.join()).not.toContain('short');
  });

  it('do not mention long ones', () => {
    expect(configurationWarnings(readConfiguration({ API_KEY: '1234567890123456' }))).toEqual([]);
  });
});
