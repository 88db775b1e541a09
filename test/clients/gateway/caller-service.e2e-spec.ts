import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Execution } from '../../../clients/typescript/src/index.js' with { 'resolution-mode': 'import' };
import { loadGatewayModule } from './gateway-modules';

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

const ADDRESS = '203.0.113.7';
const QUESTIONS = 50;
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Runs a caller's requests against a stand-in of the service. */
async function withService(listener: Listener, run: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  try {
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

describe('The requests of one caller to the service', () => {
  it('have responses of their own: an execute that was answered before stays one beside questions', async () => {
    const { CallerService } = await loadGatewayModule('calls/service-calls');
    const waiting: (() => void)[] = [];
    const answerAtOnce: Listener = (request, response) => {
      request.resume();
      const isExecute = request.url?.endsWith('/execute') === true;
      waiting.push(() => {
        response.writeHead(200, { ...JSON_TYPE, ...(isExecute && { 'Idempotent-Replayed': 'true' }) });
        response.end(isExecute ? '{"id":"exe_1","outcome":"authorized"}' : '{"effect":"allow","policies":[]}');
      });
      if (waiting.length > QUESTIONS) for (const end of waiting.splice(0)) end();
    };
    const body = { action: 'pay', resourceType: 'invoice', resourceId: '1', parameters: {}, via: 'payments' };
    await withService(answerAtOnce, async (url) => {
      const caller = new CallerService(url, { key: 'key', address: ADDRESS, traceparent: null });
      const execute = caller.execute('agt_1', body, { idempotencyKey: 'once', repeat: null });
      await Promise.all(Array.from({ length: QUESTIONS }, () => caller.evaluate({ agent: 'agt_1' })));
      expect(await execute).toMatchObject({ execution: { id: 'exe_1' }, isReplayed: true });
    });
  });

  it('name the address of the client, also while they wait for an approval', async () => {
    const { CallerService } = await loadGatewayModule('calls/service-calls');
    const addresses: unknown[] = [];
    const approve: Listener = ({ headers }, response) => {
      addresses.push(headers['x-forwarded-for']);
      response.writeHead(200, JSON_TYPE).end('{"id":"exe_1","outcome":"approved"}');
    };
    await withService(approve, async (url) => {
      const caller = new CallerService(url, { key: 'key', address: ADDRESS, traceparent: null });
      const pending = { id: 'exe_1', outcome: 'pending_approval' } as Execution;
      const { outcome } = await caller.wait(pending, 5, new AbortController().signal);
      expect({ outcome, addresses }).toEqual({ outcome: 'approved', addresses: [ADDRESS] });
    });
  });
});
