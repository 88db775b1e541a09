import { Controller, Get, Module } from '@nestjs/common';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createEntity } from '../../support/application/factories';

/** Milliseconds in place of the thirty seconds. */
const STALLED = 1_000;
/** More than the operating system buffers for a client that does not read. */
const LARGE = { text: 'x'.repeat(16_000_000) };

/** Bytes between two pauses of a client: so few that reading everything takes several times `STALLED`. */
const READ_AT_ONCE = 500_000;

@Controller('slow')
class SlowController {
  /** An answer that takes longer to produce than a client may pause. */
  @Get()
  async answer(): Promise<object> {
    await sleep(2 * STALLED);
    return LARGE;
  }
}

@Module({ controllers: [SlowController] })
class SlowModule {}

describe('An answer', () => {
  let app: TestApp;
  let path: string;
  const clients: Socket[] = [];

  beforeAll(async () => {
    app = await createTestApp({ modules: [SlowModule], environment: { BODY_LIMIT: '20000000' } });
    await createEntity(app, { properties: LARGE });
    server().setTimeout(STALLED);
  });
  afterEach(() => {
    clients.splice(0).forEach((client) => client.destroy());
  });
  afterAll(() => app.close());

  const server = (): Server => app.application.getHttpServer();

  /** Sends a request, and reads nothing until it is resumed. */
  function ask(times = 1): Socket {
    const { hostname, port } = new URL(app.url);
    const client = connect(Number(port), hostname).on('error', () => undefined);
    client.pause().write(`GET /api/v1/${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n\r\n`.repeat(times));
    clients.push(client);
    return client;
  }

  function connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      server().getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }

  async function untilConnections(count: number): Promise<void> {
    while ((await connections()) !== count) await sleep(10);
  }

  describe.each(['entities', 'provenance/export', 'slow'])('of %s', (route) => {
    beforeEach(async () => {
      path = route;
      // Connections of earlier requests, which a client keeps open.
      server().closeIdleConnections();
      await untilConnections(0);
    });

    it('that is not read is dropped, even if further requests wait for it', async () => {
      ask();
      ask(5);
      await untilConnections(2);
      await untilConnections(0);
    });

    it('that is read now and then arrives completely', async () => {
      let [bytes, pauses] = [0, 0];
      for await (const chunk of ask()) {
        bytes += (chunk as Buffer).length;
        if (bytes > LARGE.text.length) break;
        if (bytes < (pauses + 1) * READ_AT_ONCE) continue;
        pauses += 1;
        await sleep(STALLED / 10);
      }
      expect(bytes).toBeGreaterThan(LARGE.text.length);
      expect(pauses).toBeGreaterThan(20);
    });
  });
});
