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

/**
 * Node.js requires ES modules, Jest does not: it compiles these packages to CommonJS, once, since it keeps the results.
 *
 * @type {import('@swc/core').Options}
 */
const esModules = { jsc: { target: 'es2023' }, module: { type: 'commonjs' } };
const ES_MODULES = ['@nestjs', 'file-type', 'strtok3', 'token-types', 'uint8array-extras', '@tokenizer', '@borewit'];

const common = {
  rootDir: import.meta.dirname,
  testEnvironment: '<rootDir>/scripts/test-environment.mjs',
  transform: { '^.+\\.ts$': ['@swc/jest', typescript], '^.+\\.js$': ['@swc/jest', esModules] },
  transformIgnorePatterns: [`/node_modules/(?!(${ES_MODULES.join('|')})/)`],
  setupFilesAfterEnv: ['<rootDir>/test/support/jest/patience.ts', '<rootDir>/test/support/jest/no-leaks.ts'],
};

/** Rooms about what others can verify later, and what was altered or erased. */
const EVIDENCE = ['evidence', 'tampering', 'erasures'];
/** Rooms about the service as it runs: its start and end, its database, its limits, its package, what it sends. */
const OPERATIONS = ['process', 'database', 'hostile', 'http/limits', 'package', 'webhooks', 'mail'];
/** Folders whose tests are in other projects: they take long, or need more than Node.js. */
const ELSEWHERE = [...EVIDENCE, ...OPERATIONS, 'postgres', 'clients', 'console', 'faults'].map(inTests);

/**
 * `room-spec.ts` runs all test files of its folder in one process: to load the service takes longer than most of them.
 * Where it is chosen they do not run by themselves (scripts/test-order.mjs); `npx jest test/records/entities` runs one.
 */
const WITH_ROOMS = ['**/*.e2e-spec.ts', '**/room-spec.ts'];

/** Every unit test, every feature through HTTP, and the documents: needs nothing but Node.js, and runs first. */
const sqlite = {
  ...common,
  displayName: 'sqlite',
  globalSetup: '<rootDir>/test/support/jest/before-sqlite-tests.ts',
  globalTeardown: REMOVE_DATABASES,
  testMatch: ['<rootDir>/src/**/*.spec.ts', ...WITH_ROOMS.map((files) => `<rootDir>/test/${files}`)],
  testPathIgnorePatterns: ['/node_modules/', ...ELSEWHERE],
};

/**
 * Maps rooms to the files that can differ on PostgreSQL: storage, locks, pages, leases. The refusal of a field
 * cannot.
 */
const ON_POSTGRES = {
  access: ['api-keys', 'caller-end', 'key-lookups'],
  approvals: [
    'approvals',
    'approved-together',
    'grants',
    'many-approvers',
    'request-lists',
    'resumes',
    'signed-approvals',
  ],
  database: ['files', 'refused-database', 'replaced-tables', 'schema-version', 'upgrades'],
  decisions: ['decisions', 'decision-expiry'],
  directory: ['entra', 'roles', 'synchronisation'],
  erasures: ['erasures', 'evidence-slice', 'kept-answers', 'one-statement', 'put-back', 'refused-by-another'],
  events: ['events', 'many-readers'],
  executions: ['evaluate', 'executions', 'policy-set'],
  gateways: ['via', 'unknown-outcomes', 'cancelled-runs'],
  hostile: ['names', 'queries'],
  http: ['idempotency-key', 'json-values', 'lists'],
  ledger: [
    ...['any-commands', 'commands', 'concurrency', 'large-values', 'logged', 'prefetch', 'readiness'],
    ...['reading-connections', 'retries'],
  ],
  mail: ['mails'],
  lists: ['large-totals', 'lists', 'written-lists'],
  openapi: ['any-input'],
  policies: [
    'large-policy-sets',
    'used-limits',
    'earlier-executions',
    'recent-executions',
    'claims-of-entities',
    'gathered-facts',
  ],
  process: ['clock', 'failed-start'],
  records: [
    ...['agent-changes', 'agent-filters', 'agents', 'claims', 'entities', 'idempotency', 'idempotency-over-time'],
    ...['idempotent-executions', 'long-removals', 'statistics'],
  ],
  reports: ['oversight'],
  secrets: ['questions', 'secrets', 'secret-key'],
  stops: ['stopped-handlers', 'stops'],
  verification: [
    ...['audit', 'checkpoints', 'decision-files', 'derived-data-chunks', 'provenance', 'refused-callers'],
    'verification',
  ],
  tampering: ['tampering'],
  webhooks: ['changed-endpoints', 'changed-filters', 'effects', 'interrupted-test', 'slack'],
};

