/**
 * Writes the database that the built program leaves behind after it has done everything once and was killed, for the
 * test of upgrades: `<folder>/<version>.db.gz` of SQLite or, with a PostgreSQL server's URL as second argument,
 * `<version>.sql`. Run it at every release, once per database: `node scripts/write-release-fixture.mjs
 * test/fixtures/releases [postgres://…]`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { isMain, root } from './run.mjs';

const require = createRequire(import.meta.url);
const KEY = 'a-key-for-tests-that-is-long-enough';
/** Milliseconds from the proposal of the last decision to its expiry: it expires in the program that opens the file. */
const LEFT_OPEN = 60_000;
/** The rate limit is high, as the script polls: on PostgreSQL until the lease of the killed process is over. */
const SETTINGS = {
  REQUIRED_APPROVALS: 'medium=2',
  RATE_LIMIT: '1000000',
  SECRET_KEY: Buffer.alloc(32, 'secrets of tests').toString('base64'),
};

async function startProgram(databaseUrl) {
  const program = spawn(process.execPath, [join(root, 'test', 'support', 'processes', 'program-with-actions.mjs')], {
    cwd: tmpdir(),
    env: { PATH: process.env.PATH, ...SETTINGS, API_KEY: KEY, DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => program.kill('SIGKILL'));
  const url = await new Promise((resolveUrl, reject) => {
    let printed = '';
    program.stdout.setEncoding('utf8').on('data', (chunk) => {
      printed += chunk;
      const found = /^API {2}(\S+)$/m.exec(printed)?.[1];
      if (found !== undefined) resolveUrl(found.replace('[::1]', '127.0.0.1'));
    });
    program.once('close', () => reject(new Error('The program ended before it listened.')));
  });
  return { program, url };
}

async function kill({ program }) {
  program.kill('SIGKILL');
  await once(program, 'close');
}

/** Makes the service do everything that leaves records and entries. Any unexpected status is an error. */
function requestsTo(url) {
  return async (status, method, path, body) => {
    const answer = await fetch(`${url}/${path}`, {
      method,
      headers: { 'X-API-Key': KEY, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status !== status) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
}

async function keepEntities(request) {
  const values = {
    tier: 1,
    ratio: 0.1,
    'ключ 🗝': ['a', null, { constructor: 'x' }],
    nested: { deep: { deeper: true } },
  };
  const gateway = await request(201, 'POST', 'entities', { type: 'service', name: 'Gateway', properties: values });
  await request(200, 'PUT', `entities/${gateway.id}`, { name: 'Gateway (EU) — „größer“' });
  const claims = `entities/${gateway.id}/claims`;
  await request(201, 'POST', claims, { predicate: 'owner', value: 'team', context: { confidence: 0.5, source: 's' } });
  await request(201, 'POST', claims, { predicate: 'tier', value: 0.1 });
  await request(201, 'POST', claims, { predicate: 'public', value: false });
  const wrong = await request(201, 'POST', claims, { predicate: 'wrong', value: '' });
  await request(204, 'DELETE', `${claims}/${wrong.id}`);
  const plain = await request(201, 'POST', 'entities', { type: 'host', name: 'web-1' });
  const gone = await request(201, 'POST', 'entities', { type: 'host', name: 'web-2' });
  await request(201, 'POST', `entities/${gone.id}/claims`, { predicate: 'rack', value: 7 });
  await request(204, 'DELETE', `entities/${gone.id}`);
  return { gateway, plain };
}

async function keepAgents(request) {
  const capabilities = ['look', 'succeed', 'fail', 'hang', 'forbidden', 'unmatched'];
  const bot = await request(201, 'POST', 'agents', { name: 'invoice-bot', capabilities, roles: ['worker', 'night'] });
  await request(200, 'PATCH', `agents/${bot.id}`, { description: 'Does things.' });
  const reviewer = await request(201, 'POST', 'agents', { name: 'Zoë', roles: ['reviewer'] });
  const third = await request(201, 'POST', 'agents', { name: 'third' });
  await request(200, 'POST', `agents/${third.id}/suspend`, { reason: 'On leave.' });
  await request(403, 'POST', `agents/${third.id}/execute`, { action: 'look', resourceType: 'x', resourceId: 'y' });
  await request(200, 'POST', `agents/${third.id}/resume`);
  const suspended = await request(201, 'POST', 'agents', { name: 'suspended' });
  await request(200, 'POST', `agents/${suspended.id}/suspend`);
  return { bot, reviewer, third, suspended };
}

async function keepPolicies(request) {
  const open = { name: 'open', effect: 'allow', subjects: ['role:worker'], resources: ['docs/*', 'entities/*'] };
  const actions = ['look', 'succeed', 'fail', 'hang', 'forbidden'];
  const first = await request(201, 'POST', 'policies', { ...open, actions, version: '1.0' });
  const next = await request(201, 'POST', 'policies', { ...open, actions, version: '1.1', description: 'Wider.' });
  await request(200, 'POST', `policies/${first.id}/activate`);
  await request(200, 'POST', `policies/${next.id}/activate`);
  const rules = {
    effect: 'deny',
    subjects: ['agent:invoice-bot'],
    priority: 9,
    actions: ['forbidden', 'decision:reject'],
  };
  const resources = ['docs/vault/*', 'decisions/low/*'];
  await request(201, 'POST', 'policies', { name: 'closed', version: '1', ...rules, resources, resourceTypes: [] });
  const idle = {
    name: 'idle',
    version: '2026-1',
    effect: 'deny',
    subjects: ['*', 'user:x'],
    actions: ['*'],
    resources: ['*'],
  };
  const { id } = await request(201, 'POST', 'policies', idle);
  await request(200, 'POST', `policies/${id}/deactivate`);
}

async function execute(request, { gateway, bot }) {
  const path = 'agents/invoice-bot/execute';
  const resource = { resourceType: 'document', resourceId: 'docs/a', parameters: { to: ['x'], amount: 12.5 } };
  await request(200, 'POST', path, { ...resource, action: 'look' });
  await request(200, 'POST', path, { ...resource, action: 'succeed', resourceId: `entities/${gateway.id}` });
  await request(200, 'POST', path, { ...resource, action: 'fail' });
  await request(403, 'POST', path, { ...resource, action: 'forbidden', resourceId: '/docs/vault/gold' });
  await request(403, 'POST', path, { ...resource, action: 'unknown' });
  await request(403, 'POST', `agents/${bot.id}/execute`, { ...resource, action: 'unmatched' });
}

async function decide(request, { bot, reviewer, third, suspended }) {
  const decision = { type: 'deployment', title: 'Deploy', proposedBy: bot.id, context: { change: 'CHG-1' } };
  const approved = await request(201, 'POST', 'decisions', { ...decision, riskLevel: 'medium' });
  await request(200, 'POST', `decisions/${approved.id}/approve`, { approverId: reviewer.id, comment: 'Seen.' });
  await request(403, 'POST', `decisions/${approved.id}/approve`, { approverId: bot.id });
  await request(200, 'POST', `decisions/${approved.id}/approve`, { approverId: third.id });
  const rejected = await request(201, 'POST', 'decisions', { ...decision, riskLevel: 'low', description: 'Why not.' });
  await request(403, 'POST', `decisions/${rejected.id}/reject`, { approverId: bot.id });
  await request(200, 'POST', `decisions/${rejected.id}/reject`, { reason: 'Too risky.' });
  const half = await request(201, 'POST', 'decisions', { ...decision, riskLevel: 'medium', type: 'purchase' });
  await request(200, 'POST', `decisions/${half.id}/approve`, { approverId: reviewer.id });
  await request(403, 'POST', 'decisions', { ...decision, proposedBy: suspended.id, riskLevel: 'high' });
  const soon = new Date(Date.now() + 100).toISOString();
  const expired = await request(201, 'POST', 'decisions', { ...decision, riskLevel: 'critical', expiresAt: soon });
  while ((await request(200, 'GET', `decisions/${expired.id}`)).status === 'proposed') await sleep(20);
  const expiresAt = new Date(Date.now() + LEFT_OPEN).toISOString();
  await request(201, 'POST', 'decisions', { ...decision, riskLevel: 'high', expiresAt });
}

/** Leaves an execution whose handler runs. */
async function hang(request) {
  const resource = { action: 'hang', resourceType: 'document', resourceId: 'docs/b' };
  request(200, 'POST', 'agents/invoice-bot/execute', resource).catch(() => undefined);
  while ((await request(200, 'GET', 'executions?outcome=running')).total === 0) await sleep(20);
}

/** One program does everything and is killed; another takes over, and is killed, too. */
async function makeHistory(databaseUrl) {
  const first = await startProgram(databaseUrl);
  const request = requestsTo(first.url);
  const { gateway } = await keepEntities(request);
  const agents = await keepAgents(request);
  await keepPolicies(request);
  await execute(request, { gateway, ...agents });
  await hang(request);
  await kill(first);
  const second = await startProgram(databaseUrl);
  const later = requestsTo(second.url);
  // On PostgreSQL the second program takes over when the lease of the first is over, after a minute.
  while ((await later(200, 'GET', 'executions?outcome=interrupted')).total === 0) await sleep(500);
  await decide(later, agents);
  await hang(later);
  await kill(second);
}

async function writeSqlite(file) {
  const folder = mkdtempSync(join(tmpdir(), 'governance-fixture-'));
  const [path, copy] = [join(folder, 'governance.db'), join(folder, 'copy.db')];
  await makeHistory(`sqlite:${path}`);
  const { Database } = require('sqlite3');
  const database = new Database(path);
  await promisify(database.run.bind(database))('VACUUM INTO ?', [copy]);
  await promisify(database.close.bind(database))();
  writeFileSync(file, gzipSync(readFileSync(copy), { level: 9 }));
  rmSync(folder, { recursive: true });
}

async function writePostgres(file, server) {
  const { Client } = require('pg');
  const client = new Client({ connectionString: server });
  await client.connect();
  const name = `governance_fixture_${process.pid}`;
  await client.query(`CREATE DATABASE ${name} TEMPLATE template0`);
  try {
    const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
    await makeHistory(url);
    const dump = execFileSync('pg_dump', ['--inserts', '--no-owner', '--no-privileges', `--dbname=${url}`], {
      encoding: 'utf8',
    });
    writeFileSync(file, sqlOf(dump));
  } finally {
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await client.end();
  }
}

/** Removes the comments, and the commands that only psql understands. */
function sqlOf(dump) {
  return dump.replace(/^(?:--.*|\\.*|SET transaction_timeout.*)\n/gm, '').replace(/\n{2,}/g, '\n');
}

if (isMain(import.meta.url)) {
  const [folder = '.', server] = process.argv.slice(2);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const file = join(resolve(folder), `${version}.${server === undefined ? 'db.gz' : 'sql'}`);
  await (server === undefined ? writeSqlite(file) : writePostgres(file, server));
  console.log(file);
}
