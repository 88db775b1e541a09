import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../support/documents/markdown';
import { API_KEY } from '../support/application/api-key';
import type { StartedProgram } from '../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { AS_IMAGE, AS_STARTED, highestMemory, startIn } from './support/surroundings';

/** Duration of the attack in each surrounding; HOSTILE_SECONDS sets another. */
const SECONDS = Number(process.env['HOSTILE_SECONDS'] ?? 12);
/** Milliseconds between two requests of the client that works normally. */
const PAUSE = 20;
/** Characters. */
const LAST_PRINTED = 4_000;

/** A client at another address, with the key, that sends one request after another. */
class OrdinaryClient {
  readonly unexpected: string[] = [];
  answerCount = 0;
  private readonly agent = new Agent({ keepAlive: true, localAddress: '127.0.0.2', maxSockets: 1 });

  constructor(private readonly url: string) {}

  async work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const name = `ordinary ${this.answerCount}`;
      const { id } = JSON.parse(await this.expect(201, 'POST', 'entities', { type: 'ordinary', name })) as {
        id: string;
      };
      await this.expect(200, 'GET', `entities/${id}`);
      await this.expect(200, 'GET', 'health');
      await sleep(PAUSE);
    }
    this.agent.destroy();
  }

  private async expect(status: number, method: string, path: string, body?: object): Promise<string> {
    const [answerStatus, content] = await this.send(method, path, body);
    this.answerCount += 1;
    if (answerStatus !== status) this.unexpected.push(`${method} ${path}: ${answerStatus} ${content.slice(0, 200)}`);
    return answerStatus === status ? content : '{"id":"none"}';
  }

  private send(method: string, path: string, body?: object): Promise<[number, string]> {
    return new Promise((resolve, reject) => {
      const headers = { 'X-API-Key': API_KEY, ...(body !== undefined && { 'Content-Type': 'application/json' }) };
      const sent = request(`${this.url}/api/v1/${path}`, { method, agent: this.agent, headers }, (answer) => {
        text(answer).then((content) => resolve([answer.statusCode ?? 0, content]), reject);
      });
      sent.on('error', (error) => {
        // The service may close an idle connection; the client then opens another one.
        if (sent.reusedSocket) this.send(method, path, body).then(resolve, reject);
        else reject(error);
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

describe.each([AS_STARTED, AS_IMAGE])('Under attack from one address, run as by $name, the service', (surroundings) => {
  let database: TemporaryDatabase;
  let program: StartedProgram;
  let attack: ChildProcess | null = null;

  beforeAll(async () => {
    database = await temporaryDatabase();
    program = await startIn(surroundings, database, { RATE_LIMIT: '100000000', LOG_LEVEL: 'fatal' });
  });
  afterAll(async () => {
    attack?.kill('SIGKILL');
    await program.stop('SIGKILL');
    await database.remove();
  });

  /** Describes the end of the process, if it has ended; after a failure, with its last output. */
  function ending(): object {
    const { exitCode, signalCode: signal } = program.process;
    const isInOrder = signal === null && (exitCode ?? 0) === 0;
    return { exitCode, signal, ...(!isInOrder && { printed: program.printed().slice(-LAST_PRINTED) }) };
  }

  it(
    'continues, answers another address as usual, and stays within its memory',
    async () => {
      const clients = join(ROOT, 'bench', 'hostile', 'hostile-clients.mjs');
      const seed = process.env['FAULT_SEED'] ?? '1';
      const attackers = spawn(process.execPath, [clients, program.url, API_KEY, String(SECONDS), seed], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      attack = attackers;
      const carriedOut = text(attackers.stdout);
      const ended = once(attackers, 'exit');
      const stopped = new AbortController();
      const ordinary = new OrdinaryClient(program.url);
      const work = ordinary.work(stopped.signal);
      await Promise.race([ended, work]);
      stopped.abort();
      await work;
      expect(ending()).toEqual({ exitCode: null, signal: null });
      expect(ordinary.unexpected).toEqual([]);
      expect(ordinary.answerCount).toBeGreaterThan(SECONDS);
      const counts = JSON.parse(await carriedOut) as Record<string, number>;
      const kinds = ['resets', 'idle connections', 'slow requests', 'large bodies', 'unread answers'];
      const others = ['exports', 'verifications', 'multiplied questions'];
      expect(Object.keys(counts)).toEqual(expect.arrayContaining([...kinds, ...others]));
      expect(highestMemory(program)).toBeLessThan(surroundings.memory);
      await program.stop('SIGTERM');
      expect(ending()).toEqual({ exitCode: 0, signal: null });
    },
    (SECONDS + 300) * 1_000,
  );
});