/**
 * Rooms of which little runs on PostgreSQL, by the file of test/postgres/small-rooms that runs them: to load the service
 * takes longer than each.
 */
const SMALL_ROOMS = {
  asked: ['decisions', 'events', 'executions', 'process', 'secrets', 'stops', 'tampering'],
  listed: ['directory', 'hostile', 'lists', 'mail', 'openapi', 'reports'],
};

/** @param {string} folder */
function inTests(folder) {
  return `<rootDir>/test/${folder}/`;
}

/** @param {string} folder */
function roomsIn(folder) {
  return WITH_ROOMS.map((files) => inTests(folder) + files);
}

/** The tests of what can differ on PostgreSQL, what it has alone, and what processes share in Redis. */
const postgres = {
  ...common,
  displayName: 'postgres',
  globalSetup: '<rootDir>/test/support/jest/before-postgres-tests.ts',
  globalTeardown: REMOVE_DATABASES,
  testMatch: [
    ...roomsIn('postgres'),
    ...Object.entries(ON_POSTGRES).flatMap(([room, names]) => {
      const whole = Object.values(SMALL_ROOMS).flat().includes(room) ? [] : ['room-spec'];
      return [...names.map((name) => `${name}.e2e-spec`), ...whole].map((name) => `${inTests(room)}${name}.ts`);
    }),
  ],
  globals: { DATABASE_KIND: 'postgres', ON_POSTGRES, SMALL_ROOMS },
};

const evidence = onSqlite('evidence', EVIDENCE);
const operations = onSqlite('operations', OPERATIONS);
/** The clients, in their languages and frameworks, with the tours that the documents and `gov` give. */
const clients = onSqlite('clients', ['clients']);
/** The console in a browser. */
const console = onSqlite('console', ['console']);

/**
 * @param {string} displayName
 * @param {readonly string[]} folders
 */
function onSqlite(displayName, folders) {
  return {
    ...sqlite,
    displayName,
    testMatch: folders.flatMap(roomsIn),
    testPathIgnorePatterns: ['/node_modules/'],
  };
}

/** The built program under faults: killed, without room or time, with failing disks and servers. */
const faults = {
  ...common,
  displayName: 'faults',
  testMatch: ['<rootDir>/test/faults/**/*.faults-spec.ts'],
  globalSetup: '<rootDir>/test/faults/support/print-seed.ts',
  globalTeardown: REMOVE_DATABASES,
};

// Workers inherit it.
process.env.TEST_RUN = String(process.pid);

/** @type {import('jest').Config} */
export default {
  projects: [sqlite, evidence, operations, postgres, faults, console, clients],
  // Each application has sessions of the server, of which there are a hundred.
  // Much of what they do is to wait for other processes, so two processors have work for four.
  maxWorkers: 4,
  // Each file loads everything anew; a process that has seen many is slow and large, and another takes its place.
  workerIdleMemoryLimit: '900MB',
  // Milliseconds. By default a process that has not ended after half a second is killed, and said to leak: a busy machine
  // takes longer to end one that leaks nothing.
  workerGracefulExitTimeout: 60_000,
  testSequencer: '<rootDir>/scripts/test-order.mjs',
  reporters: ['default', '<rootDir>/scripts/totals-reporter.mjs'],
};
