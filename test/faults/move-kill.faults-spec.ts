import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '../../src/program/testing/temporary-database';
import { createPostgresDatabase, dropPostgresDatabase, onServer } from '../support/database/database-server';
import { MAIN, move, moveSettings } from '../postgres/moves/move-program';
import { ProgramEnded, startProgram } from '../support/processes/started-program';
import { History } from './support/history';
import { Load } from './support/load';
import { randomFor } from './support/random';
import { ROUNDS } from './support/rounds';
import { ServedDatabase } from './support/served-database';

/** Milliseconds of load, so that there is something to move. */
const LOAD = 1_500;
const CLIENTS = 8;
const PATIENCE = 300_000;

const digestOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

describe('A move killed at a random moment', () => {
  it(
    'leaves the source as it was and a target on which nothing starts, until it is done again',
    async () => {
      const random = randomFor('move');
      const source = temporaryFolder((path) => `sqlite:${path}`);
      const url = await createPostgresDatabase();
      const served = new ServedDatabase(source.path, { environment: moveSettings(source) });
      const load = new Load('move', new History());
      await served.start();
      await load.prepare(served.url);
      const controller = new AbortController();
      const clients = load.run(served.url, CLIENTS, controller.signal);
      await sleep(LOAD);
      controller.abort();
      await clients;
      await served.stop();
      const before = digestOf(source.path);
      const settings = { ...moveSettings(source), DATABASE_URL: url };
      // The duration of a whole move shows when it can be killed.
      const begun = performance.now();
      expect(await move(source, url)).toMatchObject({ exitCode: 0 });
      const duration = performance.now() - begun;
      await recreate();

      let marked = 0;
      // On a busy machine each of the rounds may be killed before it has begun: one has to be killed in the middle.
      for (let round = 1; round <= ROUNDS || marked === 0; round += 1) {
        const program = spawn(process.execPath, [MAIN, 'move', '--to', url, '--again'], {
          cwd: source.folder,
          env: { ...process.env, ...moveSettings(source) },
          stdio: 'ignore',
        });
        const ended = once(program, 'exit');
        await sleep(random.below(duration));
        program.kill('SIGKILL');
        await ended;
        expect({ round, digest: digestOf(source.path) }).toEqual({ round, digest: before });
        const [{ count }] = (await onServer(
          `SELECT count(*)::int AS "count" FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname = 'unfinished_move'`,
          url,
        )) as [{ count: number }];
        if (count === 0) {
          // Killed before it had begun, or after its end.
          await recreate();
          continue;
        }
        marked += 1;
        const failure: unknown = await startProgram(MAIN, settings).catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(ProgramEnded);
        expect({ round, failure }).toMatchObject({ round, failure: { exitCode: 65 } });
      }
      expect(marked).toBeGreaterThan(0);
      expect(await move(source, url, '--again')).toMatchObject({ exitCode: 0 });
      const program = await startProgram(MAIN, settings);
      const { body } = await program.send('POST', '/api/v1/provenance/verify', { body: { state: true } });
      expect(body).toMatchObject({ valid: true });
      await program.stop();
      await source.remove();
      await dropPostgresDatabase(url);

      async function recreate(): Promise<void> {
        const [database, server] = [new URL(url).pathname.slice(1), new URL('/test', url).href];
        await onServer(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`, server);
        await onServer(`CREATE DATABASE ${database} TEMPLATE template0`, server);
      }
    },
    PATIENCE,
  );
});
