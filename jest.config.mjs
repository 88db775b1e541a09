import { connect } from 'node:net';

const REMOVE_DATABASES = '<rootDir>/test/support/jest/after-all-tests.ts';

/** @type {import('@swc/core').Options} */
const typescript = {
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    keepClassNames: true,
  },
  module: { type: 'commonjs' },
  sourceMaps: 'inline',
};

const common = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  transform: { '^.+\\.ts$': ['@swc/jest', typescript] },
  setupFilesAfterEnv: ['<rootDir>/test/support/jest/patience.ts', '<rootDir>/test/support/jest/no-leaks.ts'],
};

/**
 * With TESTS_TOGETHER=true, as in CI, the files of these folders share the modules of one process: to load the service
 * takes longer than most of them.
 */
const ROOMS = [
  ...['access', 'approvals', 'database', 'decisions', 'events', 'executions', 'hostile', 'http', 'ledger'],
  ...['lists', 'openapi', 'policies', 'records', 'verification', 'webhooks'],
];
const ROOMS_ON_SQLITE = ['http/limits'];
const isTogether = process.env.TESTS_TOGETHER === 'true';

/**
 * The end-to-end tests of a project: its rooms, and the files that are in none of them.
 *
 * @param {readonly string[]} rooms
 */
function endToEnd(rooms) {
  if (!isTogether) return { testMatch: ['<rootDir>/test/**/*.e2e-spec.ts'], inRooms: [] };
  return {
    testMatch: [
      '<rootDir>/test/**/*.e2e-spec.ts',
      ...rooms.map((room) => `<rootDir>/test/rooms/${room.replace('/', '-')}.room-spec.ts`),
    ],
    inRooms: [`<rootDir>/test/(${rooms.join('|')})/[^/]+$`],
  };
}

const onSqlite = endToEnd([...ROOMS, ...ROOMS_ON_SQLITE]);
const sqlite = {
  ...common,
  displayName: 'sqlite',
  globalSetup: '<rootDir>/test/support/jest/before-sqlite-tests.ts',
  globalTeardown: REMOVE_DATABASES,
  testMatch: ['<rootDir>/src/**/*.spec.ts', ...onSqlite.testMatch],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/postgres/', ...onSqlite.inRooms],
};

/** What a connection, a document or a package does, whatever keeps the records; and what only SQLite has. */
const WITHOUT_RECORDS = [
  ...['clients/.*', 'console/.*', 'documents/.*', 'package/(?!consumer).*', 'http/limits/.*'],
  ...['authentication', 'body', 'caching', 'console', 'cors', 'docs', 'errors', 'json-answers'].map(inHttp),
  ...['module-parts', 'refused-requests', 'routes', 'scopes', 'validation'].map(inHttp),
  ...[
    'access/token-faults',
    'access/token-keys',
    'hostile/bodies',
    'hostile/forwarded',
    'hostile/framing',
    'hostile/members',
    'hostile/multiplied-answers',
    'hostile/targets',
  ],
  ...['openapi/openapi', 'openapi/openapi-answers', 'openapi/openapi-differences', 'openapi/swagger-ui'],
  ...['policies/plan-thread', 'policies/policy-conditions', 'policies/policy-files', 'policies/policy-limits'],
  ...[
    'access/identity-provider',
    'process/metrics',
    'process/repeat-failed',
    'ledger/unavailable',
    'webhooks/connections',
  ],
  ...['database/backup', 'database/not-utf8', 'database/write-ahead-log'],
  ...['lists/list-plans', 'verification/verifier-database'],
  ...['verification/tampering-history', 'verification/tampering-table'],
];

/** Long, and much the same on both databases: POSTGRES_IN_FULL=true runs them on PostgreSQL as well. */
const LONG_ON_POSTGRES = [
  ...['records/as-of', 'records/large-removals', 'records/stored-json', 'lists/large-lists'],
  ...['decisions/decision-expiry', 'decisions/decision-reviews', 'decisions/reviews-under-policies'],
  ...['executions/evaluate-as-execute', 'executions/executions-handlers', 'executions/executions-of-stopped-service'],
  ...['policies/plan-against-evaluate', 'policies/policies', 'policies/policies-in-force', 'policies/policy-plan'],
  'policies/stored-rules',
  ...['policies/policy-replay', 'policies/policy-tests', 'policies/policy-versions'],
  ...['package/consumer', 'process/start', 'process/start-stop', 'webhooks/many-endpoints', 'webhooks/webhooks'],
  ...['damaged-rows', 'export', 'last-checkpoint', 'rewritten-history', 'state-verification', 'verifier'].map(
    (name) => `verification/${name}`,
  ),
];

/** What runs on SQLite alone. */
const NOT_ON_POSTGRES =
  process.env.POSTGRES_IN_FULL === 'true' ? WITHOUT_RECORDS : [...WITHOUT_RECORDS, ...LONG_ON_POSTGRES];

/** @param {string} name */
function inHttp(name) {
  return `http/${name}`;
}

const onPostgres = endToEnd(ROOMS);
/** Every end-to-end test that has to do with records once more, and those of PostgreSQL alone. */
const postgres = {
  ...common,
  displayName: 'postgres',
  globalSetup: '<rootDir>/test/support/jest/before-postgres-tests.ts',
  globalTeardown: REMOVE_DATABASES,
  testMatch: onPostgres.testMatch,
  testPathIgnorePatterns: [
    '/node_modules/',
    ...onPostgres.inRooms,
    ...NOT_ON_POSTGRES.map((name) => `<rootDir>/test/${name}.e2e-spec.ts`),
  ],
  globals: { DATABASE_KIND: 'postgres', LEFT_OUT: NOT_ON_POSTGRES },
};

/** The built program under faults: killed, without room or time, with failing disks and servers. */
const faults = {
  ...common,
  displayName: 'faults',
  testMatch: ['<rootDir>/test/faults/**/*.faults-spec.ts'],
  globalSetup: '<rootDir>/test/faults/support/print-seed.ts',
};

/** The server of test/support/processes/where-reachable.ts. */
function isPostgresReachable() {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: 5432, timeout: 3_000 });
    const answer = (isReachable) => () => {
      socket.destroy();
      resolve(isReachable);
    };
    socket.on('connect', answer(true)).on('timeout', answer(false)).on('error', answer(false));
  });
}

/** @returns {Promise<import('jest').Config>} */
export default async () => {
  // Workers inherit it.
  process.env.TEST_RUN = String(process.pid);
  const runsPostgres = process.env.CI === 'true' || (await isPostgresReachable());
  if (!runsPostgres) console.log('SKIPPED: the tests on PostgreSQL need a server at 127.0.0.1:5432.');
  return {
    projects: runsPostgres ? [sqlite, postgres, faults] : [sqlite, faults],
    // Each application has sessions of the server, of which there are a hundred.
    // Much of what they do is to wait for other processes, so two processors have work for four.
    maxWorkers: 4,
    // Each file loads everything anew; a process that has seen many is slow and large, and another takes its place.
    workerIdleMemoryLimit: '700MB',
    testSequencer: '<rootDir>/scripts/longest-first.mjs',
    reporters: ['default', '<rootDir>/scripts/totals-reporter.mjs'],
  };
};
