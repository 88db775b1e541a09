import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../bench/support/free-port';
import { sendRequest } from '../../src/program/testing/send';
import { temporaryDatabase } from '../support/database/temporary-database';
import { ROOT } from '../support/documents/markdown';

const FULL = '/dev/full';
const whereFull = existsSync(FULL) ? it : it.skip;
const KEY = 'a-key-for-a-full-disk';
/** More lines than are written together. */
const REQUESTS = 30;

describe('A service whose log is on a full disk', () => {
  whereFull('serves without it, and ends when it is told to', async () => {
    const database = await temporaryDatabase();
    const port = await freePort();
    const full = openSync(FULL, 'w');
    const environment = { HOST: '127.0.0.1', PORT: String(port), API_KEY: KEY, ...database.environment };
    const program = spawn(process.execPath, [join(ROOT, 'dist', 'main.js')], {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', full, 'inherit'],
    });
    const ended = once(program, 'close');
    closeSync(full);
    const create = async (name: string): Promise<number> => {
      const body = { type: 'service', name };
      return (await sendRequest(`http://127.0.0.1:${port}`, 'POST', '/api/v1/entities', { key: KEY, body })).status;
    };
    while ((await create('first').catch(() => null)) !== 201) {
      expect(program.exitCode).toBeNull();
      await sleep(100);
    }
    for (let count = 0; count < REQUESTS; count += 1) expect(await create(`entity-${count}`)).toBe(201);
    program.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    await database.remove();
  });
});
