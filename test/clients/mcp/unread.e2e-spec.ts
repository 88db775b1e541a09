import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type * as Unread from '../../../clients/cli/src/mcp/unread.js' with { 'resolution-mode': 'import' };
import { buildCommandLine, MAIN } from '../command-line';

/** Bytes of a chunk, and chunks that a client may leave unread. */
const [SIZE, UNREAD] = [1_000, 5];

describe('What a client of gov mcp over HTTP leaves unread', () => {
  let withBoundedBody: typeof Unread.withBoundedBody;

  beforeAll(async () => {
    await buildCommandLine();
    ({ withBoundedBody } = createRequire(__filename)(join(dirname(MAIN), 'mcp', 'unread.js')) as typeof Unread);
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
    const bounded = withBoundedBody(response, UNREAD * SIZE);
    expect([bounded.status, bounded.headers.get('Content-Type')]).toEqual([202, 'text/event-stream']);
    while (!isCancelled()) await setImmediate();
    expect(sent()).toBeLessThanOrEqual(UNREAD + 3);
    await expect(bounded.arrayBuffer()).rejects.toThrow('unread');
  });

  it('does not count what was read', async () => {
    const { response, isCancelled } = endless();
    const body = withBoundedBody(response, UNREAD * SIZE).body as ReadableStream<Uint8Array>;
    const reader = body.getReader();
    for (let chunk = 0; chunk < 10 * UNREAD; chunk += 1) expect((await reader.read()).value).toHaveLength(SIZE);
    expect(isCancelled()).toBe(false);
    await reader.cancel();
    expect(isCancelled()).toBe(true);
  });

  it('may be one message of any size', async () => {
    const large = new Response(new Uint8Array(100 * SIZE));
    expect(await withBoundedBody(large, SIZE).arrayBuffer()).toHaveProperty('byteLength', 100 * SIZE);
  });
});
