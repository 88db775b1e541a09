/**
 * Starts the built program and takes the tour with every version of Node.js that is supported. The last line is
 * `N passed, N failed`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ensureBuilt } from './ensure-built.mjs';
import { ensureClients } from './ensure-clients.mjs';
import { root, run, succeeds } from './run.mjs';

const VERSIONS = ['20.19', '22', '24'];
/** Milliseconds. Tests may run at the same time. */
const PATIENCE = 300_000;

const GOV = join(root, 'clients', 'cli');
const folder = mkdtempSync(join(tmpdir(), 'node-versions-'));

/**
 * Installs Node.js in each version from the packages for this machine's platform, which have no install scripts. (The
 * package `node` would choose one of them by an install script.)
 */
async function install() {
  const packages = VERSIONS.map(
    (version) => `${nameOf(version)}@npm:node-${process.platform}-${process.arch}@${version}`,
  );
  const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', '--prefix', folder];
  if (await succeeds('npm', ['install', ...options, ...packages])) return;
  throw new Error(`npm could not install ${packages.join(' ')}.`);
}

function nameOf(version) {
  return `node-${version}`;
}

/**
 * Starts the service on a new database, which the native driver has to open, and requests its health. @throws Error
 * with the output of the service
 */
async function start(node) {
  const home = mkdtempSync(join(folder, 'service-'));
  const env = { PATH: process.env.PATH, PORT: '0', HOST: '127.0.0.1', DATABASE_URL: 'sqlite:governance.db' };
  const service = spawn(node, [join(root, 'dist', 'main.js')], { cwd: home, env });
  const ended = once(service, 'close');
  const impatience = setTimeout(() => service.kill('SIGKILL'), PATIENCE);
  try {
    const answer = await fetch(`${await addressOf(service)}/api/v1/health`);
    if (!answer.ok) throw new Error(`health: ${answer.status} ${await answer.text()}`);
  } finally {
    service.kill('SIGTERM');
    await ended;
    clearTimeout(impatience);
  }
}

/** Returns the address of a service, from its banner. */
function addressOf({ stdout, stderr }) {
  let printed = '';
  return new Promise((resolve, reject) => {
    for (const stream of [stdout, stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        printed += text;
        const address = /^ *API {2,}(http\S+)\/api\/v1$/m.exec(printed)?.[1];
        if (address !== undefined) resolve(address);
      });
    }
    stdout.on('end', () => reject(new Error(`did not start: ${printed.trim()}`)));
  });
}

/** Takes the tour. @throws Error with its output */
function tour(node) {
  const home = mkdtempSync(join(folder, 'home-'));
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}`, XDG_CONFIG_HOME: home };
  const program = [join(GOV, 'dist', 'cli', 'src', 'main.js'), 'tour', '--no-pause'];
  const { status, stdout, stderr } = spawnSync(node, program, { env, encoding: 'utf8', timeout: PATIENCE });
  const hasFound = stdout.includes('INVALID');
  if (status !== 0 || !hasFound) throw new Error(`ended with ${status}: ${stdout}${stderr}`);
}

/**
 * Runs the tests of AI SDK 7, which the tests of the clients skip if this process is too old for it. @throws Error with
 * their output
 */
function testAiSdk(node) {
  const words = ['test/clients/frameworks', '--selectProjects', 'clients', '--testNamePattern', 'AI SDK 7'];
  const program = [join(root, 'node_modules', 'jest', 'bin', 'jest.js'), ...words];
  const { status, stdout, stderr } = spawnSync(node, program, { cwd: root, encoding: 'utf8' });
  const haveRun = /^[1-9]\d* passed, 0 failed$/m.test(stdout);
  if (status !== 0 || !haveRun) throw new Error(`ended with ${status}: ${stdout}${stderr}`);
}

function checksOf(version) {
  const isTooOld = Number.parseInt(process.versions.node, 10) < 22;
  return version === '24' && isTooOld ? { start, tour, 'AI SDK 7': testAiSdk } : { start, tour };
}

/** Describes the failure with a version of Node.js; undefined if all checks pass. */
async function failureOf(version) {
  const node = join(folder, 'node_modules', nameOf(version), 'bin', 'node');
  const running = String(spawnSync(node, ['--version']).stdout).trim();
  if (!running.startsWith(`v${version}.`)) return `the program says that it is "${running}"`;
  for (const [name, check] of Object.entries(checksOf(version))) {
    try {
      await check(node);
    } catch (error) {
      return `${name}: ${error.message}`;
    }
  }
  return undefined;
}

let failed = 0;
try {
  await Promise.all([ensureBuilt(), ensureClients(['clients/cli'])]);
  await run('npm', ['run', '--silent', 'build'], { folder: GOV });
  await install();
  for (const version of VERSIONS) {
    const failure = await failureOf(version);
    if (failure !== undefined) failed += 1;
    console.log(`Node.js ${version}: ${failure ?? `works (${Object.keys(checksOf(version)).join(', ')})`}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${VERSIONS.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
