import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PassThrough, type Readable, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { buildCommandLine, MAIN } from '../command-line';

const MIB = 2 ** 20;

interface Modules {
  readonly withoutBatches: (input: Readable, output: Writable, open: OpenRequests) => Readable;
  readonly OpenRequests: new () => OpenRequests;
}

interface OpenRequests {
  end(id: unknown): void;
}

/** A client that writes, and reads only when it is told to. */
class Flood {
  readonly input = new PassThrough();
  readonly answers: { readonly id: unknown; readonly error: { readonly message: string } }[] = [];
  readonly served: string[] = [];
  readonly open: OpenRequests;
  private isReading = false;
  private takeNext = (): void => undefined;
  private readonly output = new Writable({
    write: (line: Buffer, _, done) => {
      this.answers.push(JSON.parse(line.toString()));
      if (this.isReading) done();
      else this.takeNext = done;
    },
  });

  constructor({ withoutBatches, OpenRequests: Requests }: Modules) {
    this.open = new Requests();
    withoutBatches(this.input, this.output, this.open).on('data', (line: Buffer) => this.served.push(line.toString()));
  }

  get unread(): number {
    return this.output.writableLength;
  }

  async send(...messages: readonly object[]): Promise<void> {
    for (const message of messages) this.input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    await settled();
  }

  async read(): Promise<void> {
    this.isReading = true;
    this.takeNext();
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 100; turns += 1) await setImmediate();
}

describe('A client of gov mcp that sends more and more', () => {
  let modules: Modules;

  beforeAll(async () => {
    await buildCommandLine();
    const load = (name: string): Modules => createRequire(__filename)(join(dirname(MAIN), 'mcp', name)) as Modules;
    modules = { ...load('batches.js'), ...load('open-requests.js') };
  });

  it('is read no further while it leaves a mebibyte of answers unread', async () => {
    const flood = new Flood(modules);
    const batch = [{ id: 'x'.repeat(10_000), method: 'ping' }];
    for (let count = 0; count < 500; count += 1) flood.input.write(`${JSON.stringify(batch)}\n`);
    await settled();
    expect(flood.unread).toBeGreaterThan(MIB);
    expect(flood.unread).toBeLessThan(1.1 * MIB);
    await flood.read();
    expect(flood.answers).toHaveLength(500);
  });

  it('has a thousand requests served at a time', async () => {
    const flood = new Flood(modules);
    await flood.read();
    const pings = Array.from({ length: 1_001 }, (_, id) => ({ id, method: 'ping' }));
    await flood.send(...pings);
    expect(flood.served).toHaveLength(1_000);
    const message = 'Too many requests are not answered yet.';
    expect(flood.answers).toEqual([{ jsonrpc: '2.0', id: 1_000, error: { code: -32_600, message } }]);
    flood.open.end(0);
    await flood.send({ id: 1_000, method: 'ping' }, { id: 1_001, method: 'ping' });
    expect(flood.answers.map(({ id }) => id)).toEqual([1_000, 1_001]);
    await flood.send({ method: 'notifications/cancelled', params: { requestId: 1 } }, { id: 1_001, method: 'ping' });
    expect(flood.answers).toHaveLength(2);
  });

  it('has requests of 64 mebibytes served at a time', async () => {
    const flood = new Flood(modules);
    await flood.read();
    const large = (id: number): object => ({ id, method: 'tools/call', params: { text: 'x'.repeat(13 * MIB) } });
    for (let id = 1; id <= 5; id += 1) await flood.send(large(id));
    expect(flood.answers.map(({ id }) => id)).toEqual([5]);
    flood.open.end(2);
    await flood.send(large(6));
    expect(flood.answers).toHaveLength(1);
  });

  it('may use the id of a message again that is no request', async () => {
    const flood = new Flood(modules);
    await flood.read();
    await flood.send({ jsonrpc: '1.0', id: 1, method: 'ping' }, { id: 1, method: 'ping' });
    expect(flood.answers.map(({ id }) => id)).toEqual([1]);
    expect(flood.served).toHaveLength(1);
  });
});
