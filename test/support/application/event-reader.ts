import { get, type ClientRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { AuditEntryResponse } from '../../../src/evidence/audit/dto/audit-entry.response';
import { API_KEY } from './api-key';
import type { TestApp } from './create-test-app';

export const EVENTS = '/api/v1/events';

/** An event as it was received. */
export interface ReceivedEvent {
  readonly id: number;
  readonly event: string;
  readonly data: AuditEntryResponse;
  /** Milliseconds by the machine's clock. */
  readonly at: number;
}

/** A client that reads a stream of events. */
export class EventReader {
  comments = 0;
  isOver = false;
  /** Unparsed, in order of arrival. */
  private readonly blocks: { readonly block: string; readonly at: number }[] = [];
  private rest = '';
  private wake: (() => void) | null = null;

  private constructor(
    private readonly request: ClientRequest,
    readonly answer: IncomingMessage,
  ) {
    answer.setEncoding('utf8');
    answer.on('data', (text: string) => this.take(text));
    answer.on('error', () => undefined);
    answer.on('close', () => {
      this.isOver = true;
      this.wake?.();
    });
  }

  /** Resolves when the service has answered. */
  static async open(
    app: Pick<TestApp, 'url'>,
    query = '',
    headers: Readonly<Record<string, string>> = {},
  ): Promise<EventReader> {
    const key = 'Authorization' in headers ? {} : { 'X-API-Key': API_KEY };
    const request = get(`${app.url}${EVENTS}${query}`, { headers: { ...key, ...headers }, agent: false });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    request.on('error', () => undefined);
    return new EventReader(request, answer);
  }

  get events(): ReceivedEvent[] {
    return this.blocks.map(({ block, at }) => eventIn(block, at));
  }

  get ids(): number[] {
    return this.blocks.map(({ block }) => Number(/^id: (\d+)$/m.exec(block)?.[1]));
  }

  /** Resolves when it has received this many events. */
  async until(count: number): Promise<void> {
    await this.untilTrue(() => this.blocks.length >= count);
    if (this.blocks.length < count) throw new Error(`The stream ended after ${this.blocks.length} of ${count} events.`);
  }

  async untilOver(): Promise<void> {
    while (!this.isOver) await this.more();
  }

  async untilTrue(isTrue: () => boolean): Promise<void> {
    while (!isTrue() && !this.isOver) await this.more();
  }

  close(): void {
    this.request.destroy();
  }

  private more(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve));
  }

  private take(text: string): void {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop() ?? '';
    for (const block of blocks) {
      if (block.startsWith(':')) this.comments += 1;
      else this.blocks.push({ block, at: Date.now() });
    }
    this.wake?.();
  }
}

function eventIn(block: string, at: number): ReceivedEvent {
  const lines = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2))) as Record<
    string,
    string
  >;
  const { id = '', event = '', data = '' } = lines;
  return { id: Number(id), event, data: JSON.parse(data) as AuditEntryResponse, at };
}
