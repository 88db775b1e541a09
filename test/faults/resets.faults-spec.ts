import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_KEY } from '../support/application/api-key';
import { createEntity } from '../support/application/factories';
import { ROOT } from '../support/documents/markdown';
import { type StartedProgram, startProgram } from '../support/processes/started-program';

const MAIN = join(ROOT, 'dist/main.js');
/** Connections of a case, to each port. */
const TRIALS = 4;
/** More than the system buffers for a client that does not read, so that an answer is cut off in the middle. */
const LARGE = { text: 'x'.repeat(6_000_000) };

const KEY = `Host: x\r\nX-API-Key: ${API_KEY}\r\n`;
const GET = `GET /api/v1/stats HTTP/1.1\r\n${KEY}\r\n`;
const POST = `POST /api/v1/entities HTTP/1.1\r\n${KEY}Content-Type: application/json\r\n`;
const CONNECT = 'CONNECT a:1 HTTP/1.1\r\n\r\n';

/** Requests of a client, by the fate of its socket afterwards. */
const KINDS: Readonly<Record<string, string>> = {
  'a tunnel': CONNECT,
  'a tunnel behind a request': `${GET}${CONNECT}`,
  'a tunnel behind a large answer': `GET /api/v1/entities HTTP/1.1\r\n${KEY}\r\n${CONNECT}`,
  'bytes behind a tunnel': `${CONNECT}${'x'.repeat(50_000)}`,
  'an upgrade': `GET / HTTP/1.1\r\n${KEY}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  'an upgrade with a body': `${POST}Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n{}`,
  'a start of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'no HTTP': 'NONSENSE\r\n\r\n',
  'no HTTP behind a request': `${GET}NONSENSE\r\n\r\n`,
  'headers that are too large': `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
  'an expectation nobody knows': `GET / HTTP/1.1\r\n${KEY}Expect: all\r\n\r\n`,
  'a body that waits to be asked for': `${POST}Expect: 100-continue\r\nContent-Length: 20\r\n\r\n`,
  'a body that does not come': `${POST}Content-Length: 20\r\n\r\n{`,
  'a body with a broken chunk': `${POST}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\nno chunk\r\n`,
  'a body that nobody reads': `POST /api/v1/entities HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n${'x'.repeat(30_000)}`,
  'a body that is too large': `${POST}Content-Length: 60000000\r\n\r\n${'x'.repeat(30_000)}`,
  'a write': `${POST}Content-Length: 23\r\n\r\n{"type":"a","name":"b"}`,
  'a target that cannot be read': `GET http:// HTTP/1.1\r\n${KEY}\r\n`,
  'a large answer': `GET /api/v1/entities HTTP/1.1\r\n${KEY}\r\n`,
  'an export': `GET /api/v1/provenance/export HTTP/1.1\r\n${KEY}\r\n`,
  'a static file': 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n',
  'requests behind one another': GET.repeat(20),
  'a request of the metrics': 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n',
};

/** When a client resets its connection. */
const MOMENTS: Readonly<Record<string, (client: Socket, sent: string) => Promise<void>>> = {
  'before it says anything': () => Promise.resolve(),
  'in the middle of what it says': async (client, sent) => {
    client.write(sent.slice(0, sent.length / 2));
    await sleep(5);
  },
  'as soon as it has said it': async (client, sent) => {
    client.write(sent);
    await Promise.resolve();
  },
  'a moment after it has said it': async (client, sent) => {
    client.write(sent);
    await sleep(Math.random() * 10);
  },
  'as soon as it has ended its side': async (client, sent) => {
    client.end(sent);
    await once(client, 'finish');
  },
  'at the first byte of the answer': async (client, sent) => {
    client.write(sent);
    await withTimeout(once(client, 'data'));
  },
  'with the answer unread': async (client, sent) => {
    client.pause().write(sent);
    await sleep(60);
  },
  'after the answer': async (client, sent) => {
    client.write(sent);
    client.resume();
    await sleep(60);
  },
  'when it was answered and its side has ended': async (client, sent) => {
    client.resume().end(sent);
    await sleep(60);
  },
};

/** Waits for the event, 100 ms at most: some kinds of requests are answered late. */
function withTimeout(event: Promise<unknown>): Promise<unknown> {
  return Promise.race([event, sleep(100)]);
}

describe('The program', () => {
  let ports: readonly number[];
  let program: StartedProgram | null = null;

  /** Starts a new program whenever a reset has ended the previous one. */
  async function running(): Promise<StartedProgram> {
    if (program?.process.exitCode === null) return program;
    await program?.stop();
    program = await startProgram(MAIN, {
      LOG_LEVEL: 'info',
      METRICS_PORT: '0',
      RATE_LIMIT: '1000000',
      BODY_LIMIT: '10000000',
    });
    ports = [new URL(program.url).port, /served on port (\d+)/.exec(program.printed())?.[1]].map(Number);
    await createEntity(program, { properties: LARGE });
    return program;
  }

  afterAll(async () => {
    if (program !== null) expect(await program.stop()).toBe(0);
  });

  it('survives resets of connections in every state', async () => {
    const full = await startProgram(MAIN, { MAX_CONNECTIONS: '2', MAX_CONNECTIONS_PER_ADDRESS: '1' });
    const port = Number(new URL(full.url).port);
    const held = connect({ port, host: '127.0.0.1' });
    await once(held, 'connect');
    const trials = Object.values(MOMENTS).flatMap((moment) =>
      Array.from({ length: 5 * TRIALS }, () => reset(port, GET, moment)),
    );
    await Promise.allSettled(trials);
    held.destroy();
    const status = (): Promise<number> =>
      full.send('GET', '/api/v1/health').then(
        (answer) => answer.status,
        () => 0,
      );
    // The program has to notice that the place is free.
    while ((await status()) !== 200) expect(full.process.exitCode).toBeNull();
    expect(await full.stop()).toBe(0);
  });

  async function reset(port: number, sent: string, moment: (client: Socket, sent: string) => Promise<void>) {
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    client.on('error', () => undefined);
    await once(client, 'connect');
    await moment(client, sent);
    client.resetAndDestroy();
  }

  describe.each(Object.keys(KINDS))('whose client sends %s', (kind) => {
    it.each(Object.keys(MOMENTS))('outlives its reset %s', async (moment) => {
      const current = await running();
      const trials = ports.flatMap((port) =>
        Array.from({ length: TRIALS }, () =>
          reset(port, KINDS[kind] ?? '', MOMENTS[moment] ?? (() => Promise.reject(new Error(moment)))),
        ),
      );
      await Promise.allSettled(trials);
      await sleep(5);
      // On a busy machine the database may answer late.
      const status = async (): Promise<number> => (await current.send('GET', '/api/v1/health')).status;
      do expect(current.process.exitCode).toBeNull();
      while ((await status()) !== 200);
    });
  });
});
