import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type * as Progress from '../../../clients/cli/src/mcp/progress.js' with { 'resolution-mode': 'import' };
import type * as Unread from '../../../clients/cli/src/mcp/unread.js' with { 'resolution-mode': 'import' };
import { buildCommandLine, MAIN } from '../command-line';

/** Bytes of a chunk, and chunks that a client may leave unread. */
const [SIZE, UNREAD] = [1_000, 5];

/** A module of the built `gov mcp`. */
async function loadModule<Module>(name: string): Promise<Module> {
  await buildCommandLine();
  return createRequire(__filename)(join(dirname(MAIN), 'mcp', name)) as Module;
}

/** A link as servers use it; the types of its own module need those of a browser. */
interface Link {
  readonly onNotification: (server: string, notification: object) => void;
  readonly roots: () => Promise<unknown>;
  readonly elicit: (server: string, params: object, within: undefined) => Promise<unknown>;
}

interface LinkModule {
  readonly linkOf: (
    client: { readonly server: SilentClient },
    areSeveral: boolean,
    subscribedUris: ReadonlySet<string>,
  ) => Link;
}

const elicitation = { message: 'Your name?', requestedSchema: { type: 'object', properties: {} } };

/** A client that reads a notification only when it is told to, and answers no question. */
class SilentClient {
  readonly notifications: { readonly method: string; readonly params: Record<string, unknown> }[] = [];
  questions = 0;
  private readonly reads: (() => void)[] = [];

  readonly notification = (notification: this['notifications'][number]): Promise<void> => {
    this.notifications.push(notification);
    return new Promise((resolve) => this.reads.push(resolve));
  };

  readonly request = (): Promise<never> => {
    this.questions += 1;
    return new Promise(() => undefined);
  };

  readonly getClientCapabilities = (): object => ({ elicitation: {}, roots: {} });

  async read(): Promise<void> {
    this.reads.splice(0).forEach((read) => read());
    await setImmediate();
  }

  async link(): Promise<Link> {
    const { linkOf } = await loadModule<LinkModule>('client-link.js');
    return linkOf({ server: this }, false, new Set());
  }
}

describe('Of what servers send to a client of gov mcp that does not read', () => {
  beforeAll(buildCommandLine);

  const log = (data: string): object => ({
    method: 'notifications/message',
    params: { level: 'info', data },
  });

  it('100 notifications wait', async () => {
    const client = new SilentClient();
    const { onNotification } = await client.link();
    for (let count = 0; count < 200; count += 1) onNotification('odd', log('x'));
    expect(client.notifications).toHaveLength(100);
    await client.read();
    onNotification('odd', log('x'));
    expect(client.notifications).toHaveLength(101);
  });

  it('notifications of a mebibyte wait, and a single one of any size', async () => {
    const client = new SilentClient();
    const { onNotification } = await client.link();
    for (let count = 0; count < 50; count += 1) onNotification('odd', log('x'.repeat(100_000)));
    expect(client.notifications).toHaveLength(10);
    await client.read();
    for (let count = 0; count < 2; count += 1) onNotification('odd', log('x'.repeat(5_000_000)));
    expect(client.notifications).toHaveLength(11);
    await client.read();
    onNotification('odd', log('x'));
    expect(client.notifications).toHaveLength(12);
  });

  it('ten questions wait: further ones are refused at once, also in a burst', async () => {
    const client = new SilentClient();
    const link = await client.link();
    const burst = Array.from({ length: 30 }, (_, index) =>
      (index % 2 === 0 ? link.roots() : link.elicit('odd', elicitation, undefined)).catch((error: unknown) => error),
    );
    const outcomes = await Promise.all(burst.map((question) => Promise.race([question, sleep(200, 'waits')])));
    expect(outcomes.slice(0, 10)).toEqual(Array(10).fill('waits'));
    for (const outcome of outcomes.slice(10))
      expect(String(outcome)).toContain('The client has 10 questions to answer already.');
  });

  it('ten notifications of the progress of a call wait', async () => {
    const client = new SilentClient();
    const report = await progressTo(client);
    for (let progress = 1; progress <= 1_000; progress += 1) report({ progress });
    expect(client.notifications).toHaveLength(10);
    await client.read();
    report({ progress: 1_001, total: 2_000 });
    expect(client.notifications.at(-1)?.params).toEqual({ progressToken: 'p', progress: 1_001, total: 2_000 });
  });

  it('a hundred notifications of the progress of a call come in a second, with the beginning of their messages', async () => {
    const client = new SilentClient();
    const report = await progressTo(client);
    const now = jest.spyOn(performance, 'now').mockReturnValue(5_000);
    for (let progress = 1; progress <= 300; progress += 1) {
      report({ progress, message: 'm'.repeat(10_000_000) });
      await client.read();
    }
    expect(client.notifications).toHaveLength(100);
    now.mockReturnValue(6_000);
    report({ progress: 301 });
    now.mockRestore();
    expect(client.notifications).toHaveLength(101);
    expect(client.notifications[0]?.params['message']).toBe(`${'m'.repeat(1_000)}…`);
  });

  async function progressTo({
    notification,
  }: SilentClient): Promise<(progress: { progress: number; total?: number; message?: string }) => void> {
    const { CallProgress } = await loadModule<typeof Progress>('progress.js');
    const mcpReq = { _meta: { progressToken: 'p' }, signal: new AbortController().signal, notify: notification };
    const report = CallProgress.from({ mcpReq } as unknown as Parameters<typeof CallProgress.from>[0]).ofCall();
    if (report === null) throw new Error('It reports no progress.');
    return report;
  }
});

