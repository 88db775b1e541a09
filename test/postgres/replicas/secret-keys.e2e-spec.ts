import { once } from 'node:events';
import { join } from 'node:path';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { ROOT } from '../../support/documents/markdown';
import { type ProgramEnded, startProgram, type StartedProgram } from '../../support/processes/started-program';

const MAIN = join(ROOT, 'dist', 'main.js');
const [FIRST, SECOND] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string];

describe('A replica whose key of secrets is no longer the accepted one', () => {
  let database: TemporaryDatabase;
  const started: StartedProgram[] = [];

  beforeAll(async () => {
    database = await temporaryDatabase();
  });
  afterAll(async () => {
    await Promise.all(started.map((program) => program.stop('SIGKILL')));
    await database.remove();
  });

  const start = async (environment: Readonly<Record<string, string>>): Promise<StartedProgram> => {
    const program = await startProgram(MAIN, { ...database.environment, ...environment });
    started.push(program);
    return program;
  };

  it('ends with exit code 78 and says why, as does its next start', async () => {
    const first = await start({ SECRET_KEY: FIRST });
    const refused = await start({ SECRET_KEY: SECOND }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ exitCode: 78 });
    expect(first.process.exitCode).toBeNull();
    const [, name = ''] = /ACCEPT_SECRET_KEY=([0-9a-f]{16})/.exec((refused as ProgramEnded).printed) ?? [];
    const second = await start({ SECRET_KEY: SECOND, ACCEPT_SECRET_KEY: name });
    if (first.process.exitCode === null) await once(first.process, 'exit');
    expect(first.process.exitCode).toBe(78);
    expect(first.printed()).toContain('SECRET_KEY: another process has accepted another key');
    expect(await start({ SECRET_KEY: FIRST }).catch((error: unknown) => error)).toMatchObject({ exitCode: 78 });
    expect((await second.send('GET', '/api/v1/health/ready')).status).toBe(200);
  });
});
