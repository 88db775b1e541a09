import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chainIsValid, createAgent, createPolicy } from '../../support/application/factories';
import { ROOT } from '../../support/documents/markdown';
import { ProgramEnded, startProgram, type StartedProgram } from '../../support/processes/started-program';
import { openTcpGate, type TcpGate } from '../../support/application/tcp-gate';
import { describeWithPostgresCluster, postgresCluster, type PostgresCluster } from '../support/postgres-cluster';
import { replayed } from '../support/sessions';

const MAIN = join(ROOT, 'dist', 'main.js');
const SIGNING_KEY = Buffer.alloc(32, 'lagging').toString('base64');

describeWithPostgresCluster('A replica whose database falls back to a lagging standby', () => {
  let folder: string;
  let primary: PostgresCluster;
  let standby: PostgresCluster;
  let gate: TcpGate;
  let replica: StartedProgram;
  /** Writes nothing, and follows what the other writes. */
  let idle: StartedProgram;
  let agent: string;
  const started: StartedProgram[] = [];

  async function start(name: string, port: number, more: Record<string, string> = {}): Promise<StartedProgram> {
    const own = join(folder, name);
    mkdirSync(own, { recursive: true });
    const url = new URL(primary.url);
    url.port = String(port);
    const program = await startProgram(MAIN, { DATABASE_URL: url.href, CHECKPOINT_FOLDER: own, SIGNING_KEY, ...more });
    started.push(program);
    return program;
  }

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'governance-lagging-'));
    primary = await postgresCluster();
    standby = await primary.standby();
    gate = await openTcpGate('127.0.0.1', primary.port);
    replica = await start('replica', gate.port);
    ({ id: agent } = await createAgent(replica, { name: 'reader', capabilities: ['read'] }));
    await createPolicy(replica, { name: 'turns', version: '1', actions: ['read'] });
    idle = await start('idle', gate.port);
    await replayed(primary, standby);
    standby.stopHard();
    // Acknowledged by the process, but missing on the standby.
    await createPolicy(replica, { name: 'turns', version: '2', effect: 'deny', actions: ['read'] });
    const question = { agent: 'reader', action: 'read', resourceType: 'document', resourceId: 'a' };
    const evaluation = await idle.send('POST', '/api/v1/policies/evaluate', { body: question });
    expect(evaluation.body.effect).toBe('deny');
    primary.stopHard();
    standby.start();
    standby.promote();
  });
  afterEach(async () => {
    await Promise.all(started.splice(0).map((program) => program.stop('SIGKILL')));
    await gate.close();
    [standby, primary].forEach((cluster) => cluster.remove());
    rmSync(folder, { recursive: true, force: true });
  });

  async function ending({ process: program }: StartedProgram): Promise<number | null> {
    if (program.exitCode === null) await once(program, 'exit');
    return program.exitCode;
  }

  it('ends with exit code 65, says why, and starts again only if the loss is accepted', async () => {
    gate.aim(standby.port);
    gate.cut();
    gate.open();
    for (const program of [replica, idle]) {
      expect(await ending(program)).toBe(65);
      expect(program.printed()).toContain('THE CHAIN WENT BACK: the database does not hold entry 4 ');
    }
    const refused: unknown = await start('replica', gate.port).catch((error: unknown) => error);
    if (!(refused instanceof ProgramEnded)) throw new Error('It started.');
    expect(refused.exitCode).toBe(65);
    const [, name = ''] = /ACCEPT_RESTORED_DATABASE=(4:[0-9a-f]{16})/.exec(refused.printed) ?? [];
    const again = await start('replica', gate.port, { ACCEPT_RESTORED_DATABASE: name });
    await chainIsValid(again);
  });

  it('also ends if others have written different entries in place of those it knew', async () => {
    gate.cut();
    const other = await start('other', standby.port);
    await createPolicy(other, { name: 'turns', version: '3', actions: ['read'] });
    await createPolicy(other, { name: 'turns', version: '4', actions: ['read'] });
    gate.aim(standby.port);
    gate.open();
    expect(await Promise.all([ending(replica), ending(idle)])).toEqual([65, 65]);
    const body = { action: 'read', resourceType: 'document', resourceId: 'a' };
    expect((await other.send('POST', `/api/v1/agents/${agent}/execute`, { body })).status).toBe(200);
    await chainIsValid(other);
  });
});
