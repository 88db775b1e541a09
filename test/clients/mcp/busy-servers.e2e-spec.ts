import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { buildCommandLine, MAIN } from '../command-line';

/** The connection to a server over pipes, as this test uses it; the types of its own module need those of a browser. */
interface Transport {
  onclose?: () => void;
  onmessage?: (message: object) => void;
  start(): Promise<void>;
  send(message: object): Promise<void>;
  close(): Promise<void>;
}

interface TransportModule {
  readonly ChildProcessTransport: new (command: readonly string[], environment: NodeJS.ProcessEnv) => Transport;
}

/** Most that one read takes from a pipe. */
const CHUNK_BYTES = 65_536;

describe('A server over pipes', () => {
  let transport: Transport;

  /** Starts a server with this program. */
  async function start(program: string): Promise<void> {
    await buildCommandLine();
    const path = join(dirname(MAIN), 'mcp', 'servers', 'child-process-transport.js');
    const { ChildProcessTransport } = createRequire(__filename)(path) as TransportModule;
    transport = new ChildProcessTransport([process.execPath, '--eval', program], process.env);
    await transport.start();
  }
  afterEach(() => transport.close());

  it('gets no answer to its requests while it has left a thousand unread', async () => {
    await start('setInterval(() => {}, 1_000); process.stdin.pause();');
    let unread = 0;
    for (let id = 0; id < 3_000; id += 1) {
      unread += 1;
      const written = transport.send({ jsonrpc: '2.0', id, result: { text: 'x'.repeat(10_000) } });
      void written.then(
        () => (unread -= 1),
        () => undefined,
      );
    }
    await sleep(500);
    expect(unread).toBeGreaterThan(500);
    expect(unread).toBeLessThanOrEqual(1_000);
  });

  it('that never pauses has one chunk read in a turn of the event loop', async () => {
    const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info' } })}\n`;
    await start(`const lines = ${JSON.stringify(line.repeat(1_000))};
      const write = () => process.stdout.write(lines, write);
      write();`);
    let [inTurn, most, all] = [0, 0, 0];
    transport.onmessage = () => {
      inTurn += 1;
      all += 1;
      most = Math.max(most, inTurn);
    };
    while (all < 20_000) {
      // The pipe is full by the time that it is read.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      await setImmediate();
      inTurn = 0;
    }
    expect(most * line.length).toBeLessThanOrEqual(CHUNK_BYTES + line.length);
  });

  /** Starts a server that sends a list of as many messages, and then one. */
  async function startWithList(count: number): Promise<void> {
    const message = JSON.stringify({ id: 1, method: 'ping' });
    await start(`process.stdout.write('[' + ${JSON.stringify(`${message},`)}.repeat(${count - 1}) + ${JSON.stringify(message)} + ']\\n');
      process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' }) + '\\n');
      setInterval(() => {}, 1_000);`);
  }

  it('that sends a list of messages has the first 20 read', async () => {
    await startWithList(100_000);
    const ids: unknown[] = [];
    const ended = new Promise<void>((resolve) => {
      transport.onmessage = (received) => {
        const { id } = received as { id?: unknown };
        ids.push(id);
        if (id === 2) resolve();
      };
    });
    await ended;
    expect(ids).toEqual([...Array.from({ length: 20 }, () => 1), 2]);
  });

  it('that sends a list of more than a million values is left', async () => {
    await startWithList(500_000);
    await new Promise<void>((resolve) => (transport.onclose = resolve));
  });
});
