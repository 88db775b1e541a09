import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UpstreamClient } from '../../../clients/cli/src/gateway/upstream/upstream-client.js' with {
  'resolution-mode': 'import',
};
import { loadGatewayModule } from './gateway-modules';
import { RawUpstream } from './raw-upstream';

const HEAD = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n';
/** Milliseconds in which everything that was written has arrived, and is not read. */
const UNREAD_MS = 200;

/** It ends with its connection. */
describe('An answer without a length', () => {
  let upstream: RawUpstream;
  let client: UpstreamClient;

  beforeAll(async () => {
    const { UpstreamClient: Client } = await loadGatewayModule('upstream/upstream-client');
    upstream = await RawUpstream.open();
    client = new Client({ url: new URL(`http://localhost:${upstream.port}`) });
  });
  afterAll(async () => {
    await client.close();
    await upstream.close();
  });

  async function answer(): Promise<Readable> {
    const request = { method: 'GET', target: '/', headers: [], credentialQuery: '', body: Buffer.alloc(0) };
    const ending = { endsConnection: false, timeoutMs: 10_000 };
    const result = await client.send({ ...request, ...ending }, new AbortController().signal);
    if (result.kind === 'failure') throw new Error(result.code);
    return result.body;
  }

  async function lengthOf(body: Readable): Promise<number> {
    let length = 0;
    for await (const chunk of body) length += (chunk as Buffer).length;
    return length;
  }

  it.each([10, 65_536, 66_000, 100_000, 131_072, 3_000_000])(
    'of %i bytes is whole where its connection ends before it is read',
    async (bytes) => {
      upstream.answers = [(socket) => socket.end(HEAD + 'x'.repeat(bytes))];
      const body = await answer();
      await sleep(UNREAD_MS);
      expect(await lengthOf(body)).toBe(bytes);
    },
  );

  // With more than that unread, Node.js takes the reset for an end.
  it.each([10, 66_000])('of %i bytes breaks off where its connection is reset before it is read', async (bytes) => {
    upstream.answers = [
      (socket) => {
        socket.write(HEAD + 'x'.repeat(bytes));
        setTimeout(() => socket.resetAndDestroy(), UNREAD_MS / 2);
      },
    ];
    const body = await answer();
    await sleep(UNREAD_MS);
    await expect(lengthOf(body)).rejects.toThrow();
  });

  it('breaks off where its connection is reset while it is read', async () => {
    upstream.answers = [
      (socket) => socket.write(`${HEAD}the first part`, () => setTimeout(() => socket.resetAndDestroy(), UNREAD_MS)),
    ];
    await expect(lengthOf(await answer())).rejects.toThrow();
  });
});

describe('An answer that has no end', () => {
  it('is given up if its client has gone before it begins', async () => {
    const { deliver } = await loadGatewayModule('response/deliver');
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [, target] = (await once(server, 'request')) as [unknown, ServerResponse];
    client.destroy();
    await once(target, 'close');
    const body = new PassThrough();
    const answer = { kind: 'response', status: 200, headers: [], body, discard: () => void body.destroy() } as const;
    expect(await deliver(answer, target)).toMatchObject({ bytes: 0, cut: 'client' });
    server.close();
  });
});
