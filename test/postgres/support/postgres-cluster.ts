import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onServer } from '../../support/database/database-server';
import { freePort } from '../../../bench/support/free-port';

/** A separate PostgreSQL server, which the test may stop at will. */
export interface PostgresCluster {
  readonly port: number;
  /** URL of its empty database. */
  readonly url: string;
  start(): void;
  /** Stops it like a power failure: sessions are cut, and the next start recovers. */
  stopHard(): void;
  /** Another server that follows this one by streaming replication, in its own folder. */
  standby(): Promise<PostgresCluster>;
  /** Promotes the standby to primary. */
  promote(): void;
  /** Changes a setting that needs no restart. */
  set(name: string, value: string): Promise<void>;
  remove(): void;
}

const VERSIONS = '/usr/lib/postgresql';
const PROGRAMS = programsFolder();

/** Without the programs of a server these tests are skipped, and say so; with CI=true they fail. */
export function describeWithPostgresCluster(title: string, tests: () => void): void {
  if (PROGRAMS !== null || process.env['CI'] === 'true') describe(title, tests);
  else describe.skip(`${title} (skipped: needs initdb and pg_ctl of PostgreSQL)`, tests);
}

/** A primary. */
export async function postgresCluster(): Promise<PostgresCluster> {
  return makeCluster((run, data) =>
    run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'),
  );
}

type Run = (program: string, ...parameters: string[]) => void;

async function makeCluster(makeData: (run: Run, data: string) => void): Promise<PostgresCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'governance-postgres-'));
  const [user, data] = [serverUser(), join(folder, 'data')];
  if (user !== null) chownSync(folder, user, user);
  const port = await freePort();
  const run: Run = (program, ...parameters) => {
    const identity = user === null ? {} : { uid: user, gid: user };
    const path = PROGRAMS === null ? program : join(PROGRAMS, program);
    // Otherwise the server, which outlives pg_ctl, would keep its output open.
    const { status, error } = spawnSync(path, parameters, { ...identity, cwd: folder, stdio: 'ignore' });
    if (status !== 0) throw new Error(`${program} ${parameters.join(' ')} failed: ${String(error ?? status)}`);
  };
  const options = `-p ${port} -h 127.0.0.1 -k ${folder} -c max_connections=40`;
  const control = (...parameters: string[]): void => run('pg_ctl', '-D', data, '-w', ...parameters);
  makeData(run, data);
  let isRunning = false;
  const cluster: PostgresCluster = {
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start: () => {
      control('-o', options, '-l', join(folder, 'log'), 'start');
      isRunning = true;
    },
    stopHard: () => {
      control('-m', 'immediate', 'stop');
      isRunning = false;
    },
    standby: () =>
      makeCluster((runIt, folderOfIt) => {
        const source = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres'];
        runIt('pg_basebackup', '-D', folderOfIt, ...source, '-R', '-c', 'fast', '-X', 'stream', '--no-sync');
      }),
    promote: () => control('promote'),
    set: async (name, value) => {
      await onServer(`ALTER SYSTEM SET ${name} = '${value}'`, cluster.url);
      await onServer('SELECT pg_reload_conf()', cluster.url);
    },
    remove: () => {
      if (isRunning) cluster.stopHard();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  cluster.start();
  return cluster;
}

/** PostgreSQL refuses to run as root. */
function serverUser(): number | null {
  if (process.getuid?.() !== 0) return null;
  const userId = Number(spawnSync('id', ['-u', 'postgres']).stdout.toString());
  return userId > 0 ? userId : 65_534;
}

/** In Debian's folder, or where pg_config says. */
function programsFolder(): string | null {
  try {
    const [version] = readdirSync(VERSIONS).sort((one, other) => Number(other) - Number(one));
    if (version !== undefined) return join(VERSIONS, version, 'bin');
  } catch {
    // Other systems have them elsewhere.
  }
  const { status, stdout } = spawnSync('pg_config', ['--bindir']);
  return status === 0 ? stdout.toString().trim() : null;
}
