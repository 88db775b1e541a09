import { Body, Controller, Get, Module, Param, Post } from '@nestjs/common';
import fc from 'fast-check';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { SampleRequest } from '../sample.module';
import { exchange } from '../../support/application/wire';

/** More than the operating system buffers for a client that does not read. */
const LARGE = 'x'.repeat(8_000_000);

/** Requests in a packet of 64 KiB. */
const PACKET_REQUESTS = 3_600;

const begun: string[] = [];

@Controller('turns')
class TurnsController {
  @Get('large/:number')
  large(@Param('number') number: string): object {
    begun.push('large');
    return { number, text: LARGE };
  }

  @Get(':number')
  async small(@Param('number') number: string): Promise<object> {
    begun.push(number);
    await sleep(Number(number) % 3);
    return { number };
  }

  @Post()
  write(@Body() { name }: SampleRequest): object {
    begun.push(name);
    return { name };
  }
}

@Module({ controllers: [TurnsController] })
class TurnsModule {}

const HEAD = `Host: x\r\nX-API-Key: ${API_KEY}\r\n`;
const get = (path: string, headers = ''): string => `GET /api/v1/turns/${path} HTTP/1.1\r\n${HEAD}${headers}\r\n`;
const post = (name: string, length = 0): string => {
  const body = JSON.stringify({ name, value: 'x'.repeat(length) });
  const head = `POST /api/v1/turns HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\n`;
  return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
};

describe('Pipelined requests', () => {
  let app: TestApp;
  const clients: Socket[] = [];

  beforeAll(async () => {
    app = await createTestApp({ modules: [TurnsModule] });
  });
  beforeEach(() => begun.splice(0));
  afterEach(() => {
    clients.splice(0).forEach((client) => client.destroy());
  });
  afterAll(() => app.close());

  function connected(): Socket {
    const { hostname, port } = new URL(app.url);
    const client = connect(Number(port), hostname).on('error', () => undefined);
    clients.push(client);
    return client;
  }

  /** The statuses received over a connection until it ends. */
  async function statuses(...requests: string[]): Promise<number[]> {
    return (await exchange(app, Buffer.from(requests.join('')))).map(({ status }) => status);
  }

  it('begin one after another, each once the client has taken the previous answer', async () => {
    const client = connected().pause();
    client.write(Array.from({ length: 90 }, (_, number) => get(`large/${number}`)).join(''));
    while (begun.length === 0) await sleep(5);
    await sleep(300);
    expect(begun).toEqual(['large']);
    let bytes = 0;
    for await (const chunk of client) {
      bytes += (chunk as Buffer).length;
      // One answer is on its way, one may be in the buffers of the systems at both ends, and one request has begun
      // since.
      expect(begun.length).toBeLessThanOrEqual(Math.floor(bytes / LARGE.length) + 3);
      if (bytes > 5 * LARGE.length) break;
    }
    expect(begun.length).toBeGreaterThanOrEqual(5);
  });

  it('are all answered, in order', async () => {
    const numbers = Array.from({ length: 90 }, (_, number) => String(number));
    const last = get('last', 'Connection: close\r\n');
    const answers = await exchange(app, Buffer.from(numbers.map((number) => get(number)).join('') + last));
    expect(answers.map(({ body }) => body.number)).toEqual([...numbers, 'last']);
    expect(begun.filter((one) => one !== 'large')).toEqual([...numbers, 'last']);
  });

  it('are answered as each would be alone, in any pieces in which they arrive', async () => {
    const kinds: readonly (readonly [string, number])[] = [
      [get('1'), 200],
      [get('2?misspelt=1'), 400],
      ['GET /nowhere HTTP/1.1\r\nHost: x\r\nX-API-Key: wrong\r\n\r\n', 401],
      [`GET /nowhere HTTP/1.1\r\n${HEAD}\r\n`, 404],
      [post('small'), 201],
      [post('large', 30_000), 400],
      [post('short').replace('"value"', '"other"'), 400],
      [`${post('').split('Content-Length')[0] ?? ''}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`, 400],
      [`GET /api/v1/turns/1 HTTP/1.1\r\n${HEAD}Expect: all\r\n\r\n`, 200],
    ];
    const chosen = fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 12 });
    const pieces = fc.array(fc.integer({ min: 1, max: 20_000 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(chosen, pieces, async (requests, lengths) => {
        const text = requests.map(([request]) => request).join('') + get('3', 'Connection: close\r\n');
        const client = connected();
        let answers = '';
        client.setEncoding('latin1').on('data', (chunk: string) => (answers += chunk));
        const over = once(client, 'close');
        let sent = 0;
        for (const length of lengths) {
          client.write(text.slice(sent, sent + length));
          sent += length;
          await new Promise((resolve) => setImmediate(resolve));
        }
        client.write(text.slice(sent));
        await over;
        const statusCodes = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
        expect(statusCodes).toEqual([...requests.map(([, status]) => status), 200]);
      }),
      { numRuns: 40 },
    );
  });

  it('do not begin if their client has left, or the previous answer was the last', async () => {
    const client = connected().pause();
    client.write(get('large/1') + post('unwanted'));
    while (begun.length === 0) await sleep(5);
    client.resetAndDestroy();
    expect(await statuses(get('2', 'Connection: close\r\n'), post('unwanted'))).toEqual([200]);
    expect(await statuses(post('x', 2_000_000), post('unwanted'))).toEqual([413]);
    expect(begun.filter((one) => one !== 'large')).toEqual(['2']);
  });

  it('are answered before later bytes that are not HTTP are refused', async () => {
    expect(await statuses(get('1'), get('2'), 'NONSENSE\r\n\r\n')).toEqual([200, 200, 400]);
    const broken = post('x').replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked');
    expect(await statuses(get('1'), get('2'), broken)).toEqual([200, 200, 400]);
  });

  it('end their connection if too many wait', async () => {
    for (const request of [get('1'), 'GET / HTTP/1.1\r\n\r\n']) {
      const client = connected().pause();
      const gone = new Promise((resolve) => client.once('close', resolve));
      client.write(get('large/1') + request.repeat(200));
      // A client that reads nothing notices when it writes.
      const knocking = setInterval(() => client.write('G'), 20);
      await gone;
      clearInterval(knocking);
    }
  });

  it('of one packet are not read once their connection has ended', async () => {
    let requests = 0;
    const count = (): void => void (requests += 1);
    app.application.getHttpServer().on('request', count);
    const client = connected().resume();
    const gone = new Promise((resolve) => client.once('close', resolve));
    client.write('GET / HTTP/1.1\r\n\r\n'.repeat(PACKET_REQUESTS));
    await gone;
    app.application.getHttpServer().off('request', count);
    // The first one, those that waited, and the one that ended the connection.
    expect(requests).toBe(102);
  });

  it('are not read while others wait', async () => {
    const connection = once(app.application.getHttpServer(), 'connection') as Promise<[Socket]>;
    const client = connected().pause();
    client.write(get('large/1') + post('x', 5_000).repeat(1_000));
    const [atServer] = await connection;
    while (begun.length === 0) await sleep(5);
    await sleep(300);
    expect(atServer.bytesRead).toBeLessThan(400_000);
    expect(atServer.destroyed).toBe(false);
    expect(begun).toEqual(['large']);
  });
});