describe('What a client of the gateway leaves unread', () => {
  let room: Unread.UnreadRoom;
  let bounded: (response: Response, maxBytes: number, agentId?: string) => Response;

  beforeAll(async () => {
    const { UnreadRoom, withBoundedBody } = await loadModule<typeof Unread>('unread.js');
    room = new UnreadRoom(2 * UNREAD * SIZE, 3 * UNREAD * SIZE);
    bounded = (response, maxBytes, agentId = 'bot') => withBoundedBody(response, { agentId, room, maxBytes });
  });

  /** An answer that has another chunk whenever one is read, and counts those. */
  function endless(): {
    readonly response: Response;
    readonly sent: () => number;
    readonly isCancelled: () => boolean;
  } {
    let [sent, isCancelled] = [0, false];
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        await setImmediate();
        sent += 1;
        controller.enqueue(new Uint8Array(SIZE));
      },
      cancel: () => void (isCancelled = true),
    });
    const headers = { 'Content-Type': 'text/event-stream' };
    return { response: new Response(body, { status: 202, headers }), sent: () => sent, isCancelled: () => isCancelled };
  }

  it('is bounded: the answer ends, and the server learns that its client is gone', async () => {
    const { response, sent, isCancelled } = endless();
    const answer = bounded(response, UNREAD * SIZE);
    expect([answer.status, answer.headers.get('Content-Type')]).toEqual([202, 'text/event-stream']);
    while (!isCancelled()) await setImmediate();
    expect(sent()).toBeLessThanOrEqual(UNREAD + 3);
    await expect(answer.arrayBuffer()).rejects.toThrow('unread');
  });

  it('does not count what was read', async () => {
    const { response, isCancelled } = endless();
    const body = bounded(response, UNREAD * SIZE).body as ReadableStream<Uint8Array>;
    const reader = body.getReader();
    for (let chunk = 0; chunk < 10 * UNREAD; chunk += 1) expect((await reader.read()).value).toHaveLength(SIZE);
    expect(isCancelled()).toBe(false);
    await reader.cancel();
    expect(isCancelled()).toBe(true);
  });

  it('counts a chunk until its last part is passed on', async () => {
    const [bytes, max] = [2 ** 18, 2 ** 20];
    const { UnreadRoom, withBoundedBody } = await loadModule<typeof Unread>('unread.js');
    const large = new UnreadRoom(max, max);
    const source = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(bytes)) });
    const { body } = withBoundedBody(new Response(source), { maxBytes: 2 ** 24, agentId: 'bot', room: large });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const readPart = async (): Promise<number> => (await reader.read()).value?.length ?? 0;
    let read = await readPart();
    expect(read).toBeLessThan(bytes);
    expect(large.add('bot', max - bytes + 1)).toBe(false);
    while (read < bytes) read += await readPart();
    expect(large.add('bot', max)).toBe(true);
    await reader.cancel();
  });

  it('may be one chunk above the bound of the answer', async () => {
    const large = new Response(new Uint8Array(UNREAD * SIZE));
    expect(await bounded(large, SIZE).arrayBuffer()).toHaveProperty('byteLength', UNREAD * SIZE);
  });

  it('is bounded for the answers of an agent together, and of all', async () => {
    const answers = ['bot', 'bot', 'other', 'other'].map((agentId) => {
      const { response, isCancelled } = endless();
      return { answer: bounded(response, 10 * UNREAD * SIZE, agentId), isCancelled };
    });
    // All are endless, so all but those that are read end in time.
    while (!answers.every(({ isCancelled }) => isCancelled())) await setImmediate();
    for (const { answer } of answers) await expect(answer.arrayBuffer()).rejects.toThrow('unread');
    expect(room.add('bot', 2 * UNREAD * SIZE)).toBe(true);
    expect(room.add('bot', 1)).toBe(false);
    expect(room.add('other', UNREAD * SIZE)).toBe(true);
    expect(room.add('other', 1)).toBe(false);
    room.remove('bot', 2 * UNREAD * SIZE);
    room.remove('other', UNREAD * SIZE);
  });
});
